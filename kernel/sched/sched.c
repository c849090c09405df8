/*
 * Run queues and the switch.
 *
 * States. A thread is NEW until it is started; then RUNNING (runqs[i].current), RUNNABLE (on a run
 * queue, or for a moment in the hands of a CPU that carries it from one queue to another), WAITING,
 * and in the end DEAD. All of it changes under the lock of its run queue, t->last_cpu says which,
 * and last_cpu changes under that lock too, so runq_lock_of() looks again once it has the lock. No
 * CPU ever holds two run queues: what moves a thread takes it off its queue, names the new one,
 * releases the lock, and takes the new one's. While it is carried, nobody else finds it on a queue,
 * and a waker finds it runnable already.
 *
 * The switch. The lock of the run queue is taken by the thread that leaves and released by the one
 * that comes (finish_switch), so that a WAITING thread that another CPU finds under that lock has
 * its registers saved and its stack to itself, and a DEAD one can be freed.
 *
 * Address-space roots. as->loaded (root_mask here) has the bit of each CPU that may hold
 * translations of that space. The order on this CPU is: set the bit of the new root; barrier (A);
 * load the new root, which drops all translations; barrier; clear the bit of the old root. A
 * shootdown's is: write the PTE; barrier (B); read the mask. Either the read sees the bit, and this
 * CPU is asked. Or it does not:
 *   - because the bit was set later: then by A and B the PTE's store is before every walk that this
 * CPU makes with the new root, and it loads the new PTE. Without A the walk could use the old PTE
 *     while the bit still stood in the write buffer, and the mask would look empty: the stale
 * translation would stay;
 *   - because it was cleared already: then the old root's translations were dropped before. Were it
 * cleared before the load of the new root, a walk in between could take the old PTE, and nobody
 * would ask this CPU to forget it. A root stays in use until it is replaced: there are no lazy
 * roots, and idle and kernel threads have the system root, whose mask is "all CPUs" (NULL).
 *
 * Wake-ups are not lost on the way to an idle CPU: see sched_idle_loop. Wake-ups against a thread
 * that goes to sleep: see wait.c.
 */
#include "kernel/sched/sched_private.h"

#include "arch/alpha/hw/switch.h"
#include "kernel/base/errno.h"
#include "kernel/base/panic.h"
#include "kernel/base/string.h"
#include "kernel/sched/ipi.h"
#include "kernel/sched/timer.h"
#include "kernel/sched/wait.h"

#define BALANCE_TICKS \
    64 /* 62 ms: a thread that waits behind another is moved before six slices have passed */

#define EXIT_RESCHED 1ul /* bit of hw.syscall_exit: leave for user mode by way of the scheduler */

struct runq runqs[MAX_CPUS];

static inline struct thread *thread_of_link(const struct list *l)
{
    return container_of(l, struct thread, run_link);
}

struct runq *runq_lock_of(struct thread *t)
{
    for (;;) {
        uint32_t cpu = __atomic_load_n(&t->last_cpu, __ATOMIC_RELAXED);

        spin_lock_at_ipl(&runqs[cpu].lock);
        if (likely(__atomic_load_n(&t->last_cpu, __ATOMIC_RELAXED) == cpu))
            return &runqs[cpu];
        spin_unlock_at_ipl(&runqs[cpu].lock);
    }
}

static inline unsigned runq_cpu(const struct runq *rq) { return (unsigned)(rq - runqs); }

/* Have the CPU of rq (locked) look for a better thread soon: on its next way to IPL 0 or to user
 * mode. */
static void runq_kick(struct runq *rq)
{
    struct cpu *c = &cpus[runq_cpu(rq)];

    if (__atomic_load_n(&c->resched, __ATOMIC_RELAXED))
        return;
    __atomic_store_n(&c->resched, 1, __ATOMIC_RELAXED);
    __atomic_fetch_or(&rq->current->hw.syscall_exit, EXIT_RESCHED, __ATOMIC_RELAXED);
    if (c != cpu_self())
        ipi_send(1ul << c->id, IPI_RESCHEDULE);
}

/* t becomes ready on rq (locked, and named in t->last_cpu). */
static inline void runq_add(struct runq *rq, struct thread *t)
{
    t->state = THREAD_RUNNABLE;
    t->queued = 1;
    prioq_add_tail(&rq->ready, &t->run_link, t->prio);
    if (t->prio > rq->current->prio)
        runq_kick(rq);
}

