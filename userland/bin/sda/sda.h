/*
 * sda: traces of the running system. main.c takes commands apart; locks.c shows mutexes and
 * spinlocks, pcs.c PC samples, flt.c alignment faults, symbols.c names places in programs.
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

/* "%SDA-E-IDENT, text" on standard error. Value: 1, the exit status of a failed command. */
int fail(const char *ident, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Ask the kernel. False behind the end; another refusal is said, and *failed becomes true. */
bool ask(unsigned item, int64_t index, void *buffer, uint64_t length, bool *failed);
/* Is the qualifier given, and its value? */
bool given(const struct command *c, const char *name);
const char *value_of(const struct command *c, const char *name);
/* Its value as a number up to most, or dflt. False: it is said what is wrong. */
bool number_of(const struct command *c, const char *name, uint64_t most, uint64_t dflt,
               uint64_t *out);
/* The same for seconds with a fraction, as nanoseconds. */
bool seconds_of(const struct command *c, const char *name, uint64_t dflt, uint64_t *out);
/* "Traced for 10.00 seconds; ..." */
void print_times(const struct mega_trace *t);

/* SHOW TRACE of each facility. Value: exit status. */
int show_locks(enum mega_facility facility, const struct mega_trace *t, const struct command *c);
int show_faults(const struct mega_trace *t, const struct command *c);
int show_samples(const struct mega_trace *t, const struct command *c);

/* Name of the function at pc in the program file, with the offset from its start; NULL: the file is
 * not there or says nothing. What is returned stays. */
const char *program_symbol(const char *path, uint64_t pc, uint64_t *offset);

#endif
