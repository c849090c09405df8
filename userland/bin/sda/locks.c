/*
 * MTX SHOW TRACE and SPL SHOW TRACE: rates for each lock, and its callers ordered by rate. The
 * kernel counts callers for each CPU; this file adds the counts. With spinlocks goes the longest
 * time at each raised IPL.
 */
#include "sda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOCKS_MAX 128 /* more than the kernel has names of locks */

static double seconds; /* duration of the trace */

static double rate(uint64_t n) { return seconds > 0 ? (double)n / seconds : 0; }
static double percent(uint64_t part, uint64_t all)
{
    return all ? 100.0 * (double)part / (double)all : 0;
}
static double average(uint64_t sum, uint64_t n) { return n ? (double)sum / (double)n : 0; }

/* ---- by lock ---- */

static int by_locks(const void *a, const void *b)
{
    const struct mega_lock *x = a, *y = b;
    uint64_t m = x->acquisitions + x->shared, n = y->acquisitions + y->shared;

    return m != n ? (m < n) - (m > n) : strcmp(x->name, y->name);
}

static void mutex_line(const struct mega_lock *l)
{
    printf("%-15s%10.1f%12.1f%12.1f%12.1f%8.1f%%%12.1f%12.2f%12.2f\n", l->name, rate(l->shared),
           rate(l->shared_waits), rate(l->acquisitions), rate(l->waits - l->shared_waits),
           percent(l->waits, l->acquisitions + l->shared), rate(l->unlocks + l->shared_unlocks),
           (double)l->wait_ns / 1e6, (double)l->longest_wait_ns / 1e6);
}

static void mutex_table(const struct mega_lock *locks, size_t n, const struct mega_lock *sum)
{
    printf("\nMutex Trace Information:\n------------------------\n");
    printf(
        "                     Read   Read Lock       Write  Write Lock              Unlocks      "
        "Waited     Longest\n");
    printf(
        "Mutex           Locks/sec   Waits/sec   Locks/sec   Waits/sec   Wait %%        /sec     "
        "   (ms)   wait (ms)\n");
    for (size_t i = 0; i < n; i++)
        mutex_line(&locks[i]);
    mutex_line(sum);
}

static void spinlock_line(const struct mega_lock *l)
{
    printf("%-20s%12.1f%12.1f%8.1f%%%12.0f%12.0f%14lu\n", l->name, rate(l->acquisitions),
           rate(l->waits), percent(l->waits, l->acquisitions), average(l->wait_ns, l->waits),
           average(l->held_ns, l->unlocks), (unsigned long)l->longest_ns);
}

static void spinlock_table(const struct mega_lock *locks, size_t n, const struct mega_lock *sum)
{
    printf("\nSpinlock Trace Information:\n---------------------------\n");
    printf("                    Acquisitions       Spins             Average     Average       "
           "Longest\n");
    printf(
        "Spinlock                    /sec        /sec   Spin %%   spin (ns)   hold (ns)     hold "
        "(ns)\n");
    for (size_t i = 0; i < n; i++)
        spinlock_line(&locks[i]);
    spinlock_line(sum);
}

static void add(struct mega_lock *sum, const struct mega_lock *l)
{
    sum->acquisitions += l->acquisitions;
    sum->shared += l->shared;
    sum->waits += l->waits;
    sum->shared_waits += l->shared_waits;
    sum->wait_ns += l->wait_ns;
    sum->held_ns += l->held_ns;
    sum->unlocks += l->unlocks;
    sum->shared_unlocks += l->shared_unlocks;
    if (l->longest_ns > sum->longest_ns)
        sum->longest_ns = l->longest_ns;
    if (l->longest_wait_ns > sum->longest_wait_ns)
        sum->longest_wait_ns = l->longest_wait_ns;
}

static bool read_locks(enum mega_facility f, struct mega_lock *locks, size_t *count,
                       struct mega_lock *sum)
{
    unsigned item = f == MEGA_TRACE_MTX ? MEGA_INFO_MUTEX : MEGA_INFO_SPINLOCK;
    bool failed = false;
    size_t n = 0;

    *sum = (struct mega_lock){.name = ""};
    for (int64_t i = 0; n < LOCKS_MAX && ask(item, i, &locks[n], sizeof(locks[n]), &failed); i++) {
        if (!locks[n].acquisitions && !locks[n].shared && !locks[n].unlocks)
            continue;
        add(sum, &locks[n]);
        n++;
    }
    qsort(locks, n, sizeof(locks[0]), by_locks);
    *count = n;
    return !failed;
}

/* ---- raised IPL ---- */

/* The longest time at each IPL. False: the kernel refused. */
static bool ipl_table(void)
{
    struct mega_ipl m;
    bool failed = false;

    printf("\nIPL  Longest (ns)  Raised at\n");
    for (int64_t i = 1; ask(MEGA_INFO_IPL, i, &m, sizeof(m), &failed); i++)
        if (m.longest_ns)
            printf("%3u%14lu  %s\n", m.ipl, (unsigned long)m.longest_ns, m.longest_place);
    return !failed;
}