static inline void runq_take(struct runq *rq, struct thread *t)
{
    prioq_remove(&rq->ready, &t->run_link, t->prio);
    t->queued = 0;
}

static inline bool cpu_is_idle(unsigned i)
{
    return __atomic_load_n(&cpus[i].idle, __ATOMIC_RELAXED) != 0;
}

/* A better CPU for t than its last one, or that. A hint: all it reads may change. */
static unsigned choose_cpu(const struct thread *t, unsigned last)
{
    cpumask_t allowed = t->affinity & __atomic_load_n(&cpu_online_mask, __ATOMIC_RELAXED);
    unsigned best = last;
    uint32_t best_load = UINT32_MAX;

    if ((allowed & (1ul << last)) && cpu_is_idle(last) && runqs[last].ready.count == 0)
        return last;
    for (cpumask_t m = allowed; m; m &= m - 1) {
        unsigned i = bit_lowest(m);
        uint32_t load = 2 * __atomic_load_n(&runqs[i].ready.count, __ATOMIC_RELAXED);

        if (!cpu_is_idle(i))
            load += 2;
        if (i != last)
            load += 1; /* it has nothing of t's in reach */
        if (load < best_load) {
            best = i;
            best_load = load;
        }
    }
    return best;
}

/* t, RUNNABLE and on no queue, is in this CPU's hands (no run queue locked): put it on the queue
   that it belongs to, or, where its affinity has changed meanwhile, to another. */
static void runq_deliver(struct thread *t)
{
    for (;;) {
        struct runq *rq = runq_lock_of(t);
        unsigned here = runq_cpu(rq), cpu = here;

        if (unlikely(!(t->affinity & (1ul << here))))
            cpu = choose_cpu(t, here);
        if (likely(cpu == here)) {
            runq_add(rq, t);
            spin_unlock_at_ipl(&rq->lock);
            return;
        }
        __atomic_store_n(&t->last_cpu, cpu, __ATOMIC_RELAXED);
        spin_unlock_at_ipl(&rq->lock);
    }
}

/* t waits, and rq, its run queue, is locked: it is to run, here or on a better CPU. Unlocks rq. */
static inline void make_runnable(struct runq *rq, struct thread *t)
{
    unsigned here = runq_cpu(rq), cpu = here;

    t->interruptible = 0;
    if (cpu_count > 1)
        cpu = choose_cpu(t, here);
    if (cpu == here) {
        runq_add(rq, t);
        spin_unlock_at_ipl(&rq->lock);
        return;
    }
    t->state = THREAD_RUNNABLE;
    __atomic_store_n(&t->last_cpu, cpu, __ATOMIC_RELAXED);
    spin_unlock_at_ipl(&rq->lock);
    runq_deliver(t);
}

void sched_enqueue_new(struct thread *t)
{
    ipl_t ipl = ipl_raise(IPL_CLOCK);

    t->state = THREAD_RUNNABLE;
    t->last_cpu = choose_cpu(t, cpu_id());
    runq_deliver(t);
    ipl_restore(ipl);
}

void sched_wake(struct thread *t, struct wait_queue **clear)
{
    struct runq *rq = runq_lock_of(t);

    if (clear)
        __atomic_store_n(clear, NULL, __ATOMIC_RELEASE);
    if (t->state == THREAD_WAITING)
        make_runnable(rq, t);
    else
        spin_unlock_at_ipl(&rq->lock);
}

void thread_interrupt(struct thread *t)
{
    ipl_t ipl = ipl_raise(IPL_CLOCK);

    __atomic_store_n(&t->interrupted, 1, __ATOMIC_RELEASE);

    struct runq *rq = runq_lock_of(t);

    /* In user mode on another CPU: have it enter the kernel, and see why on its way out. */
    if (t->state == THREAD_RUNNING && runq_cpu(rq) != cpu_id())
        ipi_send(1ul << runq_cpu(rq), IPI_RESCHEDULE);
    if (t->state == THREAD_WAITING && t->interruptible)
        make_runnable(rq, t);
    else
        spin_unlock_at_ipl(&rq->lock);
    ipl_restore(ipl);
}

/* ---- the switch ---- */

