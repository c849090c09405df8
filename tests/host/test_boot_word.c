// SOURCES: kernel/boot_word.c
/* The parser of the words of the kernel's command line. */
#include "kernel/boot_word.h"

#include "userland/lib/include/tap.h"

int main(void)
{
    static const char line[] = " time=17  cmd  init=/bin/show=x time=18 validated";
    char value[8] = "unset";

    ok(boot_word(line, "time", value, sizeof(value)), "a word with a value");
    is_str(value, "17", "the first one counts");
    ok(boot_word(line, "cmd", NULL, 0), "a plain word");
    ok(boot_word(line, "cmd", value, sizeof(value)), "asked for its value");
    is_str(value, "", "has none");
    ok(!boot_word(line, "validate", NULL, 0), "a beginning of a word is not that word");
    memcpy(value, "unset", 6);
    ok(!boot_word(line, "init", value, sizeof(value)), "a value that does not fit is none");
    is_str(value, "unset", "and nothing is written");
    char room[12];
    ok(boot_word(line, "init", room, sizeof(room)), "where it just fits");
    is_str(room, "/bin/show=x", "it is whole, other equals signs too");
    ok(!boot_word("", "init", room, sizeof(room)), "an empty line");
    return tap_done();
}
