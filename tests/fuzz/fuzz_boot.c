// SOURCES: kernel/boot_word.c kernel/boot_config.c kernel/base/cpio.c kernel/base/string_extra.c
// SOURCES: sysman/config.c sysman/params.c
// TARGETS: kernel/boot_word.c kernel/boot_config.c sysman/params.c
// RUNS: 8000
/*
 * The input of the early boot: the words of the command line, compared with a simple parser, and
 * the parameters of a configuration blob of the initrd, which is well formed but has any names and
 * values.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/base/string.h"
#include "kernel/boot_config.h"
#include "kernel/boot_word.h"
#include "sysman/params.h"
#include "tests/fuzz/fuzz.h"

#define VALUE_MAX 300

static const char *const names[] = {"time", "cmd", "init", "validate", "i"};

/* A simple parser: looks at each word of a copy in turn. */
static bool plain_word(const char *line, const char *name, char *value, size_t size)
{
    char *copy = strdup(line), *rest = copy, *word;
    size_t n = strlen(name);
    bool found = false;

    while (!found && (word = strsep(&rest, " "))) {
        if (strncmp(word, name, n) || (word[n] && word[n] != '='))
            continue;
        found = true;
        snprintf(value, VALUE_MAX, "%s", word[n] ? word + n + 1 : "");
    }
    free(copy);
    return found && strlen(value) < size;
}

static void command_line(struct fuzz_in *in)
{
    char line[256], *heap;
    size_t n = 0, size = 1 + in_below(in, 24);
    const char *name = names[in_below(in, sizeof(names) / sizeof(names[0]))];
    char *value = malloc(size), expected[VALUE_MAX];
    bool found;

    while (in_more(in) && n < sizeof(line) - 1)
        line[n++] = (char)in_u8(in);
    line[n] = 0;
    heap = strdup(line);
    memset(value, '!', size);
    found = boot_word(heap, name, value, size);
    fuzz_check(found == plain_word(line, name, expected, size), "'%s' in '%s': %d", name, line,
               found);
    if (found) {
        uint64_t v = 0;

        fuzz_check(!strcmp(value, expected), "'%s' of '%s' is '%s'", name, line, value);
        if (str_to_u64(value, &v)) {
            char *end;

            fuzz_check(strtoull(value, &end, 0) == v || value[0] == '0', "%s is %lu", value, v);
        }
    } else {
        fuzz_check(value[0] == '!', "no value, and something written");
    }
    free(heap);
    free(value);
}

static void put(uint8_t *b, uint64_t v, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        b[i] = (uint8_t)(v >> 8 * i);
}

/* Make a blob of parameters, with names of the table or similar, and values near limits or any. */
static size_t parameters(struct fuzz_in *in, uint8_t *blob)
{
    size_t count = 0;

    while (in_more(in) && count < 20) {
        uint8_t *r = blob + 48 + 40 * count;
        const struct sysparam_info *info = sysparam_info(in_u8(in) % SYSPARAM_COUNT);
        unsigned how = in_u8(in);
        int64_t value = how & 1   ? info->min
                        : how & 2 ? info->max
                        : how & 4 ? info->dflt
                                  : (int64_t)in_u64(in);

        value = (int64_t)((uint64_t)value + (uint64_t)(int64_t)(int8_t)in_u8(in));
        memset(r, 0, 40);
        strcpy((char *)r, how & 8 ? "RSVD_EXEC_1" : info->name);
        if (how & 16)
            r[in_below(in, 32)] = in_u8(in);
        put(r + 32, (uint64_t)value, 8);
        count++;
    }
    memcpy(blob, "MEGACONF", 8);
    put(blob + 8, 1, 4);
    put(blob + 12, 32, 4);
    put(blob + 16, 48 + 40 * count, 4);
    put(blob + 20, 0, 4);
    put(blob + 24, 1, 4);
    put(blob + 28, 0, 4);
    put(blob + 32, 1, 4);
    put(blob + 36, 48, 4);
    put(blob + 40, 40 * count, 4);
    put(blob + 44, count, 4);
    put(blob + 20, config_crc32c(0, blob, 48 + 40 * count), 4);
    return 48 + 40 * count;
}

static void blob(struct fuzz_in *in)
{
    uint8_t archive[2048], records[1024];
    size_t n = parameters(in, records), length;
    const char *name = in_u8(in) & 1 ? "boot/config" : "boot/override";
    size_t name_bytes = strlen(name) + 1;
    int head = sprintf((char *)archive,
                       "070701%08X%08X%08X%08X%08X%08X%08zX%08X%08X%08X%08X%08zX%08X", 1, 0100644,
                       0, 0, 1, 0, n, 0, 0, 0, 0, name_bytes, 0);
    const struct registry *g;
    bool refused = false;

    memcpy(archive + head, name, name_bytes);
    length = ((size_t)head + name_bytes + 3) & ~(size_t)3;
    memcpy(archive + length, records, n);
    g = boot_config(archive, length + n, NULL);
    fuzz_check(g->count == 0, "entries from nowhere");
    for (unsigned i = 0; i < SYSPARAM_COUNT; i++) {
        const struct sysparam_info *info = sysparam_info(i);

        fuzz_check(sysparam_values[i] >= info->min && sysparam_values[i] <= info->max, "%s is %ld",
                   info->name, sysparam_values[i]);
        refused |= sysparam_set(info->name, info->max + 1, false) != SYSPARAM_RANGE &&
                   info->max != INT64_MAX;
        fuzz_check(sysparam_set(info->name, info->dflt, true) ==
                       (info->dynamic ? SYSPARAM_OK : SYSPARAM_FIXED),
                   "%s set in the running system", info->name);
    }
    fuzz_check(!refused, "a value above the maximum is taken");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct fuzz_in in = fuzz_in(data, n);

    fuzz_begin();
    if (in_u8(&in) & 1)
        blob(&in);
    else
        command_line(&in);
    return 0;
}