static inline void account(struct thread *t, uint32_t cycles)
{
    uint64_t ns = (uint64_t)(cycles - t->start_cycles) * CLOCK_CYCLE_NS;

    __atomic_store_n(&t->run_ns, t->run_ns + ns, __ATOMIC_RELAXED);
    t->start_cycles = cycles;
}

/* What became of the thread that left, where that is out of the ordinary. rq is locked. */
static void __attribute__((noinline)) after_switch(struct runq *rq, struct thread *from)
{
    bool carry = rq->after == AFTER_CARRY;

    if (rq->after == AFTER_BURY)
        thread_bury(from);
    rq->after = AFTER_NOTHING;
    if (carry)
        __atomic_store_n(&from->last_cpu, choose_cpu(from, runq_cpu(rq)), __ATOMIC_RELAXED);
    spin_unlock_at_ipl(&rq->lock);
    if (carry)
        runq_deliver(from);
}

/* On the new thread, the lock held since before the switch; releases it. */
static inline void finish_switch(void)
{
    struct runq *rq = runq_self();
    struct thread *from = rq->switched_from;

    ipl_set(IPL_CLOCK);
    if (from->root_mask && from->root_mask != thread_self()->root_mask)
        __atomic_fetch_and(from->root_mask, ~(1ul << runq_cpu(rq)), __ATOMIC_ACQ_REL);
    if (unlikely(rq->after != AFTER_NOTHING))
        after_switch(rq, from);
    else
        spin_unlock_at_ipl(&rq->lock);
}

static void __attribute__((cold, noinline)) lock_held(const struct runq *rq, const struct thread *t)
{
    const struct spinlock *l = t->spin_top == &rq->lock ? rq->lock.below : t->spin_top;

    panic("thread %s gives up the CPU with spinlock %s held, taken at %pS", t->name,
          l ? l->name : "(none)", l ? (void *)l->taken_at : NULL);
}

/* Give the CPU to next. rq is this CPU's, locked; the current thread has its new state and place.
   Returns, with the lock released, when the current thread runs again: perhaps on another CPU. */
static inline void switch_to(struct runq *rq, struct thread *next)
{
    struct thread *self = thread_self();
    uint32_t cycles = clock_cycles();

    account(self, cycles);
    next->start_cycles = cycles;
    next->switches++;
    rq->switches++;
    next->state = THREAD_RUNNING;
    rq->current = next;
    rq->switched_from = self;
    __atomic_store_n(&self->hw.cpu->idle, next == rq->idle, __ATOMIC_RELAXED);
    /* The lock changes hands. It is the only one: whoever gives up the CPU holds no other. */
    if (unlikely(self->spin_top != &rq->lock || rq->lock.below != NULL))
        lock_held(rq, self);
    self->spin_top = NULL;
    next->spin_top = &rq->lock;
    __atomic_store_n(&rq->lock.holder, next, __ATOMIC_RELAXED);
    if (next->root_mask && next->root_mask != self->root_mask) {
        __atomic_fetch_or(next->root_mask, 1ul << runq_cpu(rq), __ATOMIC_RELAXED);
        __atomic_thread_fence(__ATOMIC_SEQ_CST); /* barrier A of the argument above */
    }
    /* While the stack is next's already and cpu->current still self, no interrupt may come, not
       even a request of another CPU: entry code would hold the one against the other's limit. */
    ipl_set(IPL_HIGH);
    context_switch(&self->hw, &next->hw);
    finish_switch();
}

/* The current thread's state is set and it is where it belongs. rq is this CPU's, locked; returns
   with it released. */
static void schedule(struct runq *rq)
{
    struct thread *self = thread_self(), *next = rq->idle;
    struct cpu *c = self->hw.cpu;
    struct list *l = prioq_pop(&rq->ready);

    if (c->resched) {
        __atomic_store_n(&c->resched, 0, __ATOMIC_RELAXED);
        __atomic_fetch_and(&self->hw.syscall_exit, ~EXIT_RESCHED, __ATOMIC_RELAXED);
    }
    if (l) {
        next = thread_of_link(l);
        next->queued = 0;
        if (next->slice == 0)
            next->slice = SLICE_TICKS;
    }
    if (next != self) {
        switch_to(rq, next);
        return;
    }
    self->state = THREAD_RUNNING;
    rq->after = AFTER_NOTHING;
    spin_unlock_at_ipl(&rq->lock);
}

void sched_block_locked(struct runq *rq)
{
    thread_self()->state = THREAD_WAITING;
    schedule(rq);
}

