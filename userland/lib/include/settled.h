/*
 * An exact count of free pages, for tests that look for leaks. What the kernel caches (stacks of
 * ended threads, free pages of each CPU) is drained first, and the count is repeated until
 * processes that have just ended have given back all their memory. The pools and the tables of
 * system space grow by whole pages and keep them, so these count as free: the pools' bytes in use
 * are to be compared beside this count. One thing is not compensated: pages of program files, which
 * stay allocated once a process has read them. Needs CMKRNL.
 */
#ifndef SETTLED_H
#define SETTLED_H

#include <ssdef.h>
#include <starlet.h>
#include <time.h>

static inline long settled_look(void)
{
    struct mega_memory m;
    struct mega_pool npp, pgd;

    if (mega$control(MEGA_CTL_DRAIN, 0, 0, 0, 0, 0) != SS$_NORMAL ||
        mega$info(MEGA_INFO_POOL, 0, &npp, sizeof(npp)) != SS$_NORMAL ||
        mega$info(MEGA_INFO_POOL, 1, &pgd, sizeof(pgd)) != SS$_NORMAL ||
        mega$info(MEGA_INFO_MEMORY, 0, &m, sizeof(m)) != SS$_NORMAL)
        return -1;
    return (long)(m.fluid + m.promised_unused + npp.pages + pgd.pages + m.system_pages);
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
