/* The hooks around the first process (run_hook.h), and the end of all other processes. */
#include "kernel/proc/run_hook.h"

#include "kernel/base/panic.h"
#include "kernel/proc/proc_private.h"
#include "kernel/proc/signal.h"
#include "kernel/sched/timer.h"

#define END_LIMIT_NS 20000000000u /* for all others to end: four virtual CPUs may share one core */
#define LOOK_NS      1000000u

static struct list hooks = LIST_INIT(hooks); /* constant after boot */

void run_hook_register(struct run_hook *h) { list_add_tail(&hooks, &h->link); }

void run_begins(void)
{
    struct run_hook *h;

    list_for_each_entry(h, &hooks, link)
        if (h->begins)
            h->begins();
}

void run_ends(void)
{
    struct run_hook *h;

    list_for_each_entry(h, &hooks, link)
        if (h->ends)
            h->ends();
}

void run_ended(void)
{
    struct run_hook *h;

    list_for_each_entry(h, &hooks, link)
        if (h->ended)
            h->ended();
}

static enum process_visit end_one(struct process *p, void *arg)
{
    static const struct signal_info info = {.signo = SIGKILL, .code = SI_KERNEL};
    const struct process **left = arg;

    if (p == process_self())
        return PROCESS_NEXT;
    *left = p;
    if (p->state == PROCESS_LIVE && p->sig)
        signal_send(p, &info);
    return PROCESS_PAUSE;
}

static bool anything_to_do(void)
{
    struct run_hook *h;

    list_for_each_entry(h, &hooks, link)
        if (h->ended)
            return true;
    return false;
}

bool run_end_others(void)
{
    if (!anything_to_do())
        return false;
    run_kill_others();
    return true;
}

void run_kill_others(void)
{
    uint64_t deadline = clock_ns() + END_LIMIT_NS;
    const struct process *left;

    for (;;) {
        left = NULL;
        process_free_children(process_self());
        process_for_each(end_one, &left);
        if (!left)
            return;
        if (clock_ns() > deadline)
            panic("process %u (%s) does not end", left->pid, left->name);
        thread_sleep_ns(LOOK_NS);
    }
}
