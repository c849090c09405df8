/*
 * A random walk over all services: processes that create regions and sections, map, touch, protect,
 * lock and unmap memory, fork, exec, end and kill each other, with seeded random numbers. Every
 * page contains a pattern that identifies its owner and its place, and every condition value must
 * be one that the service may return.
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

#define PAGE        8192ul
#define PIECE       (1024 * PAGE) /* mapped by one level-3 page-table page */
#define WALKERS_MAX 16
#define TURN_MASTER (~0u)
#define REGIONS     6
#define MAPPINGS    24
/* Number of pages of a mapping, from its start, whose contents are tracked. */
#define TRACKED_PAGES 512
#define RW            (PROT_READ | PROT_WRITE)
#define FAILED        9 /* exit status of a process that found an error */

/* Events that a walk must have had in order to be a useful test. */
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

/* Shared by all processes of the walk. */
struct shared {
    int32_t pids[WALKERS_MAX];    /* pid of the walker in each slot; 0: none */
    uint64_t digest[WALKERS_MAX]; /* of all operations and statuses; written by the slot's walker */
    uint64_t made[MADE_KINDS];
    uint64_t ops, refused, killed, children, checks;
    uint64_t end_ms; /* no operation begins after this time */
    bool turns;      /* one operation at a time, in turn: the walk does not depend on timing */
    uint32_t turn;   /* who has the turn: a slot, or TURN_MASTER; atomic */
    uint32_t dying; /* bit mask of slots whose walkers were killed; set by the holder of the turn */
    bool give;      /* the reservation that can be freed once may be freed */
    uint32_t stop;  /* a process has found an error */
    char failure[256];
};

enum kind { NONE, PRIVATE, ANON_SHARED, SECTION, PAGFIL };

struct mapping { /* in use unless kind is NONE */
    enum kind kind;
    int region; /* index in regions; -1: a default region */
    char *start;
    uint64_t bytes;
    unsigned section; /* index of its name */
    uint64_t first;   /* first page in the section, or in the original mapping */
    uint64_t tag;     /* contents of its pages besides their number */
    bool shpt;        /* mapped through shared page tables */
    bool read, write; /* access that the mapping allows */
    uint64_t touched[TRACKED_PAGES /
                     64]; /* private memory: bit mask of the pages that contain the pattern */
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
    uint64_t ops_left; /* operations left in this life */
    bool child;        /* a child of a walker: not in the table of pids */
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
/* Add an operation and its result to the digest. */
void note(uint64_t op, uint64_t status);
/* Returns true if status is success. Any other status must be in the list, which ends with 0. */
bool expected(const char *service, int status, const int *allowed);

void made(enum made what);

/* maps.c */
struct mapping *mapping_new(void);
struct mapping *mapping_any(bool (*fits)(const struct mapping *m));
struct region *region_any(void);
void touch(struct mapping *m);
/* The pages [from, from + bytes) have been unmapped. */
void mapping_cut(struct mapping *m, uint64_t from, uint64_t bytes);
void forget_region(int region);

/* A mapping of section k was created. All processes write the same pattern to a section's pages. */
void section_mapped(unsigned k, enum kind kind, int region, void *va, uint64_t length,
                    uint64_t offset, bool write);
/* Choose where to map: in a region of this walker, or in a default region. */
int choose_region(struct _generic_64 *id);

/* The operations, in ops_section.c, ops_frames.c, ops_memory.c and ops_process.c. */
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

/* The program that a walker executes. */
int after_exec(void);
/* Delete all sections, those of page frames, the driver's reservation, and logical names. */
void sections_delete(void);
void frames_delete(void);
void driver_release(void);
void logical_delete(void);

#endif
