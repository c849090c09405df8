/*
 * Runs a trace (trace.h) through the model of one chip.
 *
 *     replay CHIP hint=0|1|2|3 asn=on|off vhpt=KIB[s][c] [outcomes=FILE] < TRACE
 *
 * Prints a line NAME VALUE for each count, summed over the CPUs. `outcomes` writes a byte for each
 * record: what a reference did (TB_MISS ...), 0 for other events.
 */
#include "trace.h"
#include "vhpt.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct tb_model cpus[TB_TRACE_CPUS];
static struct tb_vhpt tables[TB_TRACE_CPUS];
static bool used[TB_TRACE_CPUS];

static struct tb_walk walk(void *context, uint64_t va)
{
    const struct tb_record *r = context;

    (void)va;
    return (struct tb_walk){.page = tb_trace_unpack((uint32_t)r->says),
                            .table = tb_trace_unpack((uint32_t)(r->says >> 32))};
}

static unsigned play(struct tb_model *m, struct tb_record *r)
{
    uint64_t va = r->what & ~UINT64_C(0x1FFF);

    switch ((enum tb_event)(r->what & 15)) {
    case TB_EVENT_FETCH:
        return tb_reference(m, TB_FETCH, va, walk, r);
    case TB_EVENT_DATA:
        return tb_reference(m, TB_DATA, va, walk, r);
    case TB_EVENT_SWITCH:
        tb_switch(m, (uint32_t)r->says, r->says >> 32);
        return 0;
    case TB_EVENT_PAGE:
        tb_invalidate_page(m, va);
        return 0;
    case TB_EVENT_PROCESS:
        tb_invalidate_process(m);
        return 0;
    case TB_EVENT_EVERYTHING:
        tb_invalidate_everything(m);
        return 0;
    }
    fprintf(stderr, "replay: event %u is unknown\n", (unsigned)(r->what & 15));
    exit(1);
}

static void say(const char *name, size_t at)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < TB_TRACE_CPUS; i++)
        if (used[i])
            sum += *(const uint64_t *)((const char *)&cpus[i].counts + at);
    printf("%s %llu\n", name, (unsigned long long)sum);
}

static void report(void)
{
    struct tb_cycles all = {0, 0};

#define SAY(name, field) say(name, offsetof(struct tb_counts, field))
    SAY("fetch_references", references[TB_FETCH]);
    SAY("data_references", references[TB_DATA]);
    SAY("fetch_misses", misses[TB_FETCH]);
    SAY("data_misses", misses[TB_DATA]);
    SAY("fetch_doubles", doubles[TB_FETCH]);
    SAY("data_doubles", doubles[TB_DATA]);
    SAY("fetch_unmapped", unmapped[TB_FETCH]);
    SAY("data_unmapped", unmapped[TB_DATA]);
    SAY("overlaps", overlaps);
    SAY("switches", switches);
    SAY("roots", roots);
    SAY("pages", singles);
    SAY("process_flushes", process_flushes);
    SAY("flushes", flushes);
    SAY("asn_reuse", asn_reuse);
#undef SAY
    for (unsigned i = 0; i < TB_TRACE_CPUS; i++)
        if (used[i]) {
            all.least += tb_cost(&cpus[i]).least;
            all.most += tb_cost(&cpus[i]).most;
        }
    printf("cycles_least %llu\ncycles_most %llu\n", (unsigned long long)all.least,
           (unsigned long long)all.most);
}

static void usage(void)
{
    fputs("usage: replay CHIP hint=0|1|2|3 asn=on|off vhpt=KIB[s][c] [outcomes=FILE] < TRACE\n",
          stderr);
    exit(2);
}

static bool is_on(const char *word, const char *name)
{
    size_t n = strlen(name);

    if (strncmp(word, name, n) != 0 || word[n] != '=')
        usage();
    if (strcmp(word + n + 1, "on") != 0 && strcmp(word + n + 1, "off") != 0)
        usage();
    return word[n + 2] == 'n';
}

static struct vhpt_kind table_of(const char *word)
{
    struct vhpt_kind kind;

    if (strncmp(word, "vhpt=", 5) != 0 || !vhpt_parse(word + 5, &kind))
        usage();
    return kind;
}

static void begin(unsigned cpu, const struct tb_chip *chip, unsigned hint, bool asns,
                  struct vhpt_kind table)
{
    tb_init(&cpus[cpu], chip, hint, asns);
    if (table.kib == 0)
        return;
    cpus[cpu].vhpt = &tables[cpu];
    if (!vhpt_init(&tables[cpu], table)) {
        perror("vhpt");
        exit(1);
    }
}

int main(int argc, char **argv)
{
    const struct tb_chip *chip = argc > 1 ? tb_chip_named(argv[1]) : NULL;
    char magic[sizeof(TB_TRACE_MAGIC)] = "";
    struct tb_record r;
    FILE *outcomes = NULL;
    struct vhpt_kind table;
    unsigned hint;
    bool asns;

    if (!chip || argc < 5 || argc > 6)
        usage();
    if (strncmp(argv[2], "hint=", 5) != 0 || argv[2][5] < '0' || argv[2][5] > '0' + TB_GH_MAX)
        usage();
    hint = (unsigned)(argv[2][5] - '0');
    asns = is_on(argv[3], "asn");
    table = table_of(argv[4]);
    if (argc == 6) {
        if (strncmp(argv[5], "outcomes=", 9) != 0)
            usage();
        outcomes = fopen(argv[5] + 9, "wb");
        if (!outcomes) {
            perror(argv[5] + 9);
            return 1;
        }
    }
    if (fread(magic, 1, sizeof(magic) - 1, stdin) != sizeof(magic) - 1 ||
        strcmp(magic, TB_TRACE_MAGIC) != 0) {
        fputs("replay: this is no trace\n", stderr);
        return 1;
    }
    while (fread(&r, sizeof(r), 1, stdin) == 1) {
        unsigned cpu = r.what >> 4 & 15, did;

        if (!used[cpu])
            begin(cpu, chip, hint, asns, table);
        used[cpu] = true;
        did = play(&cpus[cpu], &r);
        if (outcomes)
            fputc((int)did, outcomes);
    }
    report();
    if (outcomes && fclose(outcomes) != 0) {
        perror("outcomes");
        return 1;
    }
    return 0;
}
