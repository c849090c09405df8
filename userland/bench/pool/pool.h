/*
 * /bench/pool: the case of the paged-pool paper. Jobs create and delete logical names in random
 * order until paged pool is in pieces; then it is measured what that costs them and others, with
 * lookaside lists of several sizes.
 */
#ifndef POOL_H
#define POOL_H

#include "../bench.h"

#include <megalith/info.h>
#include <stdbool.h>

#define NAMES_MAX 262144u
#define USERS_MAX 16u
#define CPUS_MAX  4u
#define COST_MAX  768u   /* requests of the kernel's own on one CPU, of one size */
#define CALLS_MAX 16384u /* of a user's services that are kept with their times */

struct user {
    uint64_t calls; /* in all */
    uint32_t create[CALLS_MAX], delete[CALLS_MAX];
    uint32_t kept;
};

/* Shared by all processes of the program. */
struct board {
    uint32_t go, stop, running; /* atomic */
    uint64_t translations, longest_ns,
        felt;                        /* of the bystander; felt: above 100 times the median */
    uint32_t translation[CALLS_MAX]; /* its first ones */
    struct user user[USERS_MAX];
    struct mega_pool_cost cost[CPUS_MAX][COST_MAX];
    uint32_t arrived, places; /* atomic: processes at a meeting; CPUs on which they were */
    uint16_t size[NAMES_MAX]; /* of each name's block; 0: it does not exist. Its user's own */
};

extern struct board *board;
extern struct options {
    uint64_t seed;
    unsigned names, blocks, small, users, transactions, pairs, think_us;
    uint64_t used; /* bytes of the pool that are to be in use in the end */
    unsigned lal[4], lals;
    unsigned cost_lal[4], cost_lals;
    unsigned series;   /* pauses at so many points on the way */
    unsigned cpus;     /* up to so many CPUs at once for costs */
    const char *watch; /* a script that runs while users are at work */
    unsigned burst;    /* while it runs, transactions are so many times as long and as far apart */
} opt;

/* ---- names.c ---- */

uint64_t random_next(uint64_t *state);
/* A size of a block as the jobs have them: most from 80 to 208 bytes, none above 512. */
unsigned random_size(uint64_t *state);
/* Create job name number n in a block of `size` bytes (a multiple of 16, 80 and more). */
void name_create(unsigned n, unsigned size);
void name_delete(unsigned n);
/* Try to delete a name that does not exist: as name_delete takes LNM, but frees nothing. */
void name_delete_none(void);
/* Exit unless a name of `size` bytes takes so many of the pool. */
void names_check(unsigned size);
/* A name in the system's table, translated by bystanders. */
void landmark_create(void);
void landmark_translate(void);
/* Names of some 32 KB each, until they take that many bytes. */
void ballast_create(uint64_t bytes);

/* ---- shape.c ---- */

struct mega_pool pool_now(void);
/* Names created and deleted until the variable list has opt.blocks free blocks, opt.small of them
   of at most 64 bytes. Calls `pause_here` opt.series times on the way, and at the end. */
void pool_shatter(void (*pause_here)(void));
/* opt.blocks free blocks of 48 bytes, between twice as many names: the same number, in no time. */
void pool_comb(void);

/* ---- trial.c ---- */

/* How the users of a trial work. */
enum work {
    WORK_NAMES, /* they replace names */
    WORK_FULL,  /* the same, and then the kernel's own requests are measured */
    WORK_NONE,  /* they take LNM as often, but leave the pool alone */
};
/* The users at work, and a bystander; then what it cost, as a row. */
void trial(const char *when, unsigned lal, unsigned transactions, enum work work);
/* Users at work until the shell script `script` has ended. */
void watched(const char *script);
/* Median, 99th percentile and worst of n values, which it sorts, as a part of a row. */
void spread(const char *name, uint32_t *v, size_t n);

/* ---- parallel.c ---- */

/* What a block costs the kernel while `cpus` CPUs ask for some at once, as a row. */
void parallel_cost(unsigned lal, unsigned cpus);

void set_parameter(const char *name, int64_t value);
void status_need(int status, const char *what);

#endif
