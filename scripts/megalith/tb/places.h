/*
 * Where memory is that a CPU refers to: references by process, section or kind of page, the domain
 * that is the home of the thread, and the domain of the page. All of one CPU belongs to its thread.
 *
 * A reference to the page of the last one costs an addition. Another page is looked for in a small
 * cache, which holds translations of the thread that runs; only if it is not there are page tables
 * and the page's database entry read. place_forget() empties the cache, at each switch and
 * invalidation. A page that is not valid is never kept.
 */
#ifndef MEGALITH_TB_PLACES_H
#define MEGALITH_TB_PLACES_H

#include "guest.h"

#include <stdio.h>

#define PLACE_CACHE   1024u
#define PLACE_BUCKETS 1024u
#define PLACES_MAX    8192u /* of a CPU; then processes and sections are no longer told apart */

struct place {
    uint32_t pid; /* 0: the kernel's own threads */
    uint8_t stream, kind, home, rad;
    char program[NAME_BYTES], section[NAME_BYTES];
    uint64_t references;
    struct place *next;
};

struct places {
    uint64_t page[2]; /* of the last reference, by enum tb_stream; PLACE_NO_PAGE: none */
    struct place *last[2];
    struct guest_thread thread; /* the one that runs */
    char program[NAME_BYTES];   /* its name */
    uint64_t generation;        /* raised when the cache is emptied */
    struct {
        uint64_t page, generation;
        struct place *place;
    } cache[2][PLACE_CACHE];
    struct place *bucket[PLACE_BUCKETS];
    unsigned n;
};
#define PLACE_NO_PAGE UINT64_MAX

void places_init(struct places *p);

/* Count a reference of that CPU, whose level-1 page is `root`. False: there is no memory. */
bool place_count(struct places *p, unsigned cpu, uint64_t root, enum tb_stream stream, uint64_t va);

/* Translations may have changed. */
void place_forget(struct places *p);

/* Write a line of JSON for each place. */
void places_write(const struct places *p, unsigned cpu, FILE *f);

#endif
