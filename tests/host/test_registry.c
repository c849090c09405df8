// SOURCES: userland/bin/sysman/registry.c userland/bin/sysman/encode.c sysman/config.c
/*
 * Changes of the registry by the guest's sysman, and the encoding of its configuration.
 *
 * With the name of a file: its lines are changes, by blanks VERB NAME and words KEY=VALUE of struct
 * wish; each is carried out, and for each a line is printed: "refused", or the checksum of the
 * blob. tests/test_system_disk.py compares this with what scripts/sysman does.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userland/bin/sysman/encode.h"
#include "userland/bin/sysman/registry.h"
#include "userland/lib/include/tap.h"

static struct config config, before, parsed;
static unsigned char blob[CONFIG_MAX_BYTES];
static char why[REGISTRY_WHY];

typedef int change(struct registry *g, const struct wish *w, char text[REGISTRY_WHY]);

static change *verb_of(const char *word)
{
    return strcmp(word, "add") == 0      ? registry_add
           : strcmp(word, "modify") == 0 ? registry_modify
           : strcmp(word, "extend") == 0 ? registry_extend
                                         : registry_remove;
}

static void take_word(struct wish *w, char *word)
{
    char *value = strchr(word, '=');
    unsigned long n;

    *value++ = 0;
    n = strtoul(value, NULL, 10);
    if (strcmp(word, "allocate") == 0)
        w->allocate = n ? YES : NO;
    else if (strcmp(word, "zero") == 0)
        w->zero = n ? YES : NO;
    else if (strcmp(word, "page_tables") == 0)
        w->page_tables = n ? YES : NO;
    else if (strcmp(word, "global_section") == 0)
        w->global_section = n ? YES : NO;
    else if (strcmp(word, "sysgbl") == 0)
        w->sysgbl = YES;
    else if (strcmp(word, "group") == 0)
        w->group_said = YES, w->group = (uint32_t)n;
    else if (strcmp(word, "size") == 0)
        w->size_said = YES, w->size = n;
    else if (strcmp(word, "rad") == 0)
        w->rad_said = YES, w->rad = (uint32_t)n;
    else if (strcmp(word, "new_rad") == 0)
        w->new_rad_said = YES, w->new_rad = (uint32_t)n;
    else
        w->new_rad_said = NO;
}

static int carry_out(const char *path)
{
    FILE *f = fopen(path, "r");
    char line[512], text[4096];

    while (f && fgets(line, sizeof(line), f)) {
        char *save, *verb = strtok_r(line, " \n", &save), *word;
        struct wish w = {.name = strtok_r(NULL, " \n", &save)};
        enum config_error bad;
        uint32_t n;
        int at;

        while ((word = strtok_r(NULL, " \n", &save)) != NULL)
            take_word(&w, word);
        before = config;
        at = verb_of(verb)(&config.registry, &w, why);
        if (at == -1) {
            if (memcmp(&before, &config, sizeof(config)) != 0)
                return printf("changed, and refused: %s\n", why), 1;
            printf("refused\n");
            continue;
        }
        n = config_encode(&config, blob, &bad);
        if (n == 0)
            return printf("not valid: %s\n", config_error_text(bad)), 1;
        if (at >= 0)
            registry_describe(&config.registry, (uint32_t)at, text, sizeof(text));
        printf("%08x %s\n", config_crc32c(0, blob, n), at >= 0 ? text : "removed");
    }
    if (f)
        fclose(f);
    return f ? 0 : 1;
}

static int add(const char *name, uint64_t size)
{
    struct wish w = {.name = name, .size_said = YES, .size = size};

    return registry_add(&config.registry, &w, why);
}

static void test_limits(void)
{
    struct wish w = {.name = "E0", .size_said = YES, .size = 1};
    enum config_error bad;
    char name[16], text[8];
    unsigned n = 0;

    for (; n < CONFIG_MAX_RESERVED; n++) {
        snprintf(name, sizeof(name), "E%u", n);
        if (add(name, 1) < 0)
            break;
    }
    ok(n == CONFIG_MAX_RESERVED, "as many entries as there may be");
    ok(add("ONE_MORE", 1) == -1 && strstr(why, "more than 1000"), "and no more");
    w.rad_said = YES;
    ok(registry_extend(&config.registry, &w, why) == -1, "nor a part more");
    ok(config_encode(&config, blob, &bad) > 0 && !config_parse(blob, 64048, &parsed).error &&
           parsed.registry.count == CONFIG_MAX_RESERVED,
       "they are encoded");
    registry_describe(&config.registry, 0, text, sizeof(text));
    ok(strlen(text) == 7, "a short buffer");
    w.rad_said = UNSAID;
    ok(registry_remove(&config.registry, &w, why) == REGISTRY_GONE &&
           config.registry.count == CONFIG_MAX_RESERVED - 1 &&
           strcmp(config.registry.entries[0].name, "E1") == 0,
       "the first is removed");
    config.registry.count = 0;
    ok(add("", 1) == -1 && add("a b", 1) == -1 && add("a:b", 1) == -1 &&
           add("0123456789012345678901234567890123456789abcd", 1) == -1,
       "names");
    ok(add("BIG", 0) == -1 && add("BIG", CONFIG_RESERVED_MB_MAX + 1) == -1 &&
           add("BIG", UINT64_MAX) == -1 && add("BIG", CONFIG_RESERVED_MB_MAX) == 0,
       "sizes");
    config.nparams = CONFIG_MAX_PARAMS + 1;
    ok(config_encode(&config, blob, &bad) == 0 && bad == CONFIG_TOO_MANY, "too many parameters");
    config.nparams = 1;
    ok(config_encode(&config, blob, &bad) == 0 && bad == CONFIG_NAME, "one without a name");
    strcpy(config.params[0].name, "GBLPAGES");
    ok(config_encode(&config, blob, &bad) > 0, "one with a name");
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return carry_out(argv[1]);
    test_limits();
    return tap_done();
}
