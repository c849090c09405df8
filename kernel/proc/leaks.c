/*
 * The check for leaks (leaks.h).
 *
 * Pages need no comparison: the self-check (validate.c) accounts for each page or reports it as
 * lost, and it runs again here when all processes have ended. What it cannot see is a structure
 * that is never used again: a pool block, a surplus reference that keeps an object alive, a thread,
 * a kernel stack. These are counted before the first process starts and after the last one has
 * ended.
 */
#include "kernel/proc/leaks.h"

#include "kernel/base/format.h"
#include "kernel/base/panic.h"
#include "kernel/base/printk.h"
#include "kernel/proc/fdtable.h"
#include "kernel/proc/proc_private.h"
#include "kernel/proc/run_hook.h"
#include "kernel/proc/signal.h"
#include "kernel/proc/validate.h"
#include "kernel/sched/freeze.h"
#include "kernel/sched/timer.h"
#include "mm/check/census.h"
#include "mm/phys/page.h"
#include "mm/pool/pool.h"
#include "mm/pt/kstack.h"
#include "mm/section/section.h"

#define END_LIMIT_NS 20000000000u /* for threads to end: four virtual CPUs may share one core */
#define LOOK_NS      1000000u
#define TEXT         200u

static struct census before, after; /* before: constant once the first process runs */
static uint32_t newest_tid;         /* likewise: the highest tid before the first process */

/* ---- the pool blocks of kernel/proc ---- */

static enum process_visit explain_process(struct process *p, void *arg)
{
    census_explain(arg, CENSUS_NONPAGED, sizeof(*p), 1);
    return PROCESS_NEXT;
}

static void explain(struct census *c) { process_for_each(explain_process, c); }

static void drain(void)
{
    section_reap();
    thread_reap();
    kstack_drain();
    page_drain();
    npp_drain();
    pgd_drain();
}

/* ---- threads ---- */

struct threads {
    uint64_t stacks; /* threads whose stack was allocated, that is, not part of the image */
    uint32_t newest;
    const struct thread *strange; /* a thread that should have ended; NULL: none */
};

static void look_at(struct thread *t, void *arg)
{
    struct threads *n = arg;

    n->stacks += t->stack_base != 0;
    n->newest = MAX(n->newest, t->tid);
    if (newest_tid && t->tid > newest_tid && t != thread_self() && !sched_is_stopper(t))
        n->strange = t;
}

static struct threads threads_now(void)
{
    struct threads n = {0};

    thread_for_each(look_at, &n);
    return n;
}

/* The threads of ended processes are freed a little after the processes. */
static void wait_for_threads(void)
{
    uint64_t deadline = clock_ns() + END_LIMIT_NS;
    const struct thread *t;

    while (thread_reap(), (t = threads_now().strange) != NULL) {
        if (clock_ns() > deadline)
            panic("leak: thread %u (%s) is left over", t->tid, t->name);
        thread_sleep_ns(LOOK_NS);
    }
}

/* ---- the check ---- */

static void baseline(void)
{
    static const struct census_kind kinds[] = {
        {"process", CENSUS_NONPAGED, sizeof(struct process)},
        {"table of files", CENSUS_NONPAGED, sizeof(struct file_table)},
        {"chunk of a table of files", CENSUS_NONPAGED, sizeof(struct fd_chunk)},
        {"directory of a table of files", CENSUS_NONPAGED, sizeof(struct fd_directory)},
        {"shared working directory", CENSUS_NONPAGED, sizeof(struct fs_context)},
        {"signals of a process", CENSUS_NONPAGED, sizeof(struct sighand)},
    };

    census_register(explain, kinds, ARRAY_SIZE(kinds));
    newest_tid = threads_now().newest;
    drain();
    census_take(&before);
}

static unsigned kernel_stacks(char *text)
{
    struct kstack_stats s;
    uint64_t stacks = threads_now().stacks, there;

    kstack_stats(&s);
    there = s.created - s.unmapped;
    if (there == stacks)
        return 0;
    format(text, TEXT, "%lu kernel stacks for %lu threads", there, stacks);
    printk("leak: %s\n", text);
    return 1;
}

static void check(void)
{
    char text[TEXT] = "a count is wrong, see above";
    struct freeze_blocker who = {.name = "memory", .why = "is short"}; /* of -ENOMEM */
    struct validate_result r;
    unsigned n;

    wait_for_threads();
    drain();
    if (system_validate(NULL, &r, &who) != 0)
        panic("the check for leaks cannot be made: %s %s", who.name, who.why);
    if (r.errors)
        panic("leak: memory is inconsistent when all processes have gone: %lu errors, the "
              "first:\n%s",
              r.errors, r.text);
    drain();
    if (sched_freeze(END_LIMIT_NS, &who) != 0)
        panic("the check for leaks cannot be made: %s %s", who.name, who.why);
    /* A thread of the kernel may have freed a block meanwhile (a request whose process was killed,
     * when the disk had answered): in a lookaside list it would count as allocated. No thread that
     * stands holds a spinlock, which is all that this takes. */
    npp_drain();
    census_take(&after);
    sched_thaw();
    n = kernel_stacks(text) + (unsigned)after.errors;
    n += census_compare(&before, &after, text, sizeof(text));
    if (n)
        panic("leak: %u differences from before the first process: %s", n, text);
}

void leaks_at_end(void)
{
    static struct run_hook hook = {.begins = baseline, .ended = check};

    run_hook_register(&hook);
}
