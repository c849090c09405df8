/*
 * Detection of data races by sampling, the method of Linux's KCSAN.
 *
 * The compiler inserts a call before every access to memory that may be shared. One in some
 * hundreds of the plain accesses is watched: its CPU stores the address, the length and the
 * direction of the access in its watchpoint word, waits some microseconds, and checks whether the
 * value has changed. Each access on any CPU, also a marked one, is compared with the words of all
 * CPUs. If it overlaps a watched access, and one of the two is a write, then both happen at the
 * same time and nothing orders them. That is a data race, observed and not inferred: there are no
 * false reports, and accesses that never coincide are not found.
 *
 * Marked accesses (__atomic_*, volatile) are never watched, so two of them are never reported as a
 * race; a plain and a marked one are. If a value has changed and no access was observed, it was
 * changed by an access whose hook ran just before the watch began, or by code without hooks: by
 * assembly or a device.
 *
 * The states of a word:
 *
 *     0 (free) -> ARMED    by its CPU, which starts a watch
 *     ARMED -> 0           by its CPU: the watch ended, no access was observed
 *     ARMED -> TAKEN       by the CPU whose access overlaps the watched one
 *     TAKEN -> TOLD        by the same CPU, when it has stored its part of the report in met[]
 *     TOLD -> 0            by the watching CPU, which makes the report
 *
 * A thread that moves to another CPU while it watches keeps its word; until it ends the watch,
 * other threads on the old CPU cannot watch. The whole description of an access is in the word, so
 * a compare-and-swap that succeeds has compared all of it. It does not matter if meanwhile the same
 * word was freed and armed again (A-B-A): the race is then with the new access.
 *
 * A report is printed later, by a CPU below the highest IPL, because the watched access may be one
 * of printk.
 */
#include "kernel/races/races.h"

#include "arch/alpha/hw/clock.h"
#include "arch/alpha/hw/cpu.h"
#include "arch/alpha/hw/layout.h"
#include "arch/alpha/hw/pal.h"
#include "kernel/base/printk.h"

#define SAMPLE_EVERY 800u  /* plain accesses of a CPU between watches, on average */
#define WATCH_CYCLES 5000u /* 20 us of virtual time: some thousand instructions of another CPU */
#define IPL_HIGHEST  7u
#define REPORTS      64u /* pairs of places that are reported in a boot */

#define ADDRESS_MASK ((1UL << 48) - 1)
#define NBYTES_SHIFT 48
#define NBYTES_MAX   4095u /* of a longer access only the beginning is watched */
#define WRITE_BIT    (1UL << 60)
#define ARMED        (1UL << 61)
#define TAKEN        (1UL << 62)
#define TOLD         (1UL << 63)

struct side {
    const void *pc;
    uint32_t cpu, nbytes, kind;
};

static uint64_t words[MAX_CPUS];  /* atomic; states above */
static struct side met[MAX_CPUS]; /* the access that overlaps that of words[i]; valid when TOLD */
static uint32_t left[MAX_CPUS];   /* accesses until the next sample; atomic, relaxed */
static uint32_t random[MAX_CPUS]; /* state of the random numbers; atomic, relaxed */

static struct report {
    struct side a, b;
    uint64_t address, before, after;
    uint32_t state; /* atomic: FREE, FILLING, READY, PRINTED */
} reports[REPORTS];
enum { FREE, FILLING, READY, PRINTED };

static uint32_t unprinted; /* atomic: reports that are READY */

static bool overlaps(uint64_t word, uint64_t address, size_t nbytes)
{
    uint64_t start = word & ADDRESS_MASK, end = start + (word >> NBYTES_SHIFT & NBYTES_MAX);

    address &= ADDRESS_MASK;
    return address < end && start < address + nbytes;
}

/* The value at address, or 0 if nbytes is no size of an aligned integer. The hook's caller is about
   to access the same memory, so the read cannot fault otherwise than that access. */
static uint64_t value_at(uint64_t address, size_t nbytes)
{
    if (address & (nbytes - 1))
        return 0;
    switch (nbytes) { /* marked accesses, because other CPUs may write at the same time */
    case 1:
        return __atomic_load_n((uint8_t *)address, __ATOMIC_RELAXED);
    case 2:
        return __atomic_load_n((uint16_t *)address, __ATOMIC_RELAXED);
    case 4:
        return __atomic_load_n((uint32_t *)address, __ATOMIC_RELAXED);
    case 8:
        return __atomic_load_n((uint64_t *)address, __ATOMIC_RELAXED);
    }
    return 0;
}

/* Was this pair of places reported before, whichever of the two was watched then? */
static bool is_known(const struct side *a, const struct side *b)
{
    for (unsigned i = 0; i < REPORTS; i++) {
        const struct report *r = &reports[i];

        if (__atomic_load_n(&r->state, __ATOMIC_ACQUIRE) >= READY &&
            ((r->a.pc == a->pc && r->b.pc == b->pc) || (r->a.pc == b->pc && r->b.pc == a->pc)))
            return true;
    }
    return false;
}

static void note(const struct side *a, const struct side *b, uint64_t address, uint64_t before,
                 uint64_t after)
{
    if (is_known(a, b))
        return;
    for (unsigned i = 0; i < REPORTS; i++) {
        struct report *r = &reports[i];
        uint32_t state = FREE;

        if (!__atomic_compare_exchange_n(&r->state, &state, FILLING, false, __ATOMIC_ACQUIRE,
                                         __ATOMIC_RELAXED))
            continue;
        r->a = *a;
        r->b = *b;
        r->address = address;
        r->before = before;
        r->after = after;
        __atomic_store_n(&r->state, READY, __ATOMIC_RELEASE);
        __atomic_fetch_add(&unprinted, 1, __ATOMIC_RELAXED);
        return;
    }
}

