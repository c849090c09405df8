/*
 * Run queues and the context switch.
 *
 * Thread states. A thread is NEW until it is started; then RUNNING (runqs[i].current), RUNNABLE (on
 * a run queue, or for a moment on none while a CPU moves it from one queue to another) or WAITING;
 * and in the end DEAD. Its state changes under the lock of its run queue, t->runq, which is that of
 * CPU t->last_cpu. Both change under that lock themselves, so runq_lock_of() looks again once it
 * has the lock. No CPU ever holds two run queues' locks: to move a thread, it takes the thread off
 * its queue, sets runq, releases the lock, and then takes the lock of the new queue (runq_deliver).
 * Meanwhile nobody else finds the thread on a queue, and a waker finds it RUNNABLE.
 *
 * The switch. The run queue's lock is acquired by the thread that gives up the CPU and released by
 * the thread that gets it (sched_finish_switch). So if another CPU, holding that lock, finds a
 * thread WAITING, the thread's registers are saved and its stack is not in use; and a DEAD thread
 * can be freed.
 *
 * Address-space roots. as->pt.loaded (root_mask here) has the bit of each CPU that may hold
 * translations of that address space.
 *
 *     a switch on this CPU                        a shootdown on another CPU
 *     --------------------                        --------------------------
 *     set this CPU's bit in the new root's mask   write the PTE
 *     barrier A                                   barrier B
 *     load the new root; this drops all           read the mask; interrupt the CPUs in it
 *       translations of the old one
 *     barrier
 *     clear this CPU's bit in the old root's mask
 *
 * Either the shootdown sees this CPU's bit and interrupts it, or it does not see the bit:
 *
 *   - because the bit was set later: then, by A and B, the store to the PTE comes before every
 *     translation that this CPU fetches under the new root, so that it reads the new PTE. Without A
 *     the CPU could fetch the old PTE while the bit was still in its write buffer and the mask
 *     looked empty: the stale translation would stay.
 *
 *   - because the bit was cleared already: then the old root's translations had been dropped
 *     before. If the bit were cleared before the new root is loaded, the CPU could fetch the old
 *     PTE in between, and no shootdown would make it drop that translation.
 *
 * A root stays in the CPU until it is replaced (there is no lazy switching): idle and kernel
 * threads run on the system root, whose mask is "all CPUs" (NULL).
 *
 * That no wake-up is lost on the way to an idle CPU is argued at sched_idle_loop; against a thread
 * that is going to sleep, in wait.c.
 */
#include "kernel/sched/sched_private.h"

#include "arch/alpha/hw/fp.h"
#include "arch/alpha/hw/switch.h"
#include "kernel/base/panic.h"
#include "kernel/sched/ipi.h"
#include "kernel/sched/lockcheck.h"
#include "kernel/sched/sched_quick.h"
#include "kernel/sched/spinlock_quick.h"
#include "kernel/sched/timer.h"
#include "kernel/sched/wait.h"

#define EXIT_RESCHED 1ul /* bit of hw.syscall_exit: call the scheduler on the way to user mode */

struct runq runqs[MAX_CPUS];
uint32_t rad_count = 1;

struct runq *runq_lock_of(const struct thread *t)
{
    for (;;) {
        struct runq *rq = __atomic_load_n(&t->runq, __ATOMIC_RELAXED);

        spin_lock_at_ipl(&rq->lock);
        if (likely(__atomic_load_n(&t->runq, __ATOMIC_RELAXED) == rq))
            return rq;
        spin_unlock_at_ipl(&rq->lock);
    }
}

/* Have the CPU of rq (locked) choose a thread anew as soon as it returns to IPL 0 or to user
 * mode. */
void runq_kick(struct runq *rq)
{
    struct cpu *c = &cpus[runq_cpu(rq)];

    if (__atomic_load_n(&c->resched, __ATOMIC_RELAXED))
        return;
    __atomic_store_n(&c->resched, 1, __ATOMIC_RELAXED);
    __atomic_fetch_or(&rq->current->hw.syscall_exit, EXIT_RESCHED, __ATOMIC_RELAXED);
    if (c != cpu_self())
        ipi_send(1ul << c->id, IPI_RESCHEDULE);
}

