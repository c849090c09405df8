/* The arguments of the plugin (plugin.c lists them). */
#include "cpus.h"
#include "trace.h"

#include <stdlib.h>
#include <string.h>

struct chosen chosen[MODELS_MAX];
unsigned nmodels;
bool check, by_page, by_rad;
unsigned told;
const char *out_name;
FILE *trace;

static bool parse_model(char *text)
{
    char *hint = strchr(text, ':'), *asns = hint ? strchr(hint + 1, ':') : NULL;
    char *table = asns ? strchr(asns + 1, ':') : NULL;
    struct vhpt_kind kind;

    if (!table || nmodels == MODELS_MAX || !vhpt_parse(table + 1, &kind))
        return false;
    *hint = 0;
    chosen[nmodels] = (struct chosen){.chip = tb_chip_named(text),
                                      .hint = (unsigned)(hint[1] - '0'),
                                      .asns = asns[1] == '1',
                                      .vhpt = kind};
    snprintf(chosen[nmodels].vhpt_text, sizeof(chosen[nmodels].vhpt_text), "%s", table + 1);
    return chosen[nmodels].chip != NULL && chosen[nmodels++].hint <= TB_GH_MAX;
}

static bool parse_layout(const char *name, const char *value)
{
    static const struct {
        const char *name;
        uint64_t *at;
    } words[] = {
        {"ram", &guest.ram},
        {"watch", &guest.watch},
        {"image", &guest.image},
        {"cpus", &guest.cpus},
        {"cpu_size", &guest.cpu_size},
        {"thread_name", &guest.thread_name},
        {"thread_process", &guest.thread_process},
        {"thread_home", &guest.thread_home},
        {"process_pid", &guest.process_pid},
        {"rads", &guest.rads},
        {"rad_size", &guest.rad_size},
        {"rad_first", &guest.rad_first},
        {"rad_count", &guest.rad_count},
        {"page_db", &guest.page_db},
        {"page_size", &guest.page_size},
        {"page_type", &guest.page_type},
        {"page_owner", &guest.page_owner},
        {"type_section", &guest.type_section},
        {"section_gsd", &guest.section_gsd},
        {"gsd_name", &guest.gsd_name},
        {"sections", &guest.sections},
        {"section_link", &guest.section_link},
        {"section_first", &guest.section_first},
        {"section_npages", &guest.section_npages},
        {"section_extents", &guest.section_extents},
        {"counts", &guest.counts},
        {"counts_size", &guest.counts_size},
    };

    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        if (strcmp(name, words[i].name) == 0) {
            *words[i].at = strtoull(value, NULL, 0);
            return true;
        }
    return false;
}

static bool parse(char *word)
{
    char *value = strchr(word, '=');

    if (!value)
        return false;
    *value++ = 0;
    if (strcmp(word, "out") == 0) {
        out_name = strdup(value);
        return out_name != NULL;
    }
    if (strcmp(word, "model") == 0)
        return parse_model(value);
    if (strcmp(word, "check") == 0) {
        check = strcmp(value, "on") == 0;
        return true;
    }
    if (strcmp(word, "by_rad") == 0) {
        by_rad = strcmp(value, "on") == 0;
        return true;
    }
    if (strcmp(word, "pages") == 0) {
        by_page = strcmp(value, "on") == 0;
        return true;
    }
    if (strcmp(word, "trace") == 0) {
        trace = fopen(value, "wb");
        return trace && fwrite(TB_TRACE_MAGIC, sizeof(TB_TRACE_MAGIC) - 1, 1, trace) == 1;
    }
    return parse_layout(word, value);
}

bool options_read(int argc, char **argv)
{
    for (int i = 0; i < argc; i++)
        if (!parse(argv[i])) {
            fprintf(stderr, "tb: argument %s is not understood\n", argv[i]);
            return false;
        }
    if (!out_name || !guest.ram || !guest.watch || !guest.image) {
        fputs("tb: out, ram, watch and image are needed\n", stderr);
        return false;
    }
    while (told + 1 < nmodels && !chosen[told].vhpt.kib)
        told++;
    if (nmodels && !chosen[told].vhpt.kib)
        told = 0;
    return true;
}
