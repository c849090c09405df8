/* show spinlock, show mutex, show ipl: statistics of locks and of raised IPL. /START resets and
 * starts the measurement of all three, /STOP ends it. /FULL adds the longest time from each place.
 */
#include "show.h"

#include <condition.h>
#include <filled.h>
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
    fprintf(stderr, "%%SHOW-F-NOCHANGE, the kernel answered %s\n",
            mega$condition_message(status, 0));
    return 2;
}

/* Columns of a row before the place where the lock was taken. */
#define MUTEX_COLUMNS    80
#define SPINLOCK_COLUMNS 78

static void print_lock(const struct mega_lock *l, bool mutexes)
{
    double average = l->acquisitions ? (double)l->held_ns / (double)l->acquisitions : 0;

    mega$print_first(l->name, 20);
    printf("%5u", l->rank);
    if (mutexes)
        printf("%11lu%11lu%9lu", (unsigned long)l->shared, (unsigned long)l->acquisitions,
               (unsigned long)l->waits);
    else
        printf("%5u%14lu%10lu", l->ipl, (unsigned long)l->acquisitions, (unsigned long)l->waits);
    printf("%12.0f%12lu", average, (unsigned long)l->longest_ns);
    mega$print_last(mutexes ? MUTEX_COLUMNS : SPINLOCK_COLUMNS, l->longest_place);
}

/* ---- places ---- */

static bool same_place(const struct mega_held *a, const struct mega_held *b)
{
    return a->ipl == b->ipl && strcmp(a->name, b->name) == 0 && strcmp(a->place, b->place) == 0;
}

static int by_length(const void *a, const void *b)
{
    const struct mega_held *x = a, *y = b;

    return (x->longest_ns < y->longest_ns) - (x->longest_ns > y->longest_ns);
}

/* Add h, or make the entry of the same place on another CPU longer. False: out of memory. */
static bool add_place(struct mega_held **list, size_t *n, const struct mega_held *h)
{
    struct mega_held *bigger;

    for (size_t i = 0; i < *n; i++) {
        if (!same_place(&(*list)[i], h))
            continue;
        if (h->longest_ns > (*list)[i].longest_ns)
            (*list)[i].longest_ns = h->longest_ns;
        return true;
    }
    bigger = realloc(*list, (*n + 1) * sizeof(**list));
    if (!bigger)
        return false;
    bigger[(*n)++] = *h;
    *list = bigger;
    return true;
}

/* The longest time from each place: holds of spinlocks, or times at raised IPL. */
static void show_places(bool spinlocks)
{
    struct mega_held *list = NULL, h;
    size_t n = 0;

    for (int64_t i = 0; ask(MEGA_INFO_HOLD, i, &h, sizeof(h)); i++)
        if (h.longest_ns && (h.name[0] != 0) == spinlocks && !add_place(&list, &n, &h))
            break;
    qsort(list, n, sizeof(*list), by_length);
    if (n)
        printf("\n%-20s  IPL  Longest ns  %s\n", spinlocks ? "Spinlock" : "",
               spinlocks ? "Taken at" : "Raised at");
    for (size_t i = 0; i < n; i++) {
        mega$print_first(list[i].name, 20);
        printf("%5u%12lu", list[i].ipl, (unsigned long)list[i].longest_ns);
        mega$print_last(37, list[i].place);
    }
    free(list);
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
        if (!shown++) {
            printf("%-20s Rank%s Avg ns held  Longest ns", mutexes ? "Mutex" : "Spinlock",
                   mutexes ? "    Readers    Writers    Waits" : "  IPL  Acquisitions     Spins");
            mega$print_last(mutexes ? MUTEX_COLUMNS : SPINLOCK_COLUMNS, "Taken at");
        }
        print_lock(&locks[i], mutexes);
    }
    if (!shown)
        printf("No lock was taken since measuring began.\n");
    if (!mutexes && q & Q_FULL)
        show_places(true);
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
        printf("%3u%12lu", m.ipl, (unsigned long)m.longest_ns);
        mega$print_last(15, m.longest_place);
    }
    if (!shown)
        printf("Nothing was measured yet: SHOW IPL /START begins.\n");
    if (q & Q_FULL)
        show_places(false);
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
