/*
 * How a seed selects an order of events (perturb.h).
 *
 * QEMU gives a CPU in its turn the instructions that are left until the next timer of any device:
 * all of them (7.2), or an equal share for each CPU (later ones). Without alarms that is a clock
 * tick, about 980,000 instructions at shift 0, or a part of it, and the turns begin at the same
 * points whatever happens. An alarm of any CPU is such a timer. Delays are drawn between 512 and
 * 131,071 instructions, with each power of two equally likely, so that turns of some hundred
 * instructions, in which most races lie, are as common as long ones. Serving an alarm takes about
 * 400 instructions, so at worst, when four CPUs draw the shortest delay at once, a quarter of the
 * time is spent on alarms.
 *
 * Some of the alarms (none, one in 16, one in 4, or all, depending on the seed) preempt the
 * interrupted thread in favour of another; the others change only the turns.
 *
 * The digest of a CPU is computed from each of its clock interrupts: time, interrupted PC, thread.
 * Time advances by one unit for each instruction of any CPU, so two runs that differ in the order
 * of any two instructions before an interrupt differ in the digest, except for a collision of 64
 * bits.
 *
 * Setting an alarm ends all turns, and without that QEMU 7.2 may give every turn to the same CPU:
 * when a turn has used up the time until a clock tick, the next CPU's is empty, and it is the first
 * one's again. A CPU that waits for another with the clock blocked sets no alarm. So it waits for
 * an interrupt, which ends its turn, as soon as one is pending for certain, so that it does not
 * sleep.
 *
 * Everything belongs to one CPU and is changed at IPL_CLOCK; the totals are read atomically.
 */
#include "kernel/sched/perturb.h"

#include "kernel/base/printk.h"
#include "kernel/sched/sched_private.h"
#include "kernel/sched/timer.h"

#define DELAY_SHIFT_MIN 9u  /* 512 instructions */
#define DELAY_SHIFTS    8u  /* up to 2^17 - 1 */
#define SHIFT_MAX       10u /* QEMU's limit */

struct perturb_cpu {
    struct timer timer;
    uint64_t random, digest;      /* own CPU, IPL_CLOCK */
    uint64_t points, preemptions; /* atomic: written by own CPU */
} __attribute__((aligned(128)));

uint32_t perturb_enabled;
static struct perturb_cpu perturb_cpus[MAX_CPUS];
static uint64_t seed;         /* constant after boot */
static unsigned time_shift;   /* likewise */
static uint64_t preempt_mask; /* likewise: an alarm preempts if its random number has none of
                                 these bits */
static const uint64_t preempt_masks[] = {UINT64_MAX, 15, 3, 0};

/* The next random number of a stream: a counter, mixed as in SplitMix64. */
static uint64_t draw(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15ul;

    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ul;
    z = (z ^ z >> 27) * 0x94D049BB133111EBul;
    return z ^ z >> 31;
}

static void fold(uint64_t *digest, uint64_t v) { *digest = (*digest ^ v) * 0x100000001B3ul; }

static void arm(struct perturb_cpu *pc)
{
    uint64_t r = draw(&pc->random), size = 1ul << (DELAY_SHIFT_MIN + r % DELAY_SHIFTS);

    timer_start(&pc->timer, clock_ns() + ((size + (r >> 32 & (size - 1))) << time_shift));
}

static void point(struct timer *t)
{
    struct perturb_cpu *pc = t->arg;
    struct runq *rq = runq_self();
    struct thread *self = thread_self();

    __atomic_store_n(&pc->points, pc->points + 1, __ATOMIC_RELAXED);
    if ((draw(&pc->random) & preempt_mask) == 0 && self != rq->idle && runq_has(rq, self->prio)) {
        __atomic_store_n(&pc->preemptions, pc->preemptions + 1, __ATOMIC_RELAXED);
        rq->pass = true;
        spin_lock_at_ipl(&rq->lock);
        runq_kick(rq);
        spin_unlock_at_ipl(&rq->lock);
    }
    arm(pc);
}

void perturb_boot(uint64_t number, uint64_t shift)
{
    uint64_t state = number;

    seed = number;
    time_shift = (unsigned)MIN(shift, SHIFT_MAX);
    preempt_mask = preempt_masks[draw(&state) % ARRAY_SIZE(preempt_masks)];
    for (unsigned i = 0; i < MAX_CPUS; i++) {
        perturb_cpus[i].random = draw(&state);
        perturb_cpus[i].timer.fn = point;
        perturb_cpus[i].timer.arg = &perturb_cpus[i];
    }
    perturb_enabled = 1;
    perturb_cpu_start();
}

void perturb_cpu_start(void)
{
    if (perturb_on())
        arm(&perturb_cpus[cpu_id()]);
}

void perturb_wait(void)
{
    if (ipl_get() >= IPL_CLOCK && clock_ns() > runq_self()->next_tick_ns + CLOCK_TICK_NS)
        pal_wtint(0);
}

void perturb_clock(const struct trapframe *f)
{
    struct perturb_cpu *pc = &perturb_cpus[cpu_id()];
    uint64_t digest = pc->digest;

    fold(&digest, clock_ns());
    fold(&digest, f->pc);
    fold(&digest, thread_self()->tid);
    __atomic_store_n(&pc->digest, digest, __ATOMIC_RELAXED);
}

uint64_t perturb_points(void)
{
    uint64_t points = 0;

    for (unsigned i = 0; i < cpu_count; i++)
        points += __atomic_load_n(&perturb_cpus[i].points, __ATOMIC_RELAXED);
    return points;
}

void perturb_report(void)
{
    uint64_t points = perturb_points(), preemptions = 0, digest = 0;

    for (unsigned i = 0; i < cpu_count; i++) {
        preemptions += __atomic_load_n(&perturb_cpus[i].preemptions, __ATOMIC_RELAXED);
        fold(&digest, __atomic_load_n(&perturb_cpus[i].digest, __ATOMIC_RELAXED));
    }
    printk("schedule %lu: %lu points, %lu preemptions, %lu ns, digest %016lx\n", seed, points,
           preemptions, clock_ns(), digest);
}
