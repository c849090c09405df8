/*
 * Inter-processor requests.
 *
 * Each CPU has a word of pending reasons. The sender sets the reason's bit (release) and then sends
 * the interrupt; the receiver takes the whole word (acquire) and runs the handlers. A bit that is
 * set again before it was taken counts as one request: handlers look at shared state, not at
 * counts. If ipi_poll() in a wait loop has taken the word before the interrupt arrives, the
 * interrupt finds nothing to do and returns.
 *
 * ipi_call() uses the same word: each CPU has one call of its own, and a mask of the CPUs whose
 * call it is to answer. Callers are at IPL_ASTDEL and wait with inter-processor interrupts enabled,
 * so that two CPUs that call each other answer each other.
 *
 * No spinlock is taken and nothing is allocated. A CPU that does not answer for too long
 * (patience.h) causes a panic.
 */
#include "kernel/sched/ipi.h"

#include "kernel/base/bitops.h"
#include "kernel/base/panic.h"
#include "kernel/sched/patience.h"
#include "kernel/sched/sched_private.h"

struct ipi_cpu {
    uint64_t pending; /* atomic: a bit for each reason */
    uint64_t callers; /* atomic: CPUs whose ipi_call() this one is to answer */
    /* This CPU's own call; written by it while `waiting` is 0. */
    void (*fn)(void *);
    void *arg;
    cpumask_t waiting; /* atomic: CPUs that have not answered */
} __attribute__((aligned(128)));

cpumask_t cpu_online_mask;

static struct ipi_cpu ipi_cpus[MAX_CPUS];
static void (*handlers[IPI_REASONS])(void); /* constant after boot */

void ipi_register(enum ipi_reason r, void (*fn)(void)) { handlers[r] = fn; }

void ipi_send(cpumask_t mask, enum ipi_reason r)
{
    mask &= __atomic_load_n(&cpu_online_mask, __ATOMIC_RELAXED) & ~(1ul << cpu_id());
    for (; mask; mask &= mask - 1) {
        unsigned i = bit_lowest(mask);

        __atomic_fetch_or(&ipi_cpus[i].pending, 1ul << r, __ATOMIC_ACQ_REL);
        __atomic_thread_fence(__ATOMIC_SEQ_CST); /* the bit is visible before the interrupt */
        pal_wripir(cpus[i].whami);
    }
}

void ipi_poll(void)
{
    ipl_t ipl = ipl_raise(IPL_IPI);
    unsigned self = cpu_id();
    uint64_t reasons;

    if (__atomic_load_n(&ipi_cpus[self].pending, __ATOMIC_RELAXED) != 0) {
        reasons = __atomic_exchange_n(&ipi_cpus[self].pending, 0, __ATOMIC_ACQ_REL);
        count_up(&runqs[self].ipis);
        for (; reasons; reasons &= reasons - 1) {
            void (*fn)(void) = handlers[bit_lowest(reasons)];

            if (fn)
                fn();
        }
    }
    ipl_set(ipl);
}

static void answer_calls(void)
{
    unsigned self = cpu_id();
    uint64_t from = __atomic_exchange_n(&ipi_cpus[self].callers, 0, __ATOMIC_ACQ_REL);

    for (; from; from &= from - 1) {
        struct ipi_cpu *c = &ipi_cpus[bit_lowest(from)];

        c->fn(c->arg);
        /* From here on the request belongs to the caller again. */
        __atomic_fetch_and(&c->waiting, ~(1ul << self), __ATOMIC_ACQ_REL);
    }
}

void ipi_call(cpumask_t mask, void (*fn)(void *), void *arg)
{
    ipl_t ipl = ipl_raise(IPL_ASTDEL), old;
    unsigned self = cpu_id();
    struct ipi_cpu *c = &ipi_cpus[self];
    cpumask_t others = mask & __atomic_load_n(&cpu_online_mask, __ATOMIC_ACQUIRE) & ~(1ul << self);
    struct patience patience = {0};

    KASSERT(ipl < IPL_IPI, "a caller of other CPUs answers them");
    c->fn = fn;
    c->arg = arg;
    __atomic_store_n(&c->waiting, others, __ATOMIC_RELEASE);
    for (cpumask_t m = others; m; m &= m - 1)
        __atomic_fetch_or(&ipi_cpus[bit_lowest(m)].callers, 1ul << self, __ATOMIC_ACQ_REL);
    ipi_send(others, IPI_CALL);
    if ((mask >> self) & 1) {
        old = ipl_raise(IPL_IPI);
        fn(arg);
        ipl_set(old);
    }
    while (__atomic_load_n(&c->waiting, __ATOMIC_ACQUIRE) != 0) {
        if (patience_lost(&patience) && !panic_in_progress())
            panic("CPUs %#lx do not answer a call of CPU %u", c->waiting, self);
    }
    ipl_restore(ipl);
}

void ipi_boot(void) { ipi_register(IPI_CALL, answer_calls); }