/* The current thread of another CPU, or of this one, was chosen because it held a mutex, and holds
   one still (a hint: it may just be taking or releasing it). */
static inline bool is_hurrying(const struct thread *current)
{
    return unlikely(current->fair.urgent != FAIR_CALM) &&
           __atomic_load_n(&current->held_mutexes, __ATOMIC_RELAXED) != 0;
}

/* Should t, which has become ready on rq, preempt the thread that runs there? (Only threads
   of PRIO_NORMAL are in a queue, except that a freezing thread stays in its own: it is then chosen
   again.) */
static inline bool preempts(const struct runq *rq, const struct thread *t)
{
    const struct thread *current = rq->current;

    if (likely(t->fair.queue && t->fair.queue == current->fair.queue))
        return fair_precedes(&t->fair, &current->fair) && !is_hurrying(current);
    if (t->prio != current->prio)
        return t->prio > current->prio;
    return t->prio == PRIO_NORMAL && fair_preempts(&t->fair, &current->fair);
}

/* t, which has been put on rq and holds a mutex or wants one, is urgent: it preempts any thread of
   its user that is not. */
static void __attribute__((noinline)) hurry(struct runq *rq, struct thread *t)
{
    const struct thread *current = rq->current;

    if (t->prio == PRIO_NORMAL && thread_hurries(t)) {
        fair_hurry(&t->fair);
        if (t->fair.queue == current->fair.queue && !is_hurrying(current))
            runq_kick(rq);
    }
    if (preempts(rq, t))
        runq_kick(rq);
}

/* Put t on rq as ready. rq is locked, and t->last_cpu is its CPU. */
static inline __attribute__((always_inline)) void runq_add(struct runq *rq, struct thread *t)
{
    thread_state_set_locked(t, THREAD_RUNNABLE);
    runq_put(rq, t);
    trace(rq, clock_cycles(), TRACE_READY, t->tid, 0, 0);
    if (unlikely(t->held_mutexes != 0 || __atomic_load_n(&t->wants, __ATOMIC_RELAXED)))
        hurry(rq, t);
    else if (preempts(rq, t))
        runq_kick(rq);
}

/* Put t, which is RUNNABLE, on no queue and owned by the caller, on the queue of t->last_cpu, or of
   another CPU if its affinity has changed meanwhile. No run queue is locked. */
void runq_deliver(struct thread *t)
{
    for (;;) {
        struct runq *rq = runq_lock_of(t);
        unsigned here = runq_cpu(rq), cpu = here;

        if (unlikely(!(t->affinity & (1ul << here))))
            cpu = sched_choose_cpu(t, here);
        if (likely(cpu == here)) {
            if (likely(t->prio == PRIO_NORMAL))
                fair_attach(&t->fair, &t->group->queues[here]);
            runq_add(rq, t);
            spin_unlock_at_ipl(&rq->lock);
            return;
        }
        thread_set_cpu(t, cpu);
        spin_unlock_at_ipl(&rq->lock);
    }
}

/* Make t, which is WAITING, ready on its own CPU or on a better one. rq is its run queue, locked;
   releases the lock. */
static inline __attribute__((always_inline)) void make_runnable(struct runq *rq, struct thread *t,
                                                                bool follow)
{
    __atomic_store_n(&t->interruptible, 0, __ATOMIC_RELAXED);
    if (rq->several && sched_move_to_better(rq, t, follow))
        return;
    runq_add(rq, t);
    spin_unlock_at_ipl(&rq->lock);
}

/* A new thread begins with its creator's nice value, and where it stands in the fair rule: nobody
   gains time by creating threads. */
void sched_enqueue_new(struct thread *t)
{
    ipl_t ipl = ipl_raise(IPL_CLOCK);
    struct thread *self = thread_self();
    struct runq *rq = runq_self(), *first;

    spin_lock_at_ipl(&rq->lock);
    t->nice = self->nice;
    fair_inherit(&t->fair, &self->fair);
    if (unlikely(self->lent)) /* that is its own alone */
        fair_set_weight(&t->fair, fair_weight_of_nice(t->nice));
    spin_unlock_at_ipl(&rq->lock);
    /* Others may find t already, and rely on it that it does not run (thread_while_off_cpu). */
    first = runq_lock_of(t);
    thread_state_set_locked(t, THREAD_RUNNABLE);
    thread_set_cpu(t, rq->several ? sched_choose_cpu(t, cpu_id()) : cpu_id());
    spin_unlock_at_ipl(&first->lock);
    runq_deliver(t);
    ipl_restore(ipl);
}

