/*
 * A hashed page table in memory, one for each CPU, as Itanium systems have it (VHPT): at a miss of
 * a translation buffer a walker looks at the one entry that the page hashes to, and only if that is
 * of another page PALcode reads the page tables, and replaces the entry.
 *
 * An entry maps one page. Its tag is the page and the address space: the number and how often
 * numbers were begun anew, so that a flush of the buffers costs nothing here, and what it leaves is
 * never found again. Pages of the upper half of the address space, which the kernel gives ASM,
 * hash without the number; of the lower half nothing is shared. A block (granularity hint) is not
 * kept: one invalidation would have to look for up to 512 entries.
 *
 * Two variants:
 *
 * - Short entries of 8 bytes: four times as many. They have no room for how often numbers were
 *   begun anew, so that a flush has to clear them.
 * - Chains: half of the memory are links. What a collision replaces goes to a link of its entry's
 *   chain, of which the walker knows nothing: PALcode looks there before it reads the page tables.
 *   What it finds changes places with the entry. Links are used in turn: the next one leaves the
 *   chain that it is in, whatever it holds.
 */
#ifndef MEGALITH_TB_VHPT_H
#define MEGALITH_TB_VHPT_H

#include "model.h"

#define VHPT_ENTRY_BYTES 32u
#define VHPT_SHORT_BYTES 8u
#define VHPT_KIB_MAX     (1u << 18) /* 256 MiB */

struct vhpt_entry {
    uint64_t tag; /* 63:32 address space, 31:0 page and whether it is of one only; 0: invalid */
    struct tb_pte pte;
};

/* A link; entries and links are known by their number, entries first. */
struct vhpt_link {
    uint32_t next,
        previous; /* VHPT_NONE: the last; `previous` of the first is the entry's number */
};
#define VHPT_NONE UINT32_MAX

/* Why the walker did not find a page: what is in its entry. */
enum vhpt_instead {
    VHPT_NOTHING, /* no page yet, or one that was invalidated */
    VHPT_VOID,    /* what was there before numbers were begun anew */
    VHPT_OWN,     /* another page of the same address space */
    VHPT_OTHER,   /* a page of another one */
    VHPT_SYSTEM,  /* a page of all */
    VHPT_REASONS
};

struct tb_vhpt {
    struct vhpt_entry *entry; /* of this program's memory: entries, then links */
    struct vhpt_link *link;   /* NULL: no chains. One for each of `entry` */
    uint64_t mask;            /* entries - 1; they are a power of two */
    uint32_t next_link;       /* the number of the next to be used */
    uint8_t start_shift;      /* 64 - the logarithm of the number of entries */
    bool is_short;
    uint32_t of_processes, of_all; /* flushes so far, from 1 on */
    uint64_t walks, hits, replaced;
    uint64_t looked, chained;       /* links that were looked at; how often one had the page */
    uint64_t cleared;               /* entries, by flushes */
    uint64_t instead[VHPT_REASONS]; /* walks - hits, by what was in the entry */
};

/* What a table is: `kib` KiB, a power of two from 32 to VHPT_KIB_MAX, and the variants. */
struct vhpt_kind {
    unsigned kib;
    bool is_short, has_chains;
};

/* Read "KIB", followed by s for short entries and c for chains. False: that is none; 0 is one. */
bool vhpt_parse(const char *text, struct vhpt_kind *kind);

/* An empty table. False: there is no memory for it. The caller frees `entry` and `link`. */
bool vhpt_init(struct tb_vhpt *v, struct vhpt_kind kind);

/* The walker: the entry of that page for this address space number. False: it has another page. */
bool vhpt_find(struct tb_vhpt *v, uint64_t page, uint64_t asn, struct tb_pte *pte);

/* PALcode, after the walker: the chain of that entry. False: the page is not there. */
bool vhpt_find_link(struct tb_vhpt *v, uint64_t page, uint64_t asn, struct tb_pte *pte);

/* Write a valid PTE without a hint in place of what its entry holds. */
void vhpt_put(struct tb_vhpt *v, uint64_t page, uint64_t asn, struct tb_pte pte);

/* Invalidations, as of the buffers: one page, all without ASM, all. */
void vhpt_drop_page(struct tb_vhpt *v, uint64_t page, uint64_t asn);
void vhpt_drop_process(struct tb_vhpt *v);
void vhpt_drop_all(struct tb_vhpt *v);

#endif
