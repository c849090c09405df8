/* Growths: each makes one kind of thing numerous and then does what walks, wakes or frees it. */
#ifndef HOLDS_H
#define HOLDS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define PAGE_BYTES 8192ul

struct growth {
    const char *name;
    void (*run)(unsigned n); /* in a process of its own; ends the program if something fails */
};

/* A growth without a name ends each table. */
extern const struct growth growth_processes[], growth_threads[], growth_memory[], growth_names[],
    growth_events[], growth_mailboxes[];

#define need(what) need_((what) ? 1 : 0, #what, __FILE__, __LINE__)
void need_(int there, const char *what, const char *file, int line);

/* Start n children, each of which calls fn(i, arg) and ends. Returns the first one's number. */
pid_t crowd_start(unsigned n, void (*fn)(unsigned i, void *arg), void *arg);
/* Wait for n children. */
void crowd_wait(unsigned n);

/* A barrier that children wait at: they read from a pipe that only the parent has open. */
struct gate {
    int fd[2];
};
void gate_make(struct gate *g);
void gate_wait(struct gate *g); /* by a child: until the parent opens it */
void gate_open(struct gate *g); /* by the parent */

#endif