/* The rest of sched_wake(), in all cases: rq, that of t, is locked. */
static void __attribute__((noinline)) wake_locked(struct runq *rq, struct thread *t,
                                                  struct wait_queue **clear, bool follow)
{
    if (clear)
        __atomic_store_n(clear, NULL, __ATOMIC_RELEASE);
    if (t->state == THREAD_WAITING)
        make_runnable(rq, t, follow);
    else
        spin_unlock_at_ipl(&rq->lock);
}

/* All of it. */
static void __attribute__((noinline)) wake_slowly(struct thread *t, struct wait_queue **clear,
                                                  bool follow)
{
    wake_locked(runq_lock_of(t), t, clear, follow);
}

/* The same for a caller that has locked rq, which is no longer t's. */
static void __attribute__((noinline)) wake_elsewhere(struct runq *rq, struct thread *t,
                                                     struct wait_queue **clear, bool follow)
{
    spin_unlock_at_ipl(&rq->lock);
    wake_slowly(t, clear, follow);
}

/* The usual case of a lock that is free calls nothing, and so needs no frame. */
void sched_wake(struct thread *t, struct wait_queue **clear, bool follow)
{
    struct runq *rq = __atomic_load_n(&t->runq, __ATOMIC_RELAXED);

    if (unlikely(!spin_lock_quickly(&rq->lock)))
        wake_slowly(t, clear, follow);
    else if (unlikely(rq != __atomic_load_n(&t->runq, __ATOMIC_RELAXED)))
        wake_elsewhere(rq, t, clear, follow);
    else
        wake_locked(rq, t, clear, follow);
}

/* Both stores are made under one hold of the lock under which block() checks, and in this order,
   because they are cleared in the opposite order and without the lock: a thread that finds its wait
   interrupted has the bit set, and returns to user mode by the slow path, which ends the
   interrupted system call. */
static inline void mark_interrupted(struct thread *t)
{
    __atomic_store_n(&t->interrupted, 1, __ATOMIC_SEQ_CST);
    __atomic_fetch_or(&t->hw.syscall_exit, EXIT_INTERRUPTED, __ATOMIC_SEQ_CST);
}

/* Interrupt a thread that is not this CPU's current one. */
static void interrupt_other(struct thread *t)
{
    ipl_t ipl = ipl_raise(IPL_CLOCK);
    struct runq *rq = runq_lock_of(t);

    mark_interrupted(t);

    /* If t is in user mode on another CPU: make it enter the kernel and check the bit on its way
       out. */
    if (t->state == THREAD_RUNNING && runq_cpu(rq) != cpu_id())
        ipi_send(1ul << runq_cpu(rq), IPI_RESCHEDULE);
    if (t->state == THREAD_WAITING &&
        (t->interruptible == WAIT_INTERRUPTIBLE ||
         (t->interruptible == WAIT_KILLABLE && __atomic_load_n(&t->fatal, __ATOMIC_RELAXED))))
        make_runnable(rq, t, false);
    else
        spin_unlock_at_ipl(&rq->lock);
    ipl_restore(ipl);
}

/* For the current thread, which signals itself or was met by an interrupt, the lock is not needed.
   A thread is at IPL_CLOCK from before the checks of block() until it has been switched away, and
   no caller is: so t runs, and is neither to be woken nor to be made to enter the kernel. It checks
   after both stores, since it makes them itself or goes on when the interrupt is over; that it may
   be preempted between them, and go on elsewhere, changes nothing. */
void thread_interrupt(struct thread *t)
{
    if (t == thread_self())
        mark_interrupted(t);
    else
        interrupt_other(t);
}

/* ---- the context switch ---- */

/* Complete an unusual switch: bury the previous thread, or move it to another CPU. rq is locked;
   releases the lock. */
