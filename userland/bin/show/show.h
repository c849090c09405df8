/* show: gets information from the kernel by mega$info and prints it. One function per display. */
#ifndef SHOW_H
#define SHOW_H

#include <stdbool.h>
#include <stdint.h>

#include <megalith/info.h>

enum {
    Q_FULL = 1 << 0,
    Q_ALL = 1 << 1,
    Q_PHYSICAL = 1 << 2,
    Q_RESERVED = 1 << 3,
    Q_POOL = 1 << 4,
    Q_START = 1 << 8,
    Q_STOP = 1 << 9,
    Q_GLOBAL = 1 << 5,
    Q_VALIDATE = 1 << 10,
    Q_FILES = 1 << 6,
    Q_PROCESS = 1 << 11,
    Q_JOB = 1 << 12,
    Q_GROUP = 1 << 13,
    Q_SYSTEM = 1 << 14,
    Q_TABLE = 1 << 15, /* with table_value */
};

/* The displays. name: the word after the display's name, or NULL. Each returns the exit status. */
int show_memory(unsigned qualifiers, const char *name);
int show_section(unsigned qualifiers, const char *name);
int show_process(unsigned qualifiers, const char *name);
int show_system(unsigned qualifiers, const char *name);
int show_cpu(unsigned qualifiers, const char *name);
int show_parameter(unsigned qualifiers, const char *name);
int show_region(unsigned qualifiers, const char *name);
int show_logical(unsigned qualifiers, const char *name);
int show_pci(unsigned qualifiers, const char *name);
int show_device(unsigned qualifiers, const char *name);
int show_spinlock(unsigned qualifiers, const char *name);
int show_accounting(unsigned qualifiers, const char *name);
int show_users(unsigned qualifiers, const char *name);
int show_mutex(unsigned qualifiers, const char *name);
int show_ipl(unsigned qualifiers, const char *name);

/* Get structure number `index` of an item; returns false after the last one. Any other error is
 * reported and ends the program. */
bool ask(unsigned item, int64_t index, void *buffer, uint64_t length);

/* Get the first process (if *count is 0) or the process after *p. *count is the number of processes
 * shown so far. Returns false after the last one. */
bool next_process(uint64_t *count, struct mega_process *p);

/* show memory /validate. Returns exit status 0 if memory is consistent. */
int show_validate(void);

double megabytes(uint64_t pages);
/* Formats a number in at most `width` (4 or more) columns: a larger one in thousands (K), millions
 * (M) or higher powers of 1,000. Returns text. */
const char *format_count(char text[24], uint64_t value, unsigned width);
#define DURATION_SIZE 24
/* Formats a duration in 11 columns: hh:mm:ss.cc, or hhhhh:mm:ss from 100 hours on. Returns text. */
const char *format_duration(char text[DURATION_SIZE], uint64_t ns);
void print_duration(uint64_t ns); /* the same, to standard output */

extern uint64_t page_size;
extern const char *table_value; /* the name in /TABLE=name */

#endif
