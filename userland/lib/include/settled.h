/*
 * An exact count of free pages, for tests that look for leaks. What the kernel caches (stacks of
 * ended threads, free pages of each CPU) is drained first, and the count is repeated until
 * processes that have just ended have given back all their memory. Nonpaged pool grows by whole
 * pages and keeps them, so its pages count as free. Two things are not compensated: pages of paged
 * pool, which stay allocated once they have been touched, and pages of program files, which stay
 * allocated once a process has read them. Needs CMKRNL.
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

/* Returns the number of free pages once it has stayed the same for five readings 10 ms apart, or
 * the last reading after three seconds; -1 without CMKRNL. */
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
