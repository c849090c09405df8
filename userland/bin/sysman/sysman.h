/*
 * sysman: shows and changes the reservations and system parameters of the running system. The words
 * are those of scripts/sysman, which edits the configuration that the next boot reads.
 */
#ifndef SYSMAN_H
#define SYSMAN_H

#include <stdbool.h>
#include <stdint.h>

#define MAX_WORDS      8
#define MAX_QUALIFIERS 8

/* A command line taken apart. Words are as typed; a qualifier is without its slash, its value or
 * NULL beside it. All point into the line. */
struct command {
    unsigned words, qualifiers;
    char *word[MAX_WORDS], *qualifier[MAX_QUALIFIERS], *value[MAX_QUALIFIERS];
};

enum status { DONE, FAILED, LEAVE };

/* Take a line apart in place. False: it is not well-formed, and that was said. */
bool split(char *line, struct command *c);
/* Do what the words say. */
enum status execute(const struct command *c);

/* The commands: words and qualifiers of their own only. */
enum status reserved_show(const struct command *c);
enum status reserved_free(const struct command *c);
enum status parameters_show(const struct command *c);
enum status parameters_set(const struct command *c);

/* The qualifier's index in c, -1 without it; abbreviations as everywhere. */
int given(const struct command *c, const char *name);
/* A whole number: %X, %O and %D or 0x before it, K, M, G or T behind it; radix without a prefix. */
bool number(const char *text, int radix, int64_t *value);
/* "%SYSMAN-E-IDENT, ..." on standard error; FAILED. */
enum status fail(const char *ident, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