static void __attribute__((noinline)) after_switch(struct runq *rq, struct thread *from)
{
    bool carry = rq->after == AFTER_CARRY;

    if (rq->after == AFTER_RETIRE)
        thread_retire(from);
    rq->after = AFTER_NOTHING;
    if (carry)
        thread_leave_locked(from, sched_choose_cpu(from, runq_cpu(rq)));
    spin_unlock_at_ipl(&rq->lock);
    if (carry)
        runq_deliver(from);
}

void sched_finish_slowly(struct runq *rq, struct thread *from)
{
    ipl_set(IPL_CLOCK);
    if (unlikely(rq->after != AFTER_NOTHING))
        after_switch(rq, from);
    else
        spin_unlock_at_ipl(&rq->lock);
}

/* Report that the thread gives up the CPU while it holds a spinlock besides the run queue's. To the
 * compiler it returns (noipa), so that it can be the last action of a function without a frame. */
static void __attribute__((cold, noipa)) lock_held(const struct runq *rq, struct thread *t)
{
    if (thread_spin_top(t) == &rq->lock)
        thread_spin_top_set(t, rq->lock.below);
    lockcheck_left("gives up the CPU", (uint64_t)__builtin_return_address(0));
}

/* Switch this CPU to next, which is not the idle thread unless `self`, the current one, is none of
 * the fair rule either, and is of self's group or has its share. rq is this CPU's, locked; self's
 * state is set, it is on its queue, if any, and its time is accounted for up to `cycles`. The last
 * action of its caller: so self's registers are saved once, by the switch. Returns when self runs
 * again, perhaps on another CPU, which then calls sched_finish_switch() before all else. */
static inline __attribute__((always_inline)) void switch_last(struct runq *rq, struct thread *self,
                                                              struct thread *next, uint32_t cycles)
{
    trace(rq, cycles, TRACE_SWITCH, next->tid, self->tid, self->state);
    next->start_cycles = cycles;
    count_up(&next->switches);
    count_up(&rq->switches);
    thread_state_set_locked(next, THREAD_RUNNING);
    rq->current = next;
    rq->switched_from = self;
    /* The run queue's lock passes to next. It is the only one: a thread that gives up the CPU holds
       no other. */
    if (unlikely(thread_spin_top(self) != &rq->lock || rq->lock.below != NULL)) {
        lock_held(rq, self);
        return;
    }
    thread_spin_top_set(self, NULL);
    thread_spin_top_set(next, &rq->lock);
    __atomic_store_n(&rq->lock.holder, next, __ATOMIC_RELAXED);
    if (next->root_mask && next->root_mask != self->root_mask) {
        __atomic_fetch_or(next->root_mask, 1ul << cpu_self()->id, __ATOMIC_RELAXED);
        __atomic_thread_fence(__ATOMIC_SEQ_CST); /* barrier A of the argument above */
    }
    /* No interrupt may come, not even a request of another CPU, while the stack is already next's
       and cpu->current is still self: entry code would compare SP with the wrong thread's limit. */
    ipl_set(IPL_HIGH);
    context_switch(&self->hw, &next->hw);
}

/* The same for any next: the idle thread, or one of another group. */
static void __attribute__((noinline)) switch_any(struct runq *rq, struct thread *next,
                                                 uint32_t cycles)
{
    struct thread *self = thread_self();

    if (unlikely(rq->several) && next->group != self->group && rq->fair.root)
        sched_set_share(rq, next);
    __atomic_store_n(&self->hw.cpu->idle, next == rq->idle, __ATOMIC_RELAXED);
    switch_last(rq, self, next, cycles);
}

/* next was chosen because it is urgent. If others are too, it gives up the CPU as soon as it has no
   reason any more (sched_preempt); else each of them would use a tick. */
static void __attribute__((noinline)) end_hurry_early(struct thread *next)
{
    if (list_empty(&next->fair.queue->urgent))
        return;
    __atomic_store_n(&cpu_self()->resched, 1, __ATOMIC_RELAXED);
    __atomic_fetch_or(&next->hw.syscall_exit, EXIT_RESCHED, __ATOMIC_RELAXED);
}

/* The best ready thread, which is taken off its queue; the idle thread if there is none. rq is
   locked, and no fair thread is current. */
