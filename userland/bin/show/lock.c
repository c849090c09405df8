/* show spinlock, show mutex, show ipl: statistics of locks and of raised IPL. /START resets and
 * starts the measurement of all three, /STOP ends it. */
#include "show.h"

#include <condition.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOCKS_MAX 128 /* more than the kernel has names of locks */

/* Orders by rank, which is the order in which spinlocks are acquired. */
static int by_rank(const void *a, const void *b)
{
    const struct mega_lock *x = a, *y = b;

    return x->rank != y->rank ? (x->rank > y->rank) - (x->rank < y->rank)
                              : strcmp(x->name, y->name);
}

static int measure(bool start)
{
    int status = mega$control(MEGA_CTL_LOCK_STATS, start, 0, 0, 0, 0);

    if (status & 1)
        return 0;
    fprintf(stderr, "%%SHOW-F-NOCHANGE, the kernel answered %s\n", mega$condition_text(status));
    return 2;
}

static void print_lock(const struct mega_lock *l, bool mutexes)
{
    double average = l->acquisitions ? (double)l->held_ns / (double)l->acquisitions : 0;

    printf("%-20s%5u", l->name, l->rank);
    if (mutexes)
        printf("%12lu", (unsigned long)l->shared);
    else
        printf("%5u", l->ipl);
    printf("%14lu%10lu%12.0f%12lu  %s\n", (unsigned long)l->acquisitions, (unsigned long)l->waits,
           average, (unsigned long)l->longest_ns, l->longest_place);
}

static int show_locks(unsigned item, unsigned q)
{
    bool mutexes = item == MEGA_INFO_MUTEX;
    struct mega_lock locks[LOCKS_MAX];
    size_t n = 0, shown = 0;

    if (q & (Q_START | Q_STOP))
        return measure((q & Q_START) != 0);
    while (n < LOCKS_MAX && ask(item, (int64_t)n, &locks[n], sizeof(locks[n])))
        n++;
    if (!n) {
        printf("Nothing was measured yet: SHOW %s /START begins.\n",
               mutexes ? "MUTEX" : "SPINLOCK");
        return 0;
    }
    qsort(locks, n, sizeof(locks[0]), by_rank);
    for (size_t i = 0; i < n; i++) {
        if (!locks[i].acquisitions && !locks[i].shared)
            continue;
        if (!shown++)
            printf("%-20s Rank%s%s%s\n", mutexes ? "Mutex" : "Spinlock",
                   mutexes ? "     Readers       Writers" : "  IPL  Acquisitions",
                   mutexes ? "     Waits" : "     Spins", "  Avg ns held  Longest ns  Taken at");
        print_lock(&locks[i], mutexes);
    }
    if (!shown)
        printf("No lock was taken since measuring began.\n");
    return 0;
}

/* One line for each IPL that was raised: the longest time at that IPL or above. */
int show_ipl(unsigned q, const char *name)
{
    struct mega_ipl m;
    size_t shown = 0;

    (void)name;
    if (q & (Q_START | Q_STOP))
        return measure((q & Q_START) != 0);
    for (int64_t i = 1; ask(MEGA_INFO_IPL, i, &m, sizeof(m)); i++) {
        if (!m.longest_ns)
            continue;
        if (!shown++)
            printf("IPL  Longest ns  Raised at\n");
        printf("%3u%12lu  %s\n", m.ipl, (unsigned long)m.longest_ns, m.longest_place);
    }
    if (!shown)
        printf("Nothing was measured yet: SHOW IPL /START begins.\n");
    return 0;
}

int show_spinlock(unsigned q, const char *name)
{
    (void)name;
    return show_locks(MEGA_INFO_SPINLOCK, q);
}

int show_mutex(unsigned q, const char *name)
{
    (void)name;
    return show_locks(MEGA_INFO_MUTEX, q);
}