void sched_exit_current(void)
{
    ipl_set(IPL_CLOCK);

    struct runq *rq = runq_self();

    spin_lock_at_ipl(&rq->lock);
    thread_self()->state = THREAD_DEAD;
    rq->after = AFTER_BURY;
    schedule(rq);
    panic("a dead thread runs");
}

void sched_thread_start(struct thread_hw *previous)
{
    (void)previous;
    finish_switch();
    ipl_restore(IPL_NONE);
    thread_self()->entry(thread_self()->arg);
    thread_exit();
}

/*
 * The current thread gives up the CPU but stays ready: behind its equals, or (front) before them. A
 * thread whose affinity leaves out this CPU is carried to another one by whoever runs next here,
 * once nobody stands on its stack (after_switch). rq is this CPU's, locked; returns with it
 * released.
 */
static void requeue_and_schedule(struct runq *rq, bool front)
{
    struct thread *self = thread_self();

    self->state = THREAD_RUNNABLE;
    if (unlikely(!(self->affinity & (1ul << runq_cpu(rq))))) {
        rq->after = AFTER_CARRY;
    } else if (self != rq->idle) {
        self->queued = 1;
        if (front)
            prioq_add_head(&rq->ready, &self->run_link, self->prio);
        else
            prioq_add_tail(&rq->ready, &self->run_link, self->prio);
    }
    schedule(rq);
}

void sched_preempt(void)
{
    ipl_t old = ipl_set(IPL_CLOCK);
    struct runq *rq = runq_self();

    if (__atomic_load_n(&cpus[runq_cpu(rq)].resched, __ATOMIC_RELAXED)) {
        spin_lock_at_ipl(&rq->lock);
        requeue_and_schedule(rq, thread_self()->slice != 0);
    }
    ipl_set(old);
}

void thread_yield(void)
{
    /* At IPL 0 the CPU may change under us: then what we read is another CPU's, and a hint as good.
     */
    if (runq_self()->ready.bitmap >> thread_self()->prio == 0)
        return;

    ipl_t old = ipl_set(IPL_CLOCK);
    struct runq *rq = runq_self();

    spin_lock_at_ipl(&rq->lock);
    if (rq->ready.bitmap >> thread_self()->prio != 0)
        requeue_and_schedule(rq, false);
    else
        spin_unlock_at_ipl(&rq->lock);
    ipl_set(old);
}

int thread_set_affinity(struct thread *t, cpumask_t mask)
{
    if ((mask & __atomic_load_n(&cpu_online_mask, __ATOMIC_RELAXED)) == 0)
        return -EINVAL;

    ipl_t ipl = ipl_raise(IPL_CLOCK);
    struct runq *rq = runq_lock_of(t);

    t->affinity = mask;
    if ((mask & (1ul << runq_cpu(rq))) || (t->state != THREAD_RUNNING && !t->queued)) {
        spin_unlock_at_ipl(
            &rq->lock); /* it may stay, or goes right when it is woken or delivered */
    } else if (t->queued) {
        runq_take(rq, t);
        __atomic_store_n(&t->last_cpu, choose_cpu(t, runq_cpu(rq)), __ATOMIC_RELAXED);
        spin_unlock_at_ipl(&rq->lock);
        runq_deliver(t);
    } else {
        runq_kick(rq);
        spin_unlock_at_ipl(&rq->lock);
    }
    ipl_restore(ipl);
    return 0;
}

void thread_set_root(struct thread *t, uint64_t root_pfn, cpumask_t *mask)
{
    if (t != thread_self()) {
        t->root_pfn = root_pfn;
        t->root_mask = mask;
        t->hw.pcb.ptbr = root_pfn;
        return;
    }

    ipl_t ipl = ipl_raise(IPL_CLOCK);
    cpumask_t *old = t->root_mask, bit = 1ul << cpu_id();

    if (mask && mask != old) {
        __atomic_fetch_or(mask, bit, __ATOMIC_RELAXED);
        __atomic_thread_fence(__ATOMIC_SEQ_CST); /* barrier A */
    }
    t->root_pfn = root_pfn;
    t->root_mask = mask;
    context_load_root(root_pfn);
    if (old && old != mask)
        __atomic_fetch_and(old, ~bit, __ATOMIC_ACQ_REL);
    ipl_restore(ipl);
}

