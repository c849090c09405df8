/* Memory of hashed page tables, and what a model counts (vhpt.h). */
#include "mm/pt/vhpt.h"

#include "kernel/base/bitops.h"
#include "kernel/base/panic.h"
#include "kernel/base/printk.h"
#include "kernel/sched/rad.h"
#include "mm/phys/page.h"
#include "sysman/params.h"

#define KIB_LEAST 32
#define PAGE_KIB  (PAGE_SIZE / 1024)

_Static_assert(sizeof(struct vhpt_counts) == 64, "the plugin finds the next CPU's");

struct vhpt_counts vhpt_counts[MAX_CPUS] __attribute__((aligned(64))); /* the model writes */

static pfn_t table[MAX_CPUS]; /* constant after boot; 0: none */
static uint64_t kib;          /* constant after boot */

static void give_back(unsigned ntables)
{
    while (ntables--) {
        page_free_contig(table[ntables], kib / PAGE_KIB);
        table[ntables] = pfn_of(0);
    }
    kib = 0;
}

void vhpt_boot(void)
{
    uint64_t size = (uint64_t)sysparam(SYSPARAM_VHPT_SIZE);

    if (size == 0)
        return;
    for (kib = KIB_LEAST; kib < size;)
        kib *= 2;
    for (unsigned i = 0; i < cpu_count; i++)
        if (page_alloc_contig(kib / PAGE_KIB, kib / PAGE_KIB, PA_KERNEL, PAGE_T_SYSTEM,
                              rad_of_cpu(i), &table[i]) != 0) {
            printk("VHPT_SIZE: there is no memory for %lu KB for each CPU\n", kib);
            give_back(i);
            return;
        }
}

uint64_t vhpt_kib(void) { return kib; }
uint64_t vhpt_pages(void) { return kib / PAGE_KIB * cpu_count; }

paddr_t vhpt_table(unsigned cpu) { return pfn_to_paddr(table[cpu]); }

struct vhpt_counts vhpt_counted(unsigned cpu)
{
    const struct vhpt_counts *c = &vhpt_counts[cpu];

    return (struct vhpt_counts){
        .data_misses = __atomic_load_n(&c->data_misses, __ATOMIC_RELAXED),
        .fetch_misses = __atomic_load_n(&c->fetch_misses, __ATOMIC_RELAXED),
        .walks = __atomic_load_n(&c->walks, __ATOMIC_RELAXED),
        .data_hits = __atomic_load_n(&c->data_hits, __ATOMIC_RELAXED),
        .fetch_hits = __atomic_load_n(&c->fetch_hits, __ATOMIC_RELAXED),
        .replaced = __atomic_load_n(&c->replaced, __ATOMIC_RELAXED),
    };
}