static struct thread *pick(struct runq *rq, uint32_t cycles)
{
    struct thread *next;

    if (unlikely(prioq_has(&rq->ready, PRIO_NORMAL + 1)))
        return thread_of_link(prioq_pop(&rq->ready));
    if (likely(rq->fair_ready != 0)) {
        next = thread_of_node(fair_pick(&rq->fair, cycles));
        runq_note_taken(rq, next, NULL);
        if (unlikely(next->fair.urgent != FAIR_CALM))
            end_hurry_early(next);
        return next;
    }
    return rq->ready.bitmap ? thread_of_link(prioq_pop(&rq->ready)) : rq->idle;
}

/* A reschedule that was requested of this CPU is being made. */
static inline void clear_resched(struct runq *rq, struct thread *self)
{
    rq->pass = false;
    __atomic_store_n(&self->hw.cpu->resched, 0, __ATOMIC_RELAXED);
    __atomic_fetch_and(&self->hw.syscall_exit, ~EXIT_RESCHED, __ATOMIC_RELAXED);
}

/* The current thread, accounted for, has stopped being ready: switch to the best one. */
static void __attribute__((noinline)) stop_and_pick(struct runq *rq, uint32_t cycles)
{
    struct thread *self = thread_self();

    if (self->prio == PRIO_NORMAL)
        runq_stop(rq, self, cycles);
    if (self->hw.cpu->resched)
        clear_resched(rq, self);
    switch_any(rq, pick(rq, cycles), cycles);
}

/* The current thread, whose state is set, stops being ready, and another runs. rq is this CPU's,
   locked; as switch_last(). If nothing else is to be decided, the CPU stays with the thread's
   group, whose next thread is often its only other one: that is the short path. */
static inline __attribute__((always_inline)) void stop_and_switch(struct runq *rq)
{
    struct thread *self = thread_self(), *next;
    uint32_t cycles = clock_cycles();
    struct fair_node *n;

    account(self, cycles);
    if (unlikely(self->prio != PRIO_NORMAL || self->hw.cpu->resched ||
                 !(n = self->fair.queue->root) || fair_has_children(n) || n->inner)) {
        stop_and_pick(rq, cycles);
        return;
    }
    self->fair.queue->current = fair_pop(self->fair.queue);
    next = thread_of_node(n);
    runq_note_taken(rq, next, self);
    switch_last(rq, self, next, cycles);
}

void sched_block_locked(struct runq *rq)
{
    thread_state_set_locked(thread_self(), THREAD_WAITING);
    stop_and_switch(rq);
}

void sched_exit_current(void)
{
    ipl_set(IPL_CLOCK);

    struct runq *rq = runq_self();

    fp_abandon();
    spin_lock_at_ipl(&rq->lock);
    thread_state_set_locked(thread_self(), THREAD_DEAD);
    rq->after = AFTER_RETIRE;
    stop_and_switch(rq);
    panic("a dead thread runs");
}

void sched_thread_start(struct thread_hw *previous)
{
    (void)previous;
    sched_finish_switch();
    ipl_restore(IPL_NONE);
    thread_self()->entry(thread_self()->arg);
    thread_exit();
}

/* Put the current thread, which stays ready and is accounted for, on its queue, and return the
   thread that is to run; with `pass` another one, if there is any of its priority or above. */
static struct thread *requeue(struct runq *rq, bool pass, uint32_t cycles)
{
    struct thread *self = thread_self(), *next;

    if (self->prio != PRIO_NORMAL) {
        if (self == rq->idle)
            return pick(rq, cycles);
        if (pass)
            prioq_add_tail(&rq->ready, &self->run_link, self->prio);
        else
            prioq_add_head(&rq->ready, &self->run_link, self->prio);
        return pick(rq, cycles);
    }
    if (pass && !prioq_has(&rq->ready, PRIO_NORMAL + 1)) {
        next = thread_of_node(fair_pass(&self->fair, cycles));
        if (next != self) {
            runq_note_taken(rq, next, NULL);
            runq_note_ready(rq, self, false);
        }
        return next;
    }
    fair_put_back(&self->fair, cycles);
    runq_note_ready(rq, self, false);
    if (unlikely(thread_comes_first(self)))
        fair_hurry(&self->fair);
    else
        self->grace = 0;
    return pick(rq, cycles);
}

