// SOURCES: userland/lib/prompt.c
// TARGETS: userland/bin/sysman/main.c
// RUNS: 20000
/*
 * The command lines of sysman in the guest: splitting a line in place, numbers, abbreviations. All
 * words are within the line, in order; a command is called with as many words as it takes; a number
 * has the value that strtoull gives it.
 */
#define main sysman_main
#include "userland/bin/sysman/main.c"
#undef main

#include "tests/fuzz/fuzz.h"

static char *line, *line_end;
static unsigned called;

static bool in_line(const char *p)
{
    return !p || (p >= line && p < line_end && p + strlen(p) < line_end);
}

static void check(const struct command *c, unsigned least, unsigned most)
{
    called++;
    fuzz_check(c->words >= least && c->words <= most, "%u words", c->words);
    for (unsigned i = 0; i < c->words; i++)
        fuzz_check(in_line(c->word[i]), "word %u is not in the line", i);
}

enum status reserved_show(const struct command *c) { return check(c, 0, 1), DONE; }
enum status reserved_free(const struct command *c)
{
    int64_t group = -1;
    int at = given(c, "GROUP");

    check(c, 1, 1);
    fuzz_check(at < 0 || (c->value[at] && *c->value[at]), "a group without a value");
    if (at >= 0 && number(c->value[at], 8, &group))
        fuzz_check(c->value[at][0] == '-' || group >= 0, "group %ld", (long)group);
    return DONE;
}
enum status parameters_show(const struct command *c) { return check(c, 0, 1), DONE; }
enum status parameters_set(const struct command *c)
{
    int64_t v = 0;

    check(c, 1, 2);
    if (c->words == 2 && number(c->word[1], 10, &v) &&
        strspn(c->word[1], "0123456789") == strlen(c->word[1]))
        fuzz_check((uint64_t)v == strtoull(c->word[1], NULL, 10), "%s is %ld", c->word[1], (long)v);
    return DONE;
}

enum status parameters_use(const struct command *c) { return check(c, 0, 1), DONE; }
enum status parameters_write(const struct command *c) { return check(c, 1, 1), DONE; }
enum status stored_add(const struct command *c) { return check(c, 1, 2), DONE; }
enum status stored_modify(const struct command *c) { return check(c, 1, 1), DONE; }
enum status stored_extend(const struct command *c) { return check(c, 1, 2), DONE; }
enum status stored_remove(const struct command *c) { return check(c, 1, 1), DONE; }
enum status stored_list(const struct command *c) { return check(c, 0, 1), DONE; }

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    if (!freopen("/dev/null", "w", stdout)) /* libFuzzer writes to standard error */
        abort();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static FILE *quiet;
    FILE *console = stderr;
    struct command c;
    char *before;

    fuzz_begin();
    quiet = fopen("/dev/null", "w");
    line = malloc(n + 1);
    memcpy(line, data, n);
    line[n] = 0;
    line_end = line + n + 1;
    before = strdup(line);
    stderr = quiet;
    if (split(line, &c)) {
        stderr = console;
        fuzz_check(c.words <= MAX_WORDS && c.qualifiers <= MAX_QUALIFIERS, "too many");
        for (unsigned i = 0; i < c.words; i++)
            fuzz_check(in_line(c.word[i]) && (i == 0 || c.word[i] > c.word[i - 1]), "word %u", i);
        for (unsigned i = 0; i < c.qualifiers; i++)
            fuzz_check(in_line(c.qualifier[i]) && in_line(c.value[i]), "qualifier %u", i);
        if (!strpbrk(before, "\"!/")) { /* then blanks alone separate the words */
            char *rest = before, *word;
            unsigned i = 0;

            while ((word = strsep(&rest, " \t")))
                if (*word) {
                    fuzz_check(i < c.words && !strcmp(word, c.word[i]), "word %u: %s", i, word);
                    i++;
                }
            fuzz_check(i == c.words, "%u words, not %u", c.words, i);
        }
        stderr = quiet;
        execute(&c);
    }
    stderr = console;
    fclose(quiet);
    free(before);
    free(line);
    return 0;
}
