/*
 * Free pages to the page, for tests that look for leaks. What the system keeps ready for the next
 * who asks (kernel stacks of ended threads, pages in CPU caches) is drained first, and what the
 * last process that ended still has is waited for. Nonpaged pool grows by pages and keeps them, so
 * these count as free. What remains: pages of paged pool, which stay where they were touched once,
 * and pages of program files that a process is the first to touch. Needs CMKRNL.
 */
#ifndef SETTLED_H
#define SETTLED_H

#include <ssdef.h>
#include <starlet.h>
#include <time.h>

static inline long settled_look(void)
{
    struct mega_memory m;
    struct mega_pool npp;

    if (mega$control(MEGA_CTL_DRAIN, 0, 0, 0, 0, 0) != SS$_NORMAL ||
        mega$info(MEGA_INFO_POOL, 0, &npp, sizeof(npp)) != SS$_NORMAL ||
        mega$info(MEGA_INFO_MEMORY, 0, &m, sizeof(m)) != SS$_NORMAL)
        return -1;
    return (long)(m.free + npp.size / m.page_size);
}

/* Pages that are free when nothing moves any more: the same figure five times, 10 ms apart; after
 * three seconds whatever it is then. -1: not allowed. */
static inline long settled_pages(void)
{
    const struct timespec pause = {0, 10000000};
    long now = settled_look();

    for (int same = 0, looks = 0; same < 5 && looks < 300; looks++) {
        long before = now;

        nanosleep(&pause, 0);
        now = settled_look();
        same = now == before ? same + 1 : 0;
    }
    return now;
}

#endif
