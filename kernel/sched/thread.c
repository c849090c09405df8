/*
 * Threads: creation, the thread table, exit and reaping.
 *
 * A thread is one allocation, its kernel stack, which mm caches. struct thread lies at the top, the
 * first trap frame of a user thread right below it (hw.kstack_top), and the stack grows down from
 * there to the guard page.
 *
 *     top  +------------------------+
 *          | struct thread          |
 *          +------------------------+  hw.kstack_top = address of struct thread
 *          | stack                  |
 *          +------------------------+  hw.kstack_base
 *
 * Exit. A thread cannot free the stack it is running on. It marks itself DEAD under its run queue's
 * lock and switches away; the next thread on that CPU finds it in rq->switched_from, when its stack
 * is no longer in use, and puts it on the list of dead threads. That happens at IPL_CLOCK with the
 * run queue locked, where no stack may be freed; so the list is a lock-free stack, pushed to by
 * compare-and-swap and emptied as a whole by an exchange (single elements are never popped, so a
 * head that recurs does no harm). It is emptied by the next thread_create(), which is likely to
 * need a stack, and by the reaper thread, which the clock tick has woken if the list is not empty.
 *
 * By then nobody else may have a pointer to the thread: a waker accesses it last under the run
 * queue's lock, which the exit takes too (sched_wake), and the owner of t->process drops its
 * pointer before thread_exit().
 *
 * Creation fails when mm has no stack; nothing else here allocates.
 */
#include "arch/alpha/hw/fp.h"
#include "arch/alpha/hw/switch.h"
#include "kernel/base/bitops.h"
#include "kernel/base/errno.h"
#include "kernel/base/panic.h"
#include "kernel/base/printk.h"
#include "kernel/base/string.h"
#include "kernel/sched/ipi.h"
#include "kernel/sched/lockcheck.h"
#include "kernel/sched/sched_private.h"
#include "kernel/sched/timer.h"
#include "kernel/sched/wait.h"

struct kstack_ops kstack_ops;

/* The threads on which the CPUs start; those of the secondary CPUs become their idle threads. */
struct thread boot_threads[MAX_CPUS];

static struct spinlock table_lock = SPINLOCK_INIT("thread table", RANK_THREADS, IPL_ASTDEL);
static struct list all_threads = LIST_INIT(all_threads); /* protected by table_lock */
static uint32_t next_tid = 1;                            /* protected by table_lock */
static struct thread *dead;                              /* atomic: stack of the dead */
static uint32_t nending;                                 /* atomic: threads that are `ending` */
static struct wait_queue reaper_queue = WAIT_QUEUE_INIT("reaper", reaper_queue);
static bool reaper_waits;  /* atomic: a hint */
static bool reaper_called; /* atomic: a timer is about to wake it */

/* As str_copy(): names have a few bytes. */
static void name_set(struct thread *t, const char *name)
{
    unsigned k = 0;

    while (k < sizeof(t->name) - 1 && name[k]) {
        t->name[k] = name[k];
        k++;
    }
    t->name[k] = 0;
}

static void thread_init(struct thread *t, const char *name, unsigned prio, cpumask_t affinity,
                        unsigned cpu)
{
    name_set(t, name);
    t->prio = (uint8_t)prio;
    t->state = THREAD_NEW;
    t->affinity = affinity;
    t->account = boot_threads[0].account; /* the system's */
    t->run_sum = &t->run_ns[0];
    thread_set_cpu(t, cpu); /* before the lock: t may be the thread of a CPU that has ticks */
    list_init(&t->run_link);

    ipl_t ipl = spin_lock(&table_lock);

    t->tid = next_tid++;
    list_add_tail(&all_threads, &t->all_link);
    spin_unlock(&table_lock, ipl);
}

void thread_init_static(struct thread *t, const char *name, unsigned prio, cpumask_t affinity)
{
    thread_init(t, name, prio, affinity, (unsigned)t->hw.cpu->id);
    fair_set_weight(&t->fair, FAIR_WEIGHT);
    t->group = &sched_kernel_group;
}

void thread_reap(void)
{
    struct thread *t = __atomic_exchange_n(&dead, NULL, __ATOMIC_ACQUIRE);

    while (t) {
        struct thread *next = t->next_dead;
        uint64_t base = t->stack_base;
        ipl_t ipl = spin_lock(&table_lock);

        list_remove(&t->all_link);
        spin_unlock(&table_lock, ipl);
        if (base)
            kstack_ops.free(base);
        t = next;
    }
}

