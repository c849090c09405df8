/*
 * Translation-buffer shootdown.
 *
 * A gather collects the addresses whose PTEs were changed and the pages that are to be freed. The
 * flush invalidates the addresses on this CPU, requests the same of every other CPU that can hold
 * such a translation, waits for the answers, and only then frees the pages: no page reaches a new
 * owner while any CPU can still access it through an old translation.
 *
 * Which CPUs can hold a translation? For system space, every online CPU. For an address space, only
 * those in its `loaded` mask: the context switch sets the CPU's bit before it loads the root, and
 * clears it after it has loaded the next root. The address space number is always 0, so the switch
 * to another root also invalidates all translations of processes (TBI in context_switch); on this
 * emulator SWPCTX has dropped them already. Both sides are ordered by a barrier:
 *
 *     flushing CPU          switching CPU
 *     store PTE             set own bit in the mask
 *     MB                    MB
 *     read the mask         load the root; later walks read the PTE
 *
 * Either the flush sees the bit, and sends a request; or the bit was set after the mask was read,
 * and then the walks of that CPU see the new PTE. When a CPU leaves the address space, its bit is
 * cleared after its translations are gone. A CPU without the bit is not interrupted (and is counted
 * as skipped).
 *
 * Requests. Each CPU has one slot for its own request, which points to the gather on its stack, and
 * one inbox word with a bit for each requesting CPU. There is no lock: the requester is at
 * IPL_ASTDEL or above, so it is not preempted, and its slot has one user; no interrupt handler
 * flushes. While it waits, it answers the requests of others (IPIs are delivered below IPL_IPI, and
 * it polls in addition), so two CPUs that send each other a request both get their answer.
 * tests/models/shootdown.pml is a model of the protocol.
 */
#include "mm/pt/shootdown.h"

#include "arch/alpha/hw/layout.h"
#include "arch/alpha/hw/pte.h"
#include "arch/alpha/hw/tb.h"
#include "arch/alpha/hw/tb_model.h"
#include "kernel/base/bitops.h"
#include "kernel/base/panic.h"
#include "kernel/sched/ipi.h"
#include "kernel/sched/ipl.h"
#include "kernel/sched/timer.h"
#include "mm/phys/page.h"
#include "mm/pt/page_table.h"

/* After this time without an answer: panic. An answer takes microseconds of the target's own time,
   but under an emulator its virtual CPU may wait for a host core. */
#define ANSWER_LIMIT_NS UINT64_C(10000000000)
#define POLLS_PER_CLOCK 4096

static struct {
    const struct tb_gather *gather; /* written by the requester before waiting is set */
    cpumask_t waiting;              /* CPUs that have not answered yet; atomic */
} __attribute__((aligned(64))) asker[MAX_CPUS];

static struct {
    uint64_t from; /* bit n: CPU n requests an invalidation; atomic */
} __attribute__((aligned(64))) inbox[MAX_CPUS];

static struct tb_stats stats; /* atomics, relaxed */

static void count(uint64_t *counter, uint64_t n)
{
    __atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
}

void tb_gather_begin(struct tb_gather *g, cpumask_t *mask, enum tb_reason reason)
{
    g->mask = mask;
    g->nvas = 0;
    g->npages = 0;
    g->ntables = 0;
    g->reason = reason;
}

static void invalidate(const struct tb_gather *g)
{
    if (g->nvas > TB_GATHER_VAS) {
        tb_invalidate_all();
        return;
    }
    for (uint32_t i = 0; i < g->nvas; i++)
        tb_invalidate_single(g->vas[i]);
}

/* Answer the requests of other CPUs. Handler of IPI_SHOOTDOWN, at IPL_IPI. */
static void answer(void)
{
    unsigned self = cpu_id();
    uint64_t from = __atomic_exchange_n(&inbox[self].from, 0, __ATOMIC_ACQ_REL);

    while (from) {
        unsigned n = bit_lowest(from);

        from &= from - 1;
        invalidate(__atomic_load_n(&asker[n].gather, __ATOMIC_ACQUIRE));
        /* After this the requester may reuse the gather. */
        __atomic_fetch_and(&asker[n].waiting, ~(UINT64_C(1) << self), __ATOMIC_ACQ_REL);
    }
}

/* Request the invalidation of the CPUs in others, and wait for their answers. IPL_ASTDEL or above,
   below IPL_IPI. */
static void ask(unsigned self, cpumask_t others, const struct tb_gather *g)
{
    uint64_t polls = 0, start = 0;

    __atomic_store_n(&asker[self].gather, g, __ATOMIC_RELEASE);
    __atomic_store_n(&asker[self].waiting, others, __ATOMIC_RELEASE);
    for (cpumask_t m = others; m; m &= m - 1)
        __atomic_fetch_or(&inbox[bit_lowest(m)].from, UINT64_C(1) << self, __ATOMIC_ACQ_REL);
    ipi_send(others, IPI_SHOOTDOWN);
    while (__atomic_load_n(&asker[self].waiting, __ATOMIC_ACQUIRE) != 0) {
        ipi_poll();
        if (++polls % POLLS_PER_CLOCK != 0)
            continue;
        if (start == 0)
            start = clock_ns();
        else if (clock_ns() - start > ANSWER_LIMIT_NS)
            panic("shootdown: CPUs 0x%lx do not answer CPU %u", (unsigned long)asker[self].waiting,
                  self);
    }
}