static const char *verb(uint32_t kind)
{
    static const char *const verbs[] = {"read", "write", "atomic read", "atomic write"};

    return verbs[kind & (RACES_WRITE | RACES_ATOMIC)];
}

/* Two arguments of printk for the place of an access: the address of the call of the hook. */
#define CALL(pc) (uint64_t)(pc) - 4, (const char *)(pc) - 4

static void print_reports(void)
{
    for (unsigned i = 0; i < REPORTS; i++) {
        struct report *r = &reports[i];
        uint32_t state = READY;

        if (!__atomic_compare_exchange_n(&r->state, &state, PRINTED, false, __ATOMIC_ACQUIRE,
                                         __ATOMIC_RELAXED))
            continue;
        __atomic_fetch_sub(&unprinted, 1, __ATOMIC_RELAXED);
        if (r->b.pc)
            printk("data race: %s of %u at %#lx by CPU %u, pc %#lx %pS; with %s of %u by CPU %u, "
                   "pc %#lx %pS; %#lx -> %#lx\n",
                   verb(r->a.kind), r->a.nbytes, r->address, r->a.cpu, CALL(r->a.pc),
                   verb(r->b.kind), r->b.nbytes, r->b.cpu, CALL(r->b.pc), r->before, r->after);
        else
            printk("data race: %s of %u at %#lx by CPU %u, pc %#lx %pS; with what was not seen; "
                   "%#lx -> %#lx\n",
                   verb(r->a.kind), r->a.nbytes, r->address, r->a.cpu, CALL(r->a.pc), r->before,
                   r->after);
    }
}

/* An access overlaps the watched one of CPU i's word: leave its description in met[i]. */
static void meet(unsigned i, uint64_t word, const struct side *who)
{
    uint64_t ipl = pal_swpipl(IPL_HIGHEST);

    if (__atomic_compare_exchange_n(&words[i], &word, TAKEN, false, __ATOMIC_ACQUIRE,
                                    __ATOMIC_RELAXED)) {
        met[i] = *who;
        __atomic_store_n(&words[i], TOLD, __ATOMIC_RELEASE);
    }
    pal_swpipl(ipl);
}

static void watch(uint64_t address, const struct side *who)
{
    unsigned slot = who->cpu;
    uint64_t word = (address & ADDRESS_MASK) | ARMED |
                    (uint64_t)MIN(who->nbytes, NBYTES_MAX) << NBYTES_SHIFT;
    uint64_t expected = 0, before, after;
    struct side other = {0};
    uint32_t start;

    if (who->kind & RACES_WRITE)
        word |= WRITE_BIT;
    if (!__atomic_compare_exchange_n(&words[slot], &expected, word, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED))
        return;
    before = value_at(address, who->nbytes);
    for (start = clock_cycles(); clock_cycles() - start < WATCH_CYCLES;)
        ;
    after = value_at(address, who->nbytes);
    expected = word;
    if (!__atomic_compare_exchange_n(&words[slot], &expected, 0, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED)) {
        while (__atomic_load_n(&words[slot], __ATOMIC_ACQUIRE) != TOLD)
            ;
        other = met[slot];
        __atomic_store_n(&words[slot], 0, __ATOMIC_RELEASE);
    } else if (before == after || cpu_id() != slot) {
        /* The value has not changed, or the thread has moved to another CPU: then the context
           switch, which has no hooks, has changed the thread's own thread_hw.cpu. Code that reads
           it at IPL 0 allows for that, so no race is reported. */
        return;
    }
    note(who, &other, address, before, after);
}

/* Is this access to be watched? The next one is watched after 1 to 2 * SAMPLE_EVERY - 1 accesses, a
   random number from a linear congruential generator. */
static bool is_sample(unsigned cpu)
{
    uint32_t n = __atomic_load_n(&left[cpu], __ATOMIC_RELAXED), r;

    __atomic_store_n(&left[cpu], n - 1, __ATOMIC_RELAXED);
    if (n > 1)
        return false;
    r = __atomic_load_n(&random[cpu], __ATOMIC_RELAXED) * 1664525u + 1013904223u + cpu;
    __atomic_store_n(&random[cpu], r, __ATOMIC_RELAXED);
    __atomic_store_n(&left[cpu], 1 + (r >> 8) % (2 * SAMPLE_EVERY - 1), __ATOMIC_RELAXED);
    return true;
}

void races_access(uint64_t address, size_t nbytes, unsigned kind, const void *pc)
{
    if (__atomic_load_n(&cpu_count, __ATOMIC_RELAXED) < 2 || address < LAYOUT_USER_TOP)
        return;

    struct side who = {pc, cpu_id(), (uint32_t)nbytes, kind};

    for (unsigned i = 0; i < MAX_CPUS; i++) {
        uint64_t word = __atomic_load_n(&words[i], __ATOMIC_RELAXED);

        if (unlikely(word & ARMED) && ((kind & RACES_WRITE) || (word & WRITE_BIT)) &&
            overlaps(word, address, nbytes))
            meet(i, word, &who);
    }
    if ((kind & RACES_ATOMIC) || !is_sample(who.cpu))
        return;
    watch(address, &who);
    if (__atomic_load_n(&unprinted, __ATOMIC_RELAXED) && pal_rdps() % 8 < IPL_HIGHEST)
        print_reports();
}