/* ---- balance ---- */

static bool may_run_on(const struct list *l, uint64_t cpu)
{
    return (thread_of_link(l)->affinity >> cpu) & 1;
}

/* Take one ready thread of another CPU to this one. IPL_CLOCK, no lock. */
static bool steal_from(unsigned victim, unsigned self)
{
    struct runq *rq = &runqs[victim];
    struct list *l;
    struct thread *t = NULL;

    spin_lock_at_ipl(&rq->lock);
    l = prioq_find(&rq->ready, may_run_on, self);
    if (l) {
        t = thread_of_link(l);
        runq_take(rq, t);
        __atomic_store_n(&t->last_cpu, self, __ATOMIC_RELAXED);
    }
    spin_unlock_at_ipl(&rq->lock);
    if (t)
        runq_deliver(t);
    return t != NULL;
}

static uint32_t load_of(unsigned i)
{
    return __atomic_load_n(&runqs[i].ready.count, __ATOMIC_RELAXED) + !cpu_is_idle(i);
}

/* The online CPU with the most ready threads, at least `least` of them in all; MAX_CPUS when there
 * is none. */
static unsigned busiest(unsigned self, uint32_t least)
{
    cpumask_t m = __atomic_load_n(&cpu_online_mask, __ATOMIC_RELAXED) & ~(1ul << self);
    unsigned best = MAX_CPUS;

    for (; m; m &= m - 1) {
        unsigned i = bit_lowest(m);
        uint32_t load = load_of(i);

        if (load >= least && __atomic_load_n(&runqs[i].ready.bitmap, __ATOMIC_RELAXED) != 0) {
            best = i;
            least = load + 1;
        }
    }
    return best;
}

/* A thread moves only where that makes the loads more equal, so that it does not come back at the
 * next look. */
static void balance(unsigned self)
{
    unsigned victim = busiest(self, load_of(self) + 2);

    if (victim < MAX_CPUS && steal_from(victim, self))
        runqs[self].balanced++;
}

static bool idle_steal(unsigned self)
{
    unsigned victim = busiest(self, 2);

    if (victim == MAX_CPUS || !steal_from(victim, self))
        return false;
    runqs[self].steals++;
    return true;
}

/*
 * Idle. WTINT stops the CPU until an interrupt is pending, also one that the IPL blocks (QEMU 7.2:
 * alpha_cpu_has_work looks at what is requested, not at the IPL; on a chip a WTINT that missed one
 * would end at the next clock tick). So no wake-up is lost: who gives this CPU a thread puts it on
 * the queue, sets resched and then sends an interrupt. We block interrupts, then look at both. If
 * we see nothing, the interrupt comes after our look, is held pending, and WTINT returns at once.
 */
void sched_idle_loop(void)
{
    unsigned self = cpu_id(); /* the idle thread does not move */
    struct runq *rq = &runqs[self];

    for (;;) {
        ipl_set(IPL_CLOCK);
        if (rq->ready.bitmap == 0)
            idle_steal(self);
        ipl_set(IPL_IPI);
        if (!__atomic_load_n(&cpus[self].resched, __ATOMIC_ACQUIRE) &&
            __atomic_load_n(&rq->ready.bitmap, __ATOMIC_ACQUIRE) == 0)
            pal_wtint(0);
        ipl_restore(IPL_NONE);
    }
}

/* ---- the clock ---- */

/* A tick of the current thread's slice; the queue is locked only when the slice has ended and
 * somebody waits. */
static void slice_tick(struct runq *rq, struct thread *t)
{
    if (t == rq->idle)
        return;
    if (t->slice > 0 && --t->slice > 0)
        return;
    if (__atomic_load_n(&rq->ready.bitmap, __ATOMIC_RELAXED) >> t->prio == 0) {
        t->slice = SLICE_TICKS;
        return;
    }
    spin_lock_at_ipl(&rq->lock);
    runq_kick(rq);
    spin_unlock_at_ipl(&rq->lock);
}

/* The interval clock and the alarm come by the same interrupt, so a tick is told by its time:
   within half an interval of when it is due. Nothing drifts: the due time advances by whole
   intervals. */
static bool is_tick(struct runq *rq, uint64_t now_ns)
{
    if (now_ns + CLOCK_TICK_NS / 2 < rq->next_tick_ns)
        return false;
    rq->next_tick_ns += CLOCK_TICK_NS;
    if (rq->next_tick_ns < now_ns)
        rq->next_tick_ns = now_ns + CLOCK_TICK_NS;
    return true;
}

