/*
 * A random walk over all services: processes that create regions and sections, map, touch, protect,
 * lock and unmap, fork, exec, die and kill each other, seeded. Every page of theirs carries a
 * pattern that says whose it is and where, and every condition value must be one that the service
 * may return.
 */
#ifndef WALK_H
#define WALK_H

#define _GNU_SOURCE
#include <descrip.h>
#include <megalith/info.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <tap.h>
#include <vadef.h>

#define PAGE          8192ul
#define PIECE         (1024 * PAGE) /* what a level-3 page maps */
#define WALKERS_MAX   16
#define TURN_MASTER   (~0u)
#define REGIONS       6
#define MAPPINGS      24
#define TRACKED_PAGES 512 /* of a mapping: its first ones */
#define RW            (PROT_READ | PROT_WRITE)
#define FAILED        9 /* exit status of who found something wrong */

/* What a walk must have come by, or it has not tried what it is for. */
enum made {
    MADE_ALLOC,
    MADE_BARE,
    MADE_PAGFIL,
    MADE_SHOWN,
    MADE_ASIDE,
    MADE_DRIVER,
    MADE_FREED,
    MADE_KINDS
};

/* What all processes of the walk see. */
struct shared {
    int32_t pids[WALKERS_MAX];    /* walker of each slot; 0: none */
    uint64_t digest[WALKERS_MAX]; /* of all operations and statuses; written by the slot's own */
    uint64_t made[MADE_KINDS];
    uint64_t ops, refused, killed, children, checks;
    uint64_t end_ms; /* no operation begins after that */
    bool turns;      /* one operation at a time, in turn: the same walk whenever the clock ticks */
    uint32_t turn;   /* whose it is: a slot, or TURN_MASTER; atomic */
    uint32_t dying;  /* slots whose walkers were killed, by bits: by who has the turn */
    bool give;       /* the reservation that goes once may go */
    uint32_t stop;   /* somebody found something wrong */
    char failure[256];
};

enum kind { NONE, PRIVATE, ANON_SHARED, SECTION, PAGFIL };

struct mapping { /* in use unless kind is NONE */
    enum kind kind;
    int region; /* slot in regions; -1: a default region */
    char *start;
    uint64_t bytes;
    unsigned section; /* which name */
    uint64_t first;   /* page of the section, or of the mapping as it was made */
    uint64_t tag;     /* what its pages hold besides their number */
    bool shpt;        /* through shared page tables */
    bool read, write; /* may be */
    uint64_t touched[TRACKED_PAGES / 64]; /* private: pages that hold the pattern, by number */
};

struct region {
    bool used, shpt;
    struct _generic_64 id;
    char *start;
    uint64_t bytes;
};

struct walker {
    unsigned slot;
    uint64_t generation, state, next_tag;
    uint64_t ops_left; /* in this life */
    bool child;        /* a fork of a walker: not in the table of pids */
    struct region regions[REGIONS];
    struct mapping maps[MAPPINGS];
};

extern struct shared *all;
extern struct walker self;
extern const char *self_path;

static inline uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

uint64_t draw(uint64_t below);
long now_ms(void);
void nap_us(long us);
__attribute__((noreturn, format(printf, 1, 2))) void wrong(const char *fmt, ...);
/* An operation with its result: into the digest. */
void note(uint64_t op, uint64_t status);
/* status is success, or among those listed, which end with 0. True: success. */
bool expected(const char *service, int status, const int *allowed);

void made(enum made what);

/* maps.c */
struct mapping *mapping_new(void);
struct mapping *mapping_any(bool (*fits)(const struct mapping *m));
struct region *region_any(void);
void touch(struct mapping *m);
/* The pages [from, from + bytes) of the mapping are gone. */
void mapping_cut(struct mapping *m, uint64_t from, uint64_t bytes);
void forget_region(int region);

/* A mapping of section k was made. All processes write the same into a section's pages. */
void section_mapped(unsigned k, enum kind kind, int region, void *va, uint64_t length,
                    uint64_t offset, bool write);
/* Where to: a region of ours, or a default one. */
int choose_region(struct _generic_64 *id);

/* The operations: ops_section.c, ops_frames.c, ops_memory.c, ops_process.c. */
void op_create_region(void);
void op_delete_region(void);
void op_region_info(void);
void op_create_section(void);
void op_create_and_map(void);
void op_map_section(void);
void op_delete_section(void);
void op_delete_va(void);
void op_create_va(void);
void op_expand_region(void);
void op_protect(void);
void op_lock(void);
void op_mmap(void);
void op_munmap(void);
void op_mprotect(void);
void op_forget(void);
void op_brk(void);
void op_touch(void);
void op_information(void);
void op_fork(void);
void op_exec(void);
void op_kill(void);
void op_end(void);
void op_pipe(void);
void op_file(void);
void op_free_reservation(void);
void op_check(void);
void op_driver(void);
void op_create_frames(void);
void op_map_frames(void);
void op_delete_frames(void);
void op_logical(void);

/* After exec. */
int after_exec(void);
/* All names of sections go; those of page-frame sections; the driver's reservation; logical names.
 */
void sections_delete(void);
void frames_delete(void);
void driver_release(void);
void logical_delete(void);

#endif
