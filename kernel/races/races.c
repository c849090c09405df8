/*
 * Data races, found by sampling, in the manner that Linux's KCSAN made known.
 *
 * The compiler puts a call before every access to memory that may be shared. Of the plain ones,
 * one in some hundreds is watched: its CPU says in a word where it is about to read or write,
 * stays there for some microseconds, and looks whether the value has changed. Each access on any
 * CPU, marked ones too, looks at the words of all: one that overlaps, where one of the two writes,
 * happens at the same time as the watched one with nothing in between that orders them. That is a
 * race, seen and not inferred: there are no false reports, and what never meets is not found.
 *
 * Marked accesses (__atomic_*, volatile) are never watched, so two of them never make a race, and
 * a plain one with a marked one does. A value that changed with no access seen was changed by one
 * whose call came just before the watch began, or by code without calls: assembly, a device.
 *
 * A word goes from free (0) to armed, by its CPU; back to free by it, or to taken, by the CPU that
 * met it, and then to told, when that one has left its part of the report; then to free. A thread
 * that moves to another CPU while it watches keeps its word, and others on the old CPU watch
 * nothing until then. What a word says is whole in it, so to have compared it is to have read it;
 * that the same word was armed anew meanwhile (A-B-A) does not matter: the race is with that one.
 *
 * A report is printed later, by whoever is below the highest IPL: printk may be what was watched.
 */
#include "kernel/races/races.h"

#include "arch/alpha/hw/clock.h"
#include "arch/alpha/hw/cpu.h"
#include "arch/alpha/hw/layout.h"
#include "arch/alpha/hw/pal.h"
#include "kernel/base/printk.h"

#define SAMPLE_EVERY 800u  /* plain accesses of a CPU, on average */
#define WATCH_CYCLES 5000u /* 20 us of virtual time: some thousand instructions of another CPU */
#define IPL_HIGHEST  7u
#define REPORTS      64u /* pairs of places in a boot */

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

static uint64_t words[MAX_CPUS];  /* atomic; see above */
static struct side met[MAX_CPUS]; /* who met words[i]; its, from TAKEN to TOLD */
static uint32_t left[MAX_CPUS];   /* accesses until the next sample; atomic, a statistic */
static uint32_t random[MAX_CPUS]; /* likewise */

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

/* The value there, as far as it fits: an access that the caller is about to make anyway. */
static uint64_t value_at(uint64_t address, size_t nbytes)
{
    if (address & (nbytes - 1))
        return 0;
    switch (nbytes) { /* marked: others write at this very moment, which is what is wanted */
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

/* Each pair of places once, whichever of them was watched. */
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

/* A hook's return address, as two arguments of printk: the call, which is the access's place. */
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

/* An access meets what CPU i's word says. */
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
        /* Moved to another CPU meanwhile, the thread's own thread_hw.cpu has changed, by the switch
         * (assembly): who reads that at IPL 0 knows, and nobody else was seen here. */
        return;
    }
    note(who, &other, address, before, after);
}

/* The next sample comes after 1 to 2 * SAMPLE_EVERY - 1 accesses (a linear congruence). */
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
