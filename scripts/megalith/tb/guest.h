/* What the plugin reads in the guest's memory, without the guest's help: page tables, the owner
 * of a page, who runs; and the counts that it leaves there for the guest. Addresses and offsets are
 * from the kernel's debugging information. */
#ifndef MEGALITH_TB_GUEST_H
#define MEGALITH_TB_GUEST_H

#include "model.h"

#include <string.h>

#define NAME_BYTES 44

/* Set before the machine runs; constant. */
extern struct guest_layout {
    uint64_t ram;            /* bytes of memory */
    uint64_t watch;          /* tb_announced */
    uint64_t image;          /* where the kernel begins; PALcode is below */
    uint64_t cpus, cpu_size; /* struct cpu of each, whose first member is current */
    uint64_t thread_name;    /* offset; 16 bytes */
    uint64_t thread_process, thread_home, process_pid; /* offsets */
    uint64_t rads, rad_size, rad_first, rad_count; /* the array, an entry, offset; the variable */
    uint64_t page_db, page_size;                   /* the variable; an entry */
    uint64_t page_type, page_owner, type_section;  /* offsets; the value */
    uint64_t section_gsd, gsd_name;                /* offsets */
    uint64_t sections, section_link;               /* the list of all; offset */
    uint64_t section_first, section_npages, section_extents; /* offsets */
    uint64_t counts, counts_size;                            /* vhpt_counts; an entry */
} guest;

#define KSEG       UINT64_C(0xFFFFFC0000000000)
#define KSEG_SHIFT 41
static inline bool in_kseg(uint64_t va) { return va >> KSEG_SHIFT == KSEG >> KSEG_SHIFT; }

/* Find the guest's memory in this process. False: it is not there. */
bool guest_find(void);
bool guest_found(void);

/* A quadword at a KSEG address; 0 if that is no memory. */
uint64_t guest_quad(uint64_t va);

/* Store to a KSEG address of the guest's memory. Nothing of the kernel's is written but
 * vhpt_counts. */
void guest_store(uint64_t va, const uint64_t *quads, unsigned n);

/* The PTEs of va under the level-1 page with this PFN. */
struct tb_walk guest_walk(uint64_t root, uint64_t va);

/* Do the PTEs of the block that holds va, by its hint, agree but for consecutive PFNs? */
bool guest_block_agrees(uint64_t root, uint64_t va);

/* Name of the thread that runs on the CPU. */
void guest_program(uint64_t root, unsigned cpu, char name[NAME_BYTES]);

/* The thread that runs on the CPU: its address, the number of its process (0: none), and its home
 * domain. */
struct guest_thread {
    uint64_t at;
    uint32_t pid;
    uint8_t home, said; /* said: as the thread has it; that may be no domain */
    /* Where the CPU's thread, its home and its name are in this program's memory, with the name as
     * it was: they change. NULL: not yet known. */
    const uint64_t *current;
    const uint8_t *wants;
    const char *name;
    char named[16];
};
struct guest_thread guest_thread(uint64_t root, unsigned cpu);

/* Does another thread run now, or has it another home or name? */
static inline bool guest_thread_changed(const struct guest_thread *t)
{
    return !t->current || __atomic_load_n(t->current, __ATOMIC_RELAXED) != t->at || !t->wants ||
           __atomic_load_n(t->wants, __ATOMIC_RELAXED) != t->said || !t->name ||
           memcmp(t->name, t->named, sizeof(t->named)) != 0;
}

/* The domain of the page. */
unsigned guest_rad(uint64_t pfn);

/* Type of the page (enum page_type of the kernel), and, of a section's page, the section's name. */
unsigned guest_page(uint64_t root, uint64_t pfn, char section[NAME_BYTES]);

#endif
