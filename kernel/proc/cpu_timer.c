/* Timers of CPU time: cpu_timer.h. */
#include "kernel/proc/cpu_timer.h"

#include "kernel/proc/ast.h"
#include "kernel/proc/process.h"
#include "kernel/proc/rlimit.h"
#include "kernel/proc/signal.h"

#define NS_PER_SECOND UINT64_C(1000000000)

static const int signal_of[CPU_TIMERS] = {SIGVTALRM, SIGPROF};

/* What the timer counts. */
static uint64_t time_of(enum cpu_timer which, struct cpu_time used)
{
    return used.user_ns + (which == CPU_TIMER_PROF ? used.system_ns : 0);
}

static void watch(struct process *p)
{
    __atomic_store_n(&p->cpu_timers.watched, true, __ATOMIC_SEQ_CST);
}

void cpu_timers_watch(void) { watch(process_self()); }

static bool has_limit(const struct process *p)
{
    return rlimit_soft(p, RLIMIT_CPU) < RLIM_INFINITY;
}

static void send_locked(struct process *p, int sig)
{
    const struct signal_info info = {.signo = sig, .code = SI_KERNEL};

    signal_send_locked(p, &info);
}

static uint64_t left_of(uint64_t at, uint64_t now) { return !at ? 0 : at > now ? at - now : 1; }

void cpu_timer_set(enum cpu_timer which, uint64_t first, uint64_t every, uint64_t *left,
                   uint64_t *old_every)
{
    struct process *p = process_self();
    uint64_t now = time_of(which, process_cpu_time(p));
    ipl_t ipl = spin_lock(&p->sig->lock);

    *left = left_of(p->cpu_timers.timer[which].at, now);
    *old_every = p->cpu_timers.timer[which].every;
    p->cpu_timers.timer[which].at = first ? now + first : 0;
    p->cpu_timers.timer[which].every = every;
    if (first)
        watch(p);
    spin_unlock(&p->sig->lock, ipl);
}

void cpu_timer_get(enum cpu_timer which, uint64_t *left, uint64_t *every)
{
    struct process *p = process_self();
    uint64_t now = time_of(which, process_cpu_time(p));
    ipl_t ipl = spin_lock(&p->sig->lock);

    *left = left_of(p->cpu_timers.timer[which].at, now);
    *every = p->cpu_timers.timer[which].every;
    spin_unlock(&p->sig->lock, ipl);
}

void cpu_timers_limit_set(struct process *p)
{
    if (has_limit(p))
        watch(p);
}

/* SIGKILL at the hard limit, SIGXCPU at the soft one and at each second after it. */
static void check_limit_locked(struct process *p, uint64_t used_ns)
{
    uint64_t second = used_ns / NS_PER_SECOND, soft = rlimit_soft(p, RLIMIT_CPU);

    if (second >= MAX(__atomic_load_n(&p->limits[RLIMIT_CPU].hard, __ATOMIC_RELAXED), 1ul)) {
        if (!p->sig->ending)
            p->cpu_timers.exceeded = true;
        send_locked(p, SIGKILL);
    } else if (second >= MAX(soft, 1ul) && second >= p->cpu_timers.warned_s) {
        p->cpu_timers.warned_s = second + 1;
        send_locked(p, SIGXCPU);
    }
}

void cpu_timers_check(void)
{
    struct process *p = process_self();
    struct event_owner *o = process_events_now(p);
    struct cpu_time used;
    bool any;
    ipl_t ipl;

    __atomic_fetch_and(&current_hw->syscall_exit, ~EXIT_CPU_TIME, __ATOMIC_RELAXED);
    used = process_cpu_time(p);
    any = o && event_cpu_timers_expire(o, used.user_ns + used.system_ns);
    ipl = spin_lock(&p->sig->lock);
    any |= has_limit(p);
    if (has_limit(p))
        check_limit_locked(p, used.user_ns + used.system_ns);
    for (unsigned k = 0; k < CPU_TIMERS; k++) {
        uint64_t now = time_of(k, used), at = p->cpu_timers.timer[k].at;
        uint64_t every = p->cpu_timers.timer[k].every;

        if (at && now >= at) {
            send_locked(p, signal_of[k]);
            at = every ? now + every - (now - at) % every : 0; /* missed ones are not made up for */
            p->cpu_timers.timer[k].at = at;
        }
        any |= at != 0;
    }
    __atomic_store_n(&p->cpu_timers.watched, any, __ATOMIC_SEQ_CST);
    spin_unlock(&p->sig->lock, ipl);
    if (any)
        return;
    /* A limit may have been set meanwhile, by another process, or a timer, by another thread, which
     * is on its list before it calls watch. */
    cpu_timers_limit_set(p);
    if (o && event_has_cpu_timers(o))
        watch(p);
}

/* A tick has met t in user mode, so its process exists. */
static void user_tick(struct thread *t)
{
    const struct process *p = t->process;

    if (p && unlikely(__atomic_load_n(&p->cpu_timers.watched, __ATOMIC_RELAXED)))
        __atomic_fetch_or(&t->hw.syscall_exit, EXIT_CPU_TIME, __ATOMIC_RELAXED);
}

void cpu_timers_boot(void) { sched_user_tick = user_tick; }
