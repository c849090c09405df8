/*
 * /bench/pool: the experiment of the paged-pool paper. Jobs create and delete logical names in
 * random order until paged pool is fragmented. Then the cost of this to the jobs and to others is
 * measured, with lookaside lists of several sizes.
 */
#ifndef POOL_H
#define POOL_H

#include "../bench.h"

#include <megalith/info.h>
#include <stdbool.h>

#define NAMES_MAX 262144u
#define USERS_MAX 16u
#define CPUS_MAX  4u
#define COST_MAX  768u   /* requests by the kernel on one CPU for one block size */
#define CALLS_MAX 16384u /* service calls of a user whose times are recorded */

struct user {
    uint64_t calls; /* number of service calls */
    uint32_t create[CALLS_MAX], delete[CALLS_MAX];
    uint32_t kept;
};

/* Shared by all processes of the program. */
struct board {
    uint32_t go, stop, running; /* atomic */
    uint64_t translations, longest_ns,
        felt;                        /* of the bystander; felt: slower than 100 times the median */
    uint32_t translation[CALLS_MAX]; /* times of its first translations */
    struct user user[USERS_MAX];
    struct mega_pool_cost cost[CPUS_MAX][COST_MAX];
    uint32_t arrived, places; /* atomic: processes at a barrier; CPUs on which they ran */
    uint16_t size[NAMES_MAX]; /* of each name's block, 0 without one; written by its user */
};

extern struct board *board;
extern struct options {
    uint64_t seed;
    unsigned names, blocks, small, users, transactions, pairs, think_us;
    uint64_t used; /* bytes of the pool that shall be in use at the end */
    unsigned lal[4], lals;
    unsigned cost_lal[4], cost_lals;
    unsigned series;   /* number of intermediate trials */
    unsigned cpus;     /* the most CPUs at once for --cost */
    const char *watch; /* a script that runs while users replace names */
    unsigned burst;    /* while it runs, transactions are this many times as long, */
    unsigned rest;     /* and the pauses between them this many times */
} opt;

/* ---- names.c ---- */

uint64_t random_next(uint64_t *state);
/* A random block size, distributed as those of jobs: most from 96 to 208 bytes, none above 512. */
unsigned random_size(uint64_t *state);
/* Create the job's name number n in a block of `size` bytes (a multiple of 16, at least
   NAME_SMALLEST). */
#define NAME_SMALLEST 96u
void name_create(unsigned n, unsigned size);
void name_delete(unsigned n);
/* Try to delete a name that does not exist. This takes LNM as name_delete does, but frees
 * nothing. */
void name_delete_none(void);
/* Exit unless a name of `size` bytes takes that many bytes of the pool. */
void names_check(unsigned size);
/* Create name number n of a file, in a block of LINK_SIZE bytes: n is 0, or one above the last
   one's. A directory has few of them, because their names have one character. */
#define LINK_SIZE 80u
void link_create(unsigned n);
/* Exit unless such a name takes that many bytes of the pool. */
void links_check(void);
/* Create the name in the system table that bystanders translate. */
void landmark_create(void);
void landmark_translate(void);
/* Create names of some 32 KB each until they take `bytes` bytes. */
void ballast_create(uint64_t bytes);

/* ---- shape.c ---- */

struct mega_pool pool_now(void);
/* Create and delete names until the variable list has opt.blocks free blocks, opt.small of them of
   at most 64 bytes. Calls `pause_here` opt.series times on the way, and at the end. */
void pool_shatter(void (*pause_here)(void));
/* Make opt.blocks free blocks of 48 bytes between twice as many names, without replacing at
 * random. */
void pool_comb(void);

/* ---- trial.c ---- */

/* How the users of a trial work. */
enum work {
    WORK_NAMES, /* users replace names */
    WORK_FULL,  /* the same; then the kernel's own requests are measured */
    WORK_NONE,  /* users take LNM as often, but do not use the pool */
};
/* Run the users and a bystander, and print the cost as a row. */
void trial(const char *when, unsigned lal, unsigned transactions, enum work work);
/* Run the users until the shell script `script` has ended. */
void watched(const char *script);
/* Print median, 99th percentile and maximum of n values as part of a row. Sorts the values. */
void spread(const char *name, uint32_t *v, size_t n);

/* ---- parallel.c ---- */

/* Print as a row what a block costs the kernel while `cpus` CPUs request blocks at the same
 * time. */
void parallel_cost(unsigned lal, unsigned cpus);

void set_parameter(const char *name, int64_t value);
void status_need(int status, const char *what);

#endif