void sched_clock_tick(bool user)
{
    struct runq *rq = runq_self();
    struct thread *t = thread_self();
    unsigned self = runq_cpu(rq);
    uint64_t now;

    if (rq->current == NULL)
        return; /* the clock ticks before the scheduler stands */
    now = clock_ns();
    timer_run(now);
    if (!is_tick(rq, now))
        return;
    __atomic_store_n(&rq->ticks, rq->ticks + 1, __ATOMIC_RELEASE);
    account(t, clock_cycles());
    if (user) {
        __atomic_store_n(&t->user_ns, t->user_ns + CLOCK_TICK_NS, __ATOMIC_RELAXED);
        __atomic_store_n(&rq->user_ns, rq->user_ns + CLOCK_TICK_NS, __ATOMIC_RELAXED);
    }
    slice_tick(rq, t);
    if (cpu_count > 1) {
        if (rq->ticks % BALANCE_TICKS == self * (BALANCE_TICKS / MAX_CPUS))
            balance(self);
        watchdog_tick(now);
    }
    thread_reaper_tick();
}

/* ---- boot ---- */

/* Both flags are set by the sender: the interrupt itself is the message. */
static void ipi_reschedule(void) {}

static void runq_boot(unsigned cpu, struct thread *current, struct thread *idle)
{
    struct runq *rq = &runqs[cpu];

    rq->current = current;
    rq->idle = idle;
    rq->online_ns = clock_ns();
    rq->next_tick_ns = rq->online_ns + CLOCK_TICK_NS;
    current->state = THREAD_RUNNING;
    current->start_cycles = clock_cycles();
    cpus[cpu].idle = current == idle;
}

static void idle_main(void *arg)
{
    (void)arg;
    sched_idle_loop();
}

void sched_boot(void)
{
    struct thread *boot = thread_self(), *idle;

    for (unsigned i = 0; i < MAX_CPUS; i++) {
        spin_init(&runqs[i].lock, "run queue", RANK_SCHED, IPL_CLOCK);
        prioq_init(&runqs[i].ready);
    }
    timer_boot();
    ipi_boot();
    ipi_register(IPI_RESCHEDULE, ipi_reschedule);
    thread_init_static(boot, "boot", PRIO_NORMAL, ~0ul);
    idle = thread_create_on("idle 0", idle_main, NULL, PRIO_IDLE, 1);
    if (idle == NULL)
        panic("no memory for the first idle thread");
    idle->state = THREAD_RUNNABLE;
    runq_boot(0, boot, idle);
    thread_boot();
    __atomic_fetch_or(&cpu_online_mask, 1, __ATOMIC_RELEASE);
}

void sched_secondary_start(void)
{
    struct thread *self = thread_self();
    unsigned cpu = cpu_id();
    char name[] = "idle 0";

    name[sizeof(name) - 2] = (char)('0' + cpu);
    thread_init_static(self, name, PRIO_IDLE, 1ul << cpu);
    self->root_pfn = self->hw.pcb.ptbr;
    runq_boot(cpu, self, self);
    __atomic_fetch_or(&cpu_online_mask, 1ul << cpu, __ATOMIC_ACQ_REL);
    __atomic_store_n(&cpus[cpu].online, 1, __ATOMIC_RELEASE);
    sched_idle_loop();
}

void sched_cpu_stats(unsigned i, struct sched_cpu_stats *s)
{
    ipl_t ipl = ipl_raise(IPL_CLOCK);
    struct runq *rq = &runqs[i];

    spin_lock_at_ipl(&rq->lock);
    s->idle_ns = thread_cpu_ns(rq->idle);
    s->busy_ns = clock_ns() - rq->online_ns - s->idle_ns;
    s->user_ns = rq->user_ns;
    s->switches = rq->switches;
    s->ticks = rq->ticks;
    s->ipis = rq->ipis;
    s->steals = rq->steals;
    s->balanced = rq->balanced;
    s->ready = rq->ready.count;
    s->current_process = rq->current->process;
    str_copy(s->current_name, rq->current->name, sizeof(s->current_name));
    s->idle = rq->current == rq->idle;
    spin_unlock_at_ipl(&rq->lock);
    ipl_restore(ipl);
}