void thread_retire(struct thread *t)
{
    bool counted = t->ending;

    t->next_dead = __atomic_load_n(&dead, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&dead, &t->next_dead, t, true, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED))
        ;
    if (counted) /* release: whoever finds 0 also finds t among the dead */
        __atomic_fetch_sub(&nending, 1, __ATOMIC_RELEASE);
}

void thread_drain(void)
{
    while (__atomic_load_n(&nending, __ATOMIC_ACQUIRE))
        thread_sleep_ns(1000000);
    thread_reap();
}

static void call_reaper(struct timer *t)
{
    (void)t;
    /* From here on another tick may start the timer again. */
    __atomic_store_n(&reaper_called, false, __ATOMIC_RELEASE);
    wake_one(&reaper_queue);
}

/*
 * Call the reaper only if it is waiting. Without that check every CPU would take the queue's lock
 * at every tick until the reaper has run; with more virtual CPUs than the host has cores, passing
 * the lock from CPU to CPU would then take longer than a tick, and the reaper would never run.
 *
 * A timer wakes it, in an interrupt of its own, since a tick that wakes it and switches threads
 * besides could take 2,000 instructions. Who sets reaper_called has the timer alone until its
 * function clears the flag.
 */
void thread_reaper_tick(uint64_t now_ns)
{
    static struct timer timer = {.fn = call_reaper};

    if (unlikely(__atomic_load_n(&dead, __ATOMIC_RELAXED) != NULL) &&
        __atomic_load_n(&reaper_waits, __ATOMIC_RELAXED) &&
        !__atomic_exchange_n(&reaper_called, true, __ATOMIC_ACQUIRE))
        timer_start(&timer, now_ns);
}

static void reaper(void *arg)
{
    struct waiter w;

    (void)arg;
    for (;;) {
        wait_enqueue(&reaper_queue, &w);
        /* Whether a tick that meets a dead thread sees the flag yet does not matter: the next one
         * does. */
        __atomic_store_n(&reaper_waits, true, __ATOMIC_RELAXED);
        if (__atomic_load_n(&dead, __ATOMIC_RELAXED) == NULL)
            wait_block(&w, WAIT_UNINTERRUPTIBLE, WAIT_FOREVER);
        __atomic_store_n(&reaper_waits, false, __ATOMIC_RELAXED);
        wait_finish(&w);
        thread_reap();
    }
}

struct thread *thread_create_on(const char *name, void (*fn)(void *), void *arg, unsigned prio,
                                cpumask_t affinity)
{
    uint64_t top, base;
    struct thread *t;

    KASSERT(prio < PRIO_COUNT, "a priority is below PRIO_COUNT");
    if (__atomic_load_n(&dead, __ATOMIC_RELAXED) != NULL)
        thread_reap();
    base = kstack_ops.alloc(thread_self()->home_rad, &top);
    if (base == 0)
        return NULL;
    t = (struct thread *)align_down(top - sizeof(*t), 64);
    memset(t, 0, sizeof(*t));
    t->stack_base = base;
    t->home_rad = thread_self()->home_rad;
    t->group = thread_self()->group;
    t->hw.kstack_base = base;
    t->hw.kstack_top = (uint64_t)t;
    t->hw.cpu = cpu_self();
    t->entry = fn;
    t->arg = arg;
    fp_init(&t->hw);
    context_prepare(&t->hw, sched_thread_start);
    thread_set_root(t, boot_threads[0].root_pfn, NULL);
    thread_init(t, name, prio, affinity, 0);
    return t;
}

struct thread *thread_create(const char *name, void (*fn)(void *), void *arg, unsigned prio)
{
    return thread_create_on(name, fn, arg, prio, ~0ul);
}

void thread_start(struct thread *t)
{
    KASSERT(t->state == THREAD_NEW, "a thread is started once");
    sched_enqueue_new(t);
}

void thread_discard(struct thread *t)
{
    KASSERT(t->state == THREAD_NEW, "only a thread that was never started is discarded");

    ipl_t ipl = spin_lock(&table_lock);

    list_remove(&t->all_link);
    spin_unlock(&table_lock, ipl);
    kstack_ops.free(t->stack_base);
}

