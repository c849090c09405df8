/*
 * A model of the translation buffers of the Alpha chips: which references miss, and what PALcode
 * does about each miss. It has no state but what the caller keeps, and knows neither QEMU nor the
 * kernel, so that the plugin (plugin.c), the command for traces (replay.c) and the unit tests
 * (tests/host/test_tb_model.c) run the same source.
 *
 * One struct tb_model is one CPU with one chip. The caller reports what the CPU does in program
 * order; the model asks for page-table entries only when a reference misses, as PALcode does.
 *
 * A miss. OSF/1 PALcode loads the level-3 PTE by its virtual address in page-table space, through
 * the data buffer. If that load misses too, it reads the PTE's own PTE by physical addresses (the
 * level-1 and the level-2 page), fills the data buffer with it, and repeats the load: a double one.
 * So page-table space competes with the program's data for the entries of the data buffer, and a
 * granularity hint in a level-2 PTE makes one of them map several level-3 pages.
 *
 * What each chip has, and where that is published: docs/translation-buffer.md.
 */
#ifndef MEGALITH_TB_MODEL_H
#define MEGALITH_TB_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#define TB_PAGE_SHIFT  13
#define TB_VA_BITS     43
#define TB_ENTRIES_MAX 128
#define TB_GH_MAX      3 /* 1, 8, 64, 512 pages */

/* A page-table entry, as far as a translation buffer keeps it. */
struct tb_pte {
    bool valid;
    bool asm_; /* address space match: for every address space number */
    uint8_t gh;
    uint64_t pfn;
};

/* What the page tables say of an address: its level-3 PTE, and the level-2 PTE, which maps the page
 * that holds the former in page-table space. */
struct tb_walk {
    struct tb_pte page, table;
};

/* Read the page tables that are loaded now. A PTE above an invalid one is reported as invalid. */
typedef struct tb_walk tb_walk_fn(void *context, uint64_t va);

enum tb_replacement {
    TB_ROUND_ROBIN,   /* the pointer moves when an entry is written */
    TB_NOT_LAST_USED, /* it also moves away from an entry that is used */
};

/* Cycles of an event: at least, PTEs in the primary cache, and at most, PTEs in memory. */
struct tb_price {
    uint16_t least, most;
};

struct tb_chip {
    const char *name;
    uint8_t itb_small, itb_large; /* entries; large: only 512-page blocks, 0: all sizes in one */
    uint8_t dtb;
    uint8_t asn_bits; /* of its entries; 0: they keep no number, so that a switch flushes */
    enum tb_replacement replacement;
    struct tb_price fetch, data, second; /* a miss; what a double miss costs on top */
    struct tb_price walker;              /* a look into the hashed page table, if there is one */
};

extern const struct tb_chip tb_chips[];
extern const unsigned tb_nchips;

/* The chip of that name, or NULL. */
const struct tb_chip *tb_chip_named(const char *name);

/* A fully associative buffer. Entry i translates a key, (asn << 32 | page number), if
 * (key & mask[i]) == tag[i]; the tag of an invalid one equals no key. */
struct tb_buffer {
    uint64_t tag[TB_ENTRIES_MAX], mask[TB_ENTRIES_MAX];
    struct tb_pte pte[TB_ENTRIES_MAX];
    uint8_t guess[1024]; /* by page number: the entry that translated it last */
    unsigned n, next;
    enum tb_replacement replacement;
};

enum tb_stream { TB_FETCH, TB_DATA };

/* What a reference did. */
#define TB_HIT      0u
#define TB_MISS     1u
#define TB_DOUBLE   2u  /* with TB_MISS: the load of the PTE missed too */
#define TB_UNMAPPED 4u  /* with TB_MISS: the page tables have no valid PTE; nothing was filled */
#define TB_HASHED   16u /* with TB_MISS: the hashed page table had the page */
#define TB_CHAINED  32u /* with TB_MISS: a chain of the hashed page table had it */

struct tb_counts {
    uint64_t references[2], misses[2], doubles[2], unmapped[2]; /* by enum tb_stream */
    uint64_t overlaps; /* entries dropped because a new one maps their pages too */
    uint64_t switches, roots, singles, process_flushes, flushes;
    uint64_t walked[2];  /* misses that PALcode resolved; the others the hashed page table did */
    uint64_t chained[2]; /* of these, those that a chain of that table had */
    uint64_t stale;      /* entries used that the page tables do not say (tb_check) */
    uint64_t asn_reuse;  /* a number given to another address space without a flush between */
};

struct tb_model {
    const struct tb_chip *chip;
    struct tb_buffer itb, itb_large, dtb;
    uint8_t
        hint;  /* the largest that counts; a larger one is a block of smaller ones. 0: none does */
    bool asns; /* false: every address space has number 0, and a switch flushes */
    uint64_t asn, root;
    struct tb_vhpt *vhpt; /* vhpt.h; NULL: there is none */
    uint64_t owner[256];  /* by number: the root that has it since the last flush; 0: none */
    struct tb_counts counts;
};

/* A CPU of that chip with empty buffers, and without a hashed page table: the caller may set
 * m->vhpt to one that is empty.
 *  hint (0 to TB_GH_MAX), asns: as in struct tb_model. */
void tb_init(struct tb_model *m, const struct tb_chip *chip, unsigned hint, bool asns);

/* A reference to va by an instruction fetch or by a load or store. Returns TB_HIT, or TB_MISS with
 * further bits. The caller leaves out what bypasses the buffers: PALcode and KSEG. */
unsigned tb_reference(struct tb_model *m, enum tb_stream stream, uint64_t va, tb_walk_fn *walk,
                      void *context);

/* SWPCTX: another root (PFN of its level-1 page; the same: a thread of the same process) with its
 * address space number. */
void tb_switch(struct tb_model *m, uint64_t root, uint64_t asn);

/* TBI of one page in both buffers, of all entries without ASM, of all entries. */
void tb_invalidate_page(struct tb_model *m, uint64_t va);
void tb_invalidate_process(struct tb_model *m);
void tb_invalidate_everything(struct tb_model *m);

/* Does the entry that translates va agree with the page tables, or, if there is none, the one that
 * PALcode's load of its PTE is going to use? If not, it is counted as stale: an invalidation is
 * missing. Changes nothing else. */
bool tb_check(struct tb_model *m, enum tb_stream stream, uint64_t va, tb_walk_fn *walk,
              void *context);

/* Cycles of all misses so far, as PALcode costs at least and at most. */
struct tb_cycles {
    uint64_t least, most;
};
struct tb_cycles tb_cost(const struct tb_model *m);

#endif