/* A model of translation buffers gives numbers to address spaces, under which a CPU keeps
 * translations when it loads another root. Invalidation reaches those that are loaded now; so the
 * address space gets a new number on each CPU but this one, if this one has it loaded and will
 * invalidate by itself. That happens before the fence which precedes the read of the mask: a CPU
 * that the read does not find sets its bit, executes MB and then sees that it needs a number. */
static void renumber(cpumask_t *mask, cpumask_t self)
{
    struct page_table *pt = container_of(mask, struct page_table, loaded);

    tb_model_renumber(pt->root.n, __atomic_load_n(mask, __ATOMIC_RELAXED) & self);
}

/* Invalidate the gathered addresses on every CPU that can hold a translation of them. */
static void flush_translations(struct tb_gather *g)
{
    ipl_t ipl = ipl_raise(IPL_ASTDEL);
    unsigned self = cpu_id();
    cpumask_t bit = UINT64_C(1) << self;
    cpumask_t online = __atomic_load_n(&cpu_online_mask, __ATOMIC_RELAXED);
    cpumask_t can_hold = online | bit;

    if (unlikely(tb_model_listens) && g->mask)
        renumber(g->mask, bit);
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* the PTE stores precede the read of the mask */
    /* Acquire: when a CPU's bit is clear, its accesses through old translations are over. */
    if (g->mask)
        can_hold = __atomic_load_n(g->mask, __ATOMIC_ACQUIRE);
    if (can_hold & bit)
        invalidate(g);
    if ((can_hold & online & ~bit) != 0) {
        ask(self, can_hold & online & ~bit, g);
        count(&stats.ipis, bit_count(can_hold & online & ~bit));
    }
    if ((online & ~can_hold & ~bit) != 0)
        count(&stats.skipped, bit_count(online & ~can_hold & ~bit));
    count(&stats.flushes[g->reason], 1);
    if (g->nvas > TB_GATHER_VAS)
        count(&stats.full, 1);
    ipl_restore(ipl);
}

void tb_gather_invalidate(struct tb_gather *g)
{
    if (g->nvas)
        flush_translations(g);
    g->nvas = 0;
}

void tb_gather_flush(struct tb_gather *g)
{
    tb_gather_invalidate(g);
    if (g->npages)
        page_free_bulk(g->pages, g->npages);
    g->npages = 0;
    if (g->ntables)
        page_free_zeroed_bulk(g->tables, g->ntables);
    g->ntables = 0;
}

void tb_gather_table(struct tb_gather *g, vaddr_t va, unsigned level)
{
    /* Page-table space contains the PTEs of the whole address space in order: the offset of the
       level-3 PTE of va is its page number times 8, that of the level-2 PTE is the page number of
       the level-3 PTE's address times 8. */
    vaddr_t mask = LAYOUT_L1_SPAN * PTES_PER_PAGE - 1;
    vaddr_t l3_pte = LAYOUT_PT_SPACE_BASE + (((va & mask) >> PAGE_SHIFT) << 3);
    vaddr_t l2_pte = LAYOUT_PT_SPACE_BASE + (((l3_pte & mask) >> PAGE_SHIFT) << 3);

    if (level == 2) {
        tb_gather_va(g, l3_pte & ~PAGE_MASK);
    } else { /* the level-2 page and the 1,024 level-3 pages that it maps: everything */
        tb_gather_va(g, l2_pte & ~PAGE_MASK);
        g->nvas = TB_GATHER_VAS + 1;
    }
}

static inline void flush_page(cpumask_t *mask, vaddr_t va, enum tb_reason reason)
{
    struct tb_gather g;
    cpumask_t bit = UINT64_C(1) << cpu_id(), can_hold;

    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* as in flush_translations */
    can_hold = __atomic_load_n(mask, __ATOMIC_ACQUIRE);
    if (likely((can_hold & ~bit) == 0)) {
        cpumask_t others = __atomic_load_n(&cpu_online_mask, __ATOMIC_RELAXED) & ~bit;

        if (can_hold)
            tb_invalidate_single(va);
        if (others)
            count(&stats.skipped, bit_count(others));
        count(&stats.flushes[reason], 1);
        return;
    }
    tb_gather_begin(&g, mask, reason);
    tb_gather_va(&g, va);
    flush_translations(&g);
}

/* With a model, apart: the call of renumber() would cost the usual case nine instructions. */
static __attribute__((noinline, cold)) void flush_page_listened(cpumask_t *mask, vaddr_t va,
                                                                enum tb_reason reason)
{
    renumber(mask, UINT64_C(1) << cpu_id());
    flush_page(mask, va, reason);
}

void tb_flush_page(cpumask_t *mask, vaddr_t va, enum tb_reason reason)
{
    if (unlikely(tb_model_listens))
        flush_page_listened(mask, va, reason);
    else
        flush_page(mask, va, reason);
}

void tb_stats(struct tb_stats *s)
{
    for (unsigned i = 0; i < TB_REASONS; i++)
        s->flushes[i] = __atomic_load_n(&stats.flushes[i], __ATOMIC_RELAXED);
    s->ipis = __atomic_load_n(&stats.ipis, __ATOMIC_RELAXED);
    s->skipped = __atomic_load_n(&stats.skipped, __ATOMIC_RELAXED);
    s->full = __atomic_load_n(&stats.full, __ATOMIC_RELAXED);
}

void shootdown_boot(void) { ipi_register(IPI_SHOOTDOWN, answer); }
