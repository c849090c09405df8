/* Timers, ASTs, scheduled wake-ups and common event flag clusters of OpenVMS. */
#define _GNU_SOURCE
#include "holds.h"

#include <descrip.h>
#include <signal.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECOND 10000000L /* units of 100 ns */

static uint32_t *ready; /* shared */

static void nothing(__int64 parameter) { (void)parameter; }

static __int64 in_seconds(long n) { return -n * SECOND; }

/* As many timers as one process may have, which are looked for in vain, cancelled one by one from
 * the last, all together, and by the process's end. */
static void timers_of_one(void)
{
    __int64 later = in_seconds(1000);
    unsigned made = 0;

    while (sys$setimr(1, &later, nothing, made + 1, 0) & 1)
        made++;
    need(made >= 16);
    need(sys$cantim(made + 1, 0) & 1);
    for (unsigned i = made; i > made / 2; i--)
        need(sys$cantim(i, 0) & 1);
    need(sys$cantim(0, 0) & 1);
    while (sys$setimr(1, &later, nothing, 7, 0) & 1)
        ;
    need(sys$cantim(7, 0) & 1);
    while (sys$setimr(1, &later, nothing, 7, 0) & 1)
        ;
}

/* Half of them have as many timers as they may, that expire together. */
static void timed(unsigned i, void *arg)
{
    __int64 soon = in_seconds(1);

    (void)arg;
    if (i % 2)
        timers_of_one();
    else
        while (sys$setimr(1 + i % 8, &soon, nothing, 0, 0) & 1)
            ;
    if (i % 4 == 0)
        sys$waitfr(1 + i % 8);
}

static void event_timers(unsigned n)
{
    unsigned crowd = n / 64 + 1;

    timers_of_one();
    crowd_start(crowd, timed, NULL);
    crowd_wait(crowd);
}

/* As many ASTs as one process may have outstanding, delivered, dropped by an exec, by the end. */
static void asts(unsigned how)
{
    unsigned made = 0;

    sys$setast(0);
    while (sys$dclast(nothing, made, 0) & 1)
        made++;
    need(made >= 100);
    if (how == 0)
        sys$setast(1);
    if (how == 1)
        execl("/bin/true", "true", NULL);
}

static void at_asts(unsigned i, void *arg)
{
    (void)arg;
    asts(i);
}

static void event_asts(unsigned n)
{
    (void)n;
    crowd_start(3, at_asts, NULL);
    crowd_wait(3);
}

/* All wait in one common cluster, for one flag or another, and are woken by one call. */
static void in_cluster(unsigned i, void *arg)
{
    struct dsc$descriptor_s name = {5, DSC$K_DTYPE_T, DSC$K_CLASS_S, "HOLDS"};

    (void)arg;
    need(sys$ascefc(64, &name, 0, 0) & 1);
    __atomic_fetch_add(ready, 1, __ATOMIC_SEQ_CST);
    need((i % 2 ? sys$wflor(64, 6) : sys$waitfr(65)) & 1);
}

static void event_flags(unsigned n)
{
    struct dsc$descriptor_s name = {5, DSC$K_DTYPE_T, DSC$K_CLASS_S, "HOLDS"};

    n = n < 8000 ? n : 8000;
    ready = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    need(ready != MAP_FAILED && (sys$ascefc(64, &name, 0, 0) & 1));
    crowd_start(n, in_cluster, NULL);
    while (__atomic_load_n(ready, __ATOMIC_SEQ_CST) < n)
        usleep(10000);
    usleep(10000);
    need(sys$setef(64) & 1); /* for which nobody waits */
    need(sys$setef(65) & 1);
    crowd_wait(n);
}

/* All schedule wake-ups of one process, which is woken, cancels them, and ends with others. */
static void schedule(unsigned i, void *arg)
{
    __int64 later = in_seconds(1000), often = in_seconds(1) / 50;
    unsigned pid = *(unsigned *)arg;

    (void)i;
    for (unsigned k = 0; k < 16; k++)
        need(sys$schdwk(&pid, NULL, k ? &later : &often, k ? NULL : &often) & 1);
    __atomic_fetch_add(ready, 1, __ATOMIC_SEQ_CST);
    pause();
}

static void woken(unsigned n, unsigned pid, bool cancel)
{
    pid_t first;

    *ready = 0;
    first = crowd_start(n, schedule, &pid);
    while (__atomic_load_n(ready, __ATOMIC_SEQ_CST) < n)
        need(sys$hiber() & 1);
    need(sys$hiber() & 1);
    if (cancel)
        need(sys$canwak(NULL, NULL) & 1);
    for (unsigned i = 0; i < n; i++)
        kill(first + (pid_t)i, SIGKILL);
    crowd_wait(n);
}

static void event_wakes(unsigned n)
{
    ready = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    need(ready != MAP_FAILED);
    woken(n / 16 + 1, (unsigned)getpid(), true);
    woken(n / 16 + 1, (unsigned)getpid(), false);
}

const struct growth growth_events[] = {{"event timers", event_timers},
                                       {"event ASTs", event_asts},
                                       {"event flags", event_flags},
                                       {"event wakes", event_wakes},
                                       {0}};
