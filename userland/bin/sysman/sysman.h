/*
 * sysman: shows and changes the reservations and system parameters of the running system, and the
 * configuration on the system disk, which the next boot reads. The commands have the syntax of
 * those of scripts/sysman, which edits a configuration in a file of the host.
 */
#ifndef SYSMAN_H
#define SYSMAN_H

#include <stdbool.h>
#include <stdint.h>

#define MAX_WORDS      8
#define MAX_QUALIFIERS 12

/* A parsed command line. Words are as typed. A qualifier is stored without its slash, with its
 * value or NULL. All strings point into the line. */
struct command {
    unsigned words, qualifiers;
    char *word[MAX_WORDS], *qualifier[MAX_QUALIFIERS], *value[MAX_QUALIFIERS];
};

enum status { DONE, FAILED, LEAVE };

/* Parse a line in place. Returns false after an error message. */
bool split(char *line, struct command *c);
/* Execute a parsed line. */
enum status execute(const struct command *c);

/* The commands. Their words and qualifiers do not include the verb. */
enum status reserved_show(const struct command *c);
enum status reserved_free(const struct command *c);
enum status parameters_show(const struct command *c);
enum status parameters_set(const struct command *c);
enum status parameters_use(const struct command *c);
enum status parameters_write(const struct command *c);
enum status stored_add(const struct command *c);
enum status stored_modify(const struct command *c);
enum status stored_extend(const struct command *c);
enum status stored_remove(const struct command *c);
enum status stored_list(const struct command *c);

/* The qualifier's index in c, or -1 if it is not given; it may be abbreviated. */
int given(const struct command *c, const char *name);
/* Parse an integer: %X, %O, %D or 0x before it, K, M, G or T after it; radix if it has no
 * prefix. */
bool number(const char *text, int radix, int64_t *value);
/* The kernel has refused `what`, for a reason that has no text of its own. Returns FAILED. */
enum status refused(const char *what, int status);
/* Print "%SYSMAN-E-IDENT, ..." on standard error. Returns FAILED. */
enum status fail(const char *ident, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
