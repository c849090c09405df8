/* The processes that the screen lists, with what each has used since the last reading. */
#include "screen.h"

#include <ssdef.h>
#include <starlet.h>
#include <stdlib.h>
#include <string.h>

static int by_pid(const void *a, const void *b)
{
    const struct process *x = a, *y = b;

    return (x->now.pid > y->now.pid) - (x->now.pid < y->now.pid);
}

/* Higher values first, for all but pids and names. */
static int falling(double x, double y) { return (x < y) - (x > y); }

static enum order order;
static bool reversed;

static int by_order(const void *a, const void *b)
{
    const struct process *x = a, *y = b;
    int c = 0;

    switch (order) {
    case BY_CPU:
        c = falling(x->used, y->used);
        if (!c)
            c = falling((double)x->now.cpu_ns, (double)y->now.cpu_ns);
        break;
    case BY_MEMORY:
        c = falling((double)x->now.rss, (double)y->now.rss);
        break;
    case BY_FAULTS:
        c = falling(x->faults, y->faults);
        break;
    case BY_IO:
        c = falling(x->io, y->io);
        break;
    case BY_NAME:
        c = strcmp(x->now.name, y->now.name);
        break;
    case BY_PID:
        break;
    }
    if (!c)
        c = by_pid(a, b);
    return reversed ? -c : c;
}

void sort_processes(struct processes *all, enum order how, bool reverse)
{
    order = how;
    reversed = reverse;
    qsort(all->list, all->count, sizeof(all->list[0]), by_order);
}

static bool next(struct mega_process *p, uint64_t count)
{
    int status = SS$_NONEXPR;

    if (count)
        status = mega$info(MEGA_INFO_PROCESS, -1 - (int64_t)p->pid, p, sizeof(*p));
    if (status == SS$_NOMOREPROC)
        return false;
    if (!(status & 1)) /* the first one; or the last one has ended, and another has its place */
        status = mega$info(MEGA_INFO_PROCESS, (int64_t)count - (count != 0), p, sizeof(*p));
    return status & 1;
}

bool take_processes(struct processes *all, const struct processes *before)
{
    struct mega_process p;

    all->count = 0;
    all->ns = monotonic();
    while (next(&p, all->count)) {
        struct process *one, *old = NULL;

        if (all->count == all->room) {
            size_t room = all->room * 2 + 64;
            void *more = realloc(all->list, room * sizeof(*one));

            if (!more)
                return false;
            all->list = more;
            all->room = room;
        }
        one = &all->list[all->count++];
        *one = (struct process){.now = p};
        if (before->count)
            old = bsearch(one, before->list, before->count, sizeof(*one), by_pid);
        if (old && p.cpu_ns >= old->now.cpu_ns) { /* else another process has the number now */
            one->used = (double)(p.cpu_ns - old->now.cpu_ns) / 1e9;
            one->faults = p.faults > old->now.faults ? (double)(p.faults - old->now.faults) : 0;
            one->io = p.io > old->now.io ? (double)(p.io - old->now.io) : 0;
        }
    }
    qsort(all->list, all->count, sizeof(all->list[0]), by_pid); /* for the next search */
    return true;
}