void thread_leave_process(void)
{
    struct thread *t = thread_self();

    t->process = NULL;
    t->user = NULL;
    t->ending = 1;
    __atomic_fetch_add(&nending, 1, __ATOMIC_RELAXED);
}

void thread_exit(void)
{
    struct thread *t = thread_self();

    if (t->held_mutexes || thread_spin_top(t))
        lockcheck_left("ends", (uint64_t)__builtin_return_address(0));
    if (t->root_mask)
        thread_set_root(t, boot_threads[0].root_pfn, NULL);
    sched_exit_current();
}

int thread_sleep_until(uint64_t deadline_ns, unsigned flags)
{
    /* w is on no queue: only the deadline or a signal ends the wait. */
    struct wait_queue nowhere;
    struct waiter w = {.thread = thread_self(), .queue = &nowhere};
    int err;

    __atomic_store_n(&w.thread->sleeping, 1, __ATOMIC_RELAXED);
    err = wait_block(&w, flags, deadline_ns);
    __atomic_store_n(&w.thread->sleeping, 0, __ATOMIC_RELAXED);
    return err == -ETIMEDOUT ? 0 : err;
}

void thread_sleep_ns(uint64_t ns) { thread_sleep_until(clock_ns() + ns, WAIT_UNINTERRUPTIBLE); }

struct cpu_time thread_cpu_time(const struct thread *t)
{
    return (struct cpu_time){.user_ns = __atomic_load_n(&t->run_ns[1], __ATOMIC_RELAXED),
                             .system_ns = __atomic_load_n(&t->run_ns[0], __ATOMIC_RELAXED)};
}

uint64_t thread_cpu_ns(const struct thread *t)
{
    struct cpu_time used = thread_cpu_time(t);

    return used.user_ns + used.system_ns;
}

void thread_for_each(void (*fn)(struct thread *, void *), void *arg)
{
    struct thread *t;
    ipl_t ipl = spin_lock(&table_lock);

    list_for_each_entry(t, &all_threads, all_link)
        fn(t, arg);
    spin_unlock(&table_lock, ipl);
}

static const char *const state_names[] = {"new", "ready", "running", "waiting", "dead"};

/* Panic dump: every thread. The table's lock is not taken. */
static void dump_threads(void)
{
    const struct thread *t;

    list_for_each_entry(t, &all_threads, all_link) {
        printk("thread %u %s: %s, CPU %u, priority %u, %lu switches, ksp %#lx", t->tid, t->name,
               t->state < ARRAY_SIZE(state_names) ? state_names[t->state] : "?", t->last_cpu,
               t->prio, t->switches, t->hw.pcb.ksp);
        for (uint32_t i = 0; i < t->held_mutexes; i++)
            printk(", holds %s (%pS)", t->held[i]->name, (void *)t->held_at[i]);
        for (const struct spinlock *l = thread_spin_top(t); l; l = l->below)
            printk(", holds spinlock %s (%pS)", l->name, (void *)l->taken_at);
        printk("\n");
    }
}

#define DUMP_EVENTS 12u

/* Panic dump: the most recent actions of each CPU, oldest first. */
static void dump_traces(void)
{
    uint64_t online = __atomic_load_n(&cpu_online_mask, __ATOMIC_RELAXED);
    uint32_t now = clock_cycles();

    for (; online; online &= online - 1) {
        const struct runq *rq = &runqs[bit_lowest(online)];

        for (uint32_t i = rq->trace_next - DUMP_EVENTS; i != rq->trace_next; i++) {
            const struct trace_event *e = &rq->trace[i % TRACE_EVENTS];
            uint32_t ago = (now - e->cycles) / (1000 / CLOCK_CYCLE_NS);

            if (e->kind == TRACE_SWITCH)
                printk("CPU %u, %u us ago: thread %u (%s) gave way to %u\n", bit_lowest(online),
                       ago, e->other,
                       e->state < ARRAY_SIZE(state_names) ? state_names[e->state] : "?", e->tid);
            else if (e->kind == TRACE_READY)
                printk("CPU %u, %u us ago: thread %u ready\n", bit_lowest(online), ago, e->tid);
        }
    }
}

void thread_boot(void)
{
    struct thread *t = thread_create("reaper", reaper, NULL, PRIO_NORMAL);

    if (t == NULL)
        panic("no memory for the reaper");
    thread_start(t);
    panic_register_dump("threads", dump_threads);
    panic_register_dump("scheduling", dump_traces);
}
