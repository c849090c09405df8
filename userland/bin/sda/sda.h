/*
 * sda: traces of the running system. main.c parses commands; locks.c shows mutexes and spinlocks,
 * pcs.c PC samples, flt.c alignment faults, prf.c events of translation buffers; symbols.c finds
 * names of addresses in programs.
 */
#ifndef SDA_H
#define SDA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <megalith/info.h>

#define MAX_WORDS 8

struct command {
    unsigned words, qualifiers;
    char *word[MAX_WORDS];
    char *qualifier[MAX_WORDS], *value[MAX_WORDS]; /* value: NULL without '=' */
};

/* Print "%SDA-E-IDENT, text" on standard error. Returns 1, the exit status of a failed command. */
int fail(const char *ident, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Get an item from the kernel. Returns false after the last one, and after another error, which it
 * reports and for which it sets *failed. */
bool ask(unsigned item, int64_t index, void *buffer, uint64_t length, bool *failed);
/* Whether the qualifier is given, and its value or NULL. */
bool given(const struct command *c, const char *name);
const char *value_of(const struct command *c, const char *name);
/* The qualifier's value as a number up to most; dflt if it is not given. False after an error
 * message. */
bool number_of(const struct command *c, const char *name, uint64_t most, uint64_t dflt,
               uint64_t *out);
/* The same for a time: seconds with a fraction, returned as nanoseconds. */
bool seconds_of(const struct command *c, const char *name, uint64_t dflt, uint64_t *out);
/* Print "Traced for 10.00 seconds; ...". */
void print_times(const struct mega_trace *t);

/* SHOW TRACE of each facility. Returns the exit status. */
int show_locks(enum mega_facility facility, const struct mega_trace *t, const struct command *c);
int show_faults(const struct mega_trace *t, const struct command *c);
int show_events(const struct mega_trace *t);
int show_samples(const struct mega_trace *t, const struct command *c);

/* The name of the function at pc in the program file, with the offset from its start; NULL if the
 * file does not exist or has no such symbol. The string is never freed. */
const char *program_symbol(const char *path, uint64_t pc, uint64_t *offset);

#endif