/* ---- callers ---- */

static int by_caller(const void *a, const void *b)
{
    const struct mega_caller *x = a, *y = b;
    int c = strcmp(x->name, y->name);

    if (c)
        return c;
    if (x->place != y->place)
        return (x->place > y->place) - (x->place < y->place);
    if (x->rank != y->rank)
        return (x->rank > y->rank) - (x->rank < y->rank);
    return (int)x->shared - (int)y->shared;
}

static int by_count(const void *a, const void *b)
{
    const struct mega_caller *x = a, *y = b;

    return x->count != y->count ? (x->count < y->count) - (x->count > y->count) : by_caller(a, b);
}

/* All callers, with the counts of all CPUs added; sets *count to their number. NULL: there is no
 * memory, or the kernel refused. */
static struct mega_caller *read_callers(enum mega_facility f, const struct mega_trace *t,
                                        size_t *count)
{
    struct mega_caller *all = calloc(t->cpus * t->slots + 1, sizeof(*all));
    bool failed = false;
    size_t n = 0, m = 0;

    for (uint64_t cpu = 0; all && cpu < t->cpus; cpu++)
        for (uint64_t slot = 0; slot < t->slots && !failed; slot++)
            if (ask(MEGA_INFO_CALLER, (int64_t)((uint64_t)f << 32 | cpu << 16 | slot), &all[n],
                    sizeof(all[n]), &failed) &&
                all[n].count)
                n++;
    if (!all || failed) {
        free(all);
        return NULL;
    }
    qsort(all, n, sizeof(all[0]), by_caller);
    for (size_t i = 0; i < n; i++) {
        if (m && by_caller(&all[m - 1], &all[i]) == 0) {
            all[m - 1].count += all[i].count;
            all[m - 1].waits += all[i].waits;
            all[m - 1].wait_ns += all[i].wait_ns;
            all[m - 1].held_ns += all[i].held_ns;
        } else {
            all[m++] = all[i];
        }
    }
    qsort(all, m, sizeof(all[0]), by_count);
    *count = m;
    return all;
}

static void caller_line(enum mega_facility f, const struct mega_caller *c)
{
    if (f == MEGA_TRACE_MTX)
        printf("%-15s%10.1f  %-10s  %016lX  %-40s %s\n", c->name, rate(c->count),
               c->shared ? "Lock Read" : "Lock Write", (unsigned long)c->place, c->routine,
               c->module);
    else
        printf("%-20s%10.1f%10.1f%10.0f  %016lX  %-40s %s\n", c->name, rate(c->count),
               rate(c->waits), average(c->held_ns, c->count), (unsigned long)c->place, c->routine,
               c->module);
}

/* Print the callers of each lock, in the order of the table above, at most `top` of each. */
static void print_callers(enum mega_facility f, const struct mega_lock *locks, size_t n,
                          const struct mega_caller *callers, size_t count, uint64_t top)
{
    if (f == MEGA_TRACE_MTX)
        printf("\nMutex            Rate/sec  Operation   Callers PC        Routine              "
               "                    Module\n");
    else
        printf("\nSpinlock              Rate/sec Spins/sec Hold (ns)  Callers PC        Routine    "
               "                              Module\n");
    for (size_t i = 0; i < n; i++) {
        uint64_t shown = 0;

        for (size_t j = 0; j < count && shown < top; j++)
            if (callers[j].rank == locks[i].rank && strcmp(callers[j].name, locks[i].name) == 0) {
                caller_line(f, &callers[j]);
                shown++;
            }
        if (shown)
            putchar('\n');
    }
}

int show_locks(enum mega_facility f, const struct mega_trace *t, const struct command *c)
{
    static struct mega_lock locks[LOCKS_MAX];
    struct mega_caller *callers;
    struct mega_lock sum;
    size_t n, count;
    uint64_t top;

    if (!number_of(c, "TOP", UINT64_MAX, given(c, "SUMMARY") ? 10 : UINT64_MAX, &top))
        return 1;
    seconds = (double)t->lasted_ns / 1e9;
    if (!read_locks(f, locks, &n, &sum))
        return 1;
    print_times(t);
    if (!n) {
        printf("No lock was taken.\n");
        return 0;
    }
    if (f == MEGA_TRACE_MTX)
        mutex_table(locks, n, &sum);
    else
        spinlock_table(locks, n, &sum);
    if (f == MEGA_TRACE_SPL && !ipl_table())
        return 1;
    callers = read_callers(f, t, &count);
    if (!callers)
        return fail("NOCALLERS", "cannot read the callers");
    print_callers(f, locks, n, callers, count, top);
    free(callers);
    if (t->dropped)
        printf("%lu acquisitions are not among the callers: their tables (%lu places for each CPU) "
               "were full.\n",
               (unsigned long)t->dropped, (unsigned long)t->slots);
    return 0;
}