/*
 * The current thread gives up the CPU but stays ready. If its affinity no longer includes this CPU,
 * the next thread that runs here moves it to another CPU, once its stack is not in use
 * (after_switch). rq is this CPU's, locked; returns with the lock released, at IPL_CLOCK or above.
 */
static void requeue_and_schedule(struct runq *rq, bool pass)
{
    struct thread *self = thread_self(), *next;
    uint32_t cycles;

    thread_state_set_locked(self, THREAD_RUNNABLE);
    if (unlikely(!(self->affinity & (1ul << runq_cpu(rq))))) {
        rq->after = AFTER_CARRY;
        stop_and_switch(rq);
        sched_finish_switch();
        return;
    }
    cycles = clock_cycles();
    account(self, cycles);
    clear_resched(rq, self);
    next = requeue(rq, pass, cycles);
    if (next != self) {
        switch_any(rq, next, cycles);
        sched_finish_switch();
        return;
    }
    thread_state_set_locked(self, THREAD_RUNNING);
    spin_unlock_at_ipl(&rq->lock);
}

void sched_preempt(void)
{
    ipl_t old = ipl_set(IPL_CLOCK);
    struct runq *rq = runq_self();

    /* One that was chosen because others may wait for it goes on until they need not. */
    if (__atomic_load_n(&cpus[runq_cpu(rq)].resched, __ATOMIC_RELAXED) &&
        !(unlikely(thread_self()->fair.urgent == FAIR_HURRIED) &&
          thread_may_hurry(thread_self()))) {
        spin_lock_at_ipl(&rq->lock);
        requeue_and_schedule(rq, rq->pass);
    }
    ipl_set(old);
}

/* Other interrupts are let in between the one that asked for the reschedule and the switch, which
   take some thousand instructions together when many threads are ready. Those find the reschedule
   pending too, and leave it to this one: else each would be taken on top of the last, down the
   stack. Threads are not moved meanwhile, so c stays this CPU's. */
void sched_preempt_late(void)
{
    struct cpu *c = cpu_self();
    ipl_t ipl;

    if (__atomic_load_n(&c->preempting, __ATOMIC_RELAXED))
        return;
    __atomic_store_n(&c->preempting, 1, __ATOMIC_RELAXED);
    ipl = ipl_set(IPL_NONE);
    ipl_set(ipl);
    __atomic_store_n(&c->preempting, 0, __ATOMIC_RELAXED);
    sched_preempt();
}

/* Another thread was ready a moment ago. pc: of the call of thread_yield(). */
static void __attribute__((noinline)) yield_slowly(uint64_t pc)
{
    ipl_t old = ipl_set(IPL_CLOCK);
    struct runq *rq = runq_self();

    if (unlikely(old != IPL_NONE || thread_spin_top(thread_self()) != NULL))
        lockcheck_may_not("yields", old, pc);
    spin_lock_at_ipl(&rq->lock);
    if (runq_has(rq, thread_self()->prio)) {
        if (likely(thread_self()->prio == PRIO_NORMAL))
            fair_forgo(&thread_self()->fair);
        requeue_and_schedule(rq, true);
    } else {
        spin_unlock_at_ipl(&rq->lock);
    }
    ipl_set(old);
}

/* Only a hint: at IPL 0 this thread may be moved to another CPU between the reads. */
void thread_yield(void)
{
    const struct runq *rq = runq_self();

    if (__atomic_load_n(&rq->fair_ready, __ATOMIC_RELAXED) ||
        __atomic_load_n(&rq->ready.bitmap, __ATOMIC_RELAXED) >> thread_self()->prio)
        yield_slowly((uint64_t)__builtin_return_address(0));
}

int thread_while_off_cpu(const struct thread *t, void (*fn)(void *), void *arg)
{
    ipl_t ipl = ipl_raise(IPL_CLOCK);
    struct runq *rq = runq_lock_of(t);
    int cpu = t->state == THREAD_RUNNING ? (int)runq_cpu(rq) : -1;

    if (cpu < 0)
        fn(arg);
    spin_unlock_at_ipl(&rq->lock);
    ipl_restore(ipl);
    return cpu;
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
