/*
 * Timers of timer_create (posix_timer.h).
 *
 * A timer that expires sends its signal, and counts the expirations from then on by the time that
 * passes: the thread that takes the signal gets the number of those that were missed, and starts
 * the next interval, in its own time, as with ITIMER_REAL (alarm.c). So there is at most one signal
 * of a timer pending, and an interval whose signal nobody takes costs next to nothing.
 *
 * A signal that is pending already, by another timer or another sender, cannot be entered a second
 * time here: a timer's function, which runs in the clock interrupt, can allocate nothing. The timer
 * then tries again some time later. It does so too while its signal is ignored, and to find out
 * whether its pending signal was discarded. The time between two tries doubles each time, from
 * RETRY_NS up to RETRY_MOST_NS, until a signal is taken.
 *
 * Two expirations of a timer that interrupt are at least TIMER_FLOOR_NS apart, and TIMER_EACH_NS
 * for each timer that the user has, as in alarm.c. Each timer is charged as one, and its block of
 * memory is part of that.
 *
 * Locks: the signal lock protects all state; the timer's function takes it at IPL_CLOCK. To stop a
 * timer, a thread cancels it, or waits without the lock until its function has run (`armed`, as in
 * alarm.c); meanwhile p->settings_mutex, which every call that changes timers holds, keeps it from
 * being freed.
 */
#include "kernel/proc/posix_timer.h"

#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/proc/process.h"
#include "kernel/proc/signal.h"
#include "kernel/proc/threads.h"
#include "kernel/quota/quota.h"
#include "mm/pool/pool_charged.h"

#define TIMER_FLOOR_NS 100000u
#define TIMER_EACH_NS  50000u
#define RETRY_NS       1000000u
#define RETRY_MOST_NS  1000000000u

#define CHUNK            64u /* timers of a process whose pointers are in one block */
#define CHUNKS           64u
#define POSIX_TIMERS_MAX (CHUNK * CHUNKS)
#define FORGET_AT_ONCE   8u
#define OVERRUNS_MAX     UINT64_C(0x7FFFFFFF) /* DELAYTIMER_MAX */

struct posix_timer { /* nonpaged pool; signal lock, but what is constant */
    struct timer timer;
    struct process *process;      /* constant */
    struct posix_timer_wish wish; /* constant */
    uint32_t number;              /* constant */
    uint16_t account;             /* pool_account(); constant */
    bool armed;                   /* the timer is pending, or its function is about to run */
    bool due;                     /* it has expired, and its signal was not taken yet */
    bool sent;                    /* its signal was entered as pending */
    struct uthread *target;       /* of wish.tid; NULL: none, or it has ended */
    struct list aimed;            /* in target->timers */
    uint64_t deadline;            /* of clock_ns(): the next, or that which is due; 0: off */
    uint64_t interval;            /* ns; 0: none */
    uint64_t last;                /* when its function ran last */
    uint64_t retry;               /* ns until the next try */
    uint64_t overrun;             /* of the signal that was taken last */
};

/* In nonpaged pool, from the first timer of a process on. */
struct posix_timers {
    struct posix_timer **chunk[CHUNKS]; /* signal lock; NULL: none was needed yet */
    uint64_t taken[CHUNKS];             /* settings_mutex: a bit for each number */
    uint16_t account;                   /* charged for the blocks of pointers; constant */
};

static uint64_t floor_of(const struct posix_timer *t)
{
    const struct quota_count *c = &accounts[t->account].count[QUOTA_TIMERS];
    uint64_t used = __atomic_load_n(&c->used, __ATOMIC_RELAXED);

    return t->last ? t->last + MAX(TIMER_EACH_NS * used, TIMER_FLOOR_NS) : 0;
}

static void arm_locked(struct posix_timer *t, uint64_t at)
{
    t->armed = true;
    timer_start(&t->timer, MAX(at, floor_of(t)));
}

/* ---- expiration ---- */

/* The pending set that its signal belongs to. */
static struct sigpending *pending_of(const struct posix_timer *t)
{
    return t->target ? &t->target->pending : &t->process->sig->pending;
}

/* Is the signal that the timer has sent still pending? */
static bool is_pending_locked(const struct posix_timer *t)
{
    const struct sigpending *q = pending_of(t);
    const struct signal_info *info = &q->info[t->wish.signo - 1];

    return (q->set & SIGBIT(t->wish.signo)) && info->code == SI_TIMER && info->pid == t->number;
}

static void send_locked(struct posix_timer *t)
{
    struct signal_info info = {.signo = t->wish.signo,
                               .code = SI_TIMER,
                               .pid = t->number,
                               .value = t->wish.own_value ? t->number : t->wish.value};

    if (t->wish.tid && !t->target)
        return; /* the thread has ended */
    if (!(pending_of(t)->set & SIGBIT(t->wish.signo)))
        signal_send_timer_locked(t->process, t->target, &info);
    t->sent = is_pending_locked(t);
}

/* A timer without an interval has done its part when its signal is pending, even if that is
 * discarded later. */
static bool is_done(const struct posix_timer *t) { return t->sent && !t->interval; }

static void fire_locked(struct posix_timer *t)
{
    if (!t->due)
        t->retry = RETRY_NS;
    t->due = true;
    if (!t->sent || !is_pending_locked(t))
        send_locked(t);
    if (is_done(t))
        return;
    arm_locked(t, t->last + t->retry);
    t->retry = MIN(2 * t->retry, RETRY_MOST_NS);
}

static void expired(struct timer *timer)
{
    struct posix_timer *t = container_of(timer, struct posix_timer, timer);
    struct sighand *s = t->process->sig;
    ipl_t ipl = spin_lock(&s->lock);

    t->armed = false;
    t->last = clock_ns();
    if (t->deadline > t->last) /* a try, while the signal was taken: posix_timer_taken_locked */
        arm_locked(t, t->deadline);
    else if (t->deadline)
        fire_locked(t);
    spin_unlock(&s->lock, ipl);
}

static struct posix_timer *find_locked(const struct process *p, uint64_t number)
{
    const struct posix_timers *all = p->timers;

    if (!all || number >= POSIX_TIMERS_MAX || !all->chunk[number / CHUNK])
        return NULL;
    return all->chunk[number / CHUNK][number % CHUNK];
}

/* Begin the next interval, after one that was due. Returns how many expirations were missed. */
static uint64_t next_locked(struct posix_timer *t, uint64_t now)
{
    uint64_t missed = t->interval && now > t->deadline ? (now - t->deadline) / t->interval : 0;

    t->due = t->sent = false;
    t->deadline = t->interval ? t->deadline + (missed + 1) * t->interval : 0;
    return missed;
}

void posix_timer_taken_locked(struct process *p, struct signal_info *info)
{
    struct posix_timer *t = find_locked(p, info->pid);

    /* A process may have sent itself a signal that looks like one of a timer. */
    if (!t || !t->sent || t->wish.signo != info->signo)
        return;
    t->overrun = MIN(next_locked(t, clock_ns()), OVERRUNS_MAX);
    info->uid = (uint32_t)t->overrun;
    /* If a try is under way, waiting for the lock, it finds that the deadline has moved and starts
     * the timer; that must not be done twice. */
    if (t->armed && timer_cancel(&t->timer))
        t->armed = false;
    if (t->deadline && !t->armed)
        arm_locked(t, t->deadline);
}

/* ---- the calls ---- */

/* Stop the timer. On return its function does not run any more, and the signal lock is held;
 * returns the IPL to restore. IPL 0; waits. */
static ipl_t stop(struct posix_timer *t)
{
    struct sighand *s = t->process->sig;

    for (;;) {
        ipl_t ipl = spin_lock(&s->lock);

        if (t->armed && timer_cancel(&t->timer))
            t->armed = false;
        if (!t->armed)
            return ipl;
        spin_unlock(&s->lock, ipl);
        thread_yield();
    }
}

/* What is left at `now`: of one that is due, as if the next interval had begun. */
static void setting_locked(const struct posix_timer *t, uint64_t now,
                           struct posix_timer_setting *to)
{
    uint64_t next = t->deadline;

    if (next && next <= now && t->interval)
        next += ((now - next) / t->interval + 1) * t->interval;
    else if (next && (t->due || t->wish.silent) && next <= now)
        next = 0;
    *to = (struct posix_timer_setting){.first = !next        ? 0
                                                : next > now ? next - now
                                                             : 1,
                                       .interval = t->interval};
}

/* A time of the timer's clock, or from now on, as one of clock_ns(). */
static uint64_t deadline_of(const struct posix_timer *t, const struct posix_timer_setting *to,
                            uint64_t now)
{
    uint64_t base = t->wish.realtime ? clock_wall_ns() - now : 0;

    if (!to->absolute)
        return to->first > INT64_MAX - now ? INT64_MAX : now + to->first;
    return to->first > base ? to->first - base : 1;
}

static int set(struct process *p, uint64_t number, const struct posix_timer_setting *to,
               struct posix_timer_setting *was)
{
    struct posix_timer *t = find_locked(p, number); /* settings_mutex keeps it */
    uint64_t now;
    ipl_t ipl;

    if (!t)
        return -EINVAL;
    ipl = stop(t);
    now = clock_ns();
    setting_locked(t, now, was);
    t->due = t->sent = false;
    t->overrun = 0;
    t->interval = to->first ? to->interval : 0;
    t->deadline = to->first ? deadline_of(t, to, now) : 0;
    if (t->deadline && !t->wish.silent) /* what tells nobody needs no interrupt */
        arm_locked(t, t->deadline);
    spin_unlock(&p->sig->lock, ipl);
    return 0;
}

int posix_timer_set(uint64_t number, const struct posix_timer_setting *to,
                    struct posix_timer_setting *was)
{
    struct process *p = process_self();
    int err;

    mutex_lock(&p->settings_mutex);
    err = set(p, number, to, was);
    mutex_unlock(&p->settings_mutex);
    return err;
}

int posix_timer_get(uint64_t number, struct posix_timer_setting *now)
{
    struct process *p = process_self();
    ipl_t ipl = spin_lock(&p->sig->lock);
    const struct posix_timer *t = find_locked(p, number);

    if (t)
        setting_locked(t, clock_ns(), now);
    spin_unlock(&p->sig->lock, ipl);
    return t ? 0 : -EINVAL;
}

long posix_timer_overrun(uint64_t number)
{
    struct process *p = process_self();
    ipl_t ipl = spin_lock(&p->sig->lock);
    const struct posix_timer *t = find_locked(p, number);
    long overrun = t ? (long)t->overrun : -EINVAL;

    spin_unlock(&p->sig->lock, ipl);
    return overrun;
}

/* ---- creation ---- */

/* The table, and the block of pointers that the number is in. settings_mutex is held. */
static int make_place(struct process *p, uint32_t *number)
{
    struct posix_timers *all = p->timers;
    struct posix_timer **chunk;
    unsigned k = 0;
    ipl_t ipl;

    if (!all) {
        uint16_t account = pool_account();

        all = npp_alloc_charged(sizeof(*all), account);
        if (!all)
            return -ENOMEM;
        memset(all, 0, sizeof(*all));
        all->account = account;
        ipl = spin_lock(&p->sig->lock);
        p->timers = all;
        spin_unlock(&p->sig->lock, ipl);
    }
    while (k < CHUNKS && !~all->taken[k])
        k++;
    if (k == CHUNKS)
        return -EAGAIN;
    *number = k * CHUNK + (uint32_t)__builtin_ctzl(~all->taken[k]);
    if (all->chunk[k])
        return 0;
    chunk = npp_alloc_charged(CHUNK * sizeof(*chunk), all->account);
    if (!chunk)
        return -ENOMEM;
    memset(chunk, 0, CHUNK * sizeof(*chunk));
    ipl = spin_lock(&p->sig->lock);
    all->chunk[k] = chunk;
    spin_unlock(&p->sig->lock, ipl);
    return 0;
}

/* Enter t into the table, and aim it at its thread. -EINVAL: there is no such thread. */
static int enter(struct process *p, struct posix_timer *t)
{
    struct uthread *u = NULL;
    ipl_t ipl = spin_lock(&process_lock);
    int err = 0;

    if (t->wish.tid) {
        u = thread_find_locked(t->wish.tid);
        err = u && u->process == p ? 0 : -EINVAL;
    }
    if (!err) {
        spin_lock(&p->sig->lock); /* the thread is on the list, so it looks at its timers again */
        t->target = u;
        if (u && !u->timers.next)
            list_init(&u->timers);
        if (u)
            list_add_tail(&u->timers, &t->aimed);
        p->timers->taken[t->number / CHUNK] |= UINT64_C(1) << t->number % CHUNK;
        p->timers->chunk[t->number / CHUNK][t->number % CHUNK] = t;
        spin_unlock(&p->sig->lock, IPL_ASTDEL);
    }
    spin_unlock(&process_lock, ipl);
    return err;
}

static long create(struct process *p, const struct posix_timer_wish *wish)
{
    uint16_t account = pool_account();
    struct posix_timer *t;
    uint32_t number;
    bool full;
    int err = make_place(p, &number);

    if (err)
        return err;
    t = npp_alloc_counted(sizeof(*t), QUOTA_TIMERS, account, &full);
    if (!t)
        return full ? -EAGAIN : -ENOMEM;
    memset(t, 0, sizeof(*t));
    t->timer.fn = expired;
    t->process = p;
    t->wish = *wish;
    t->number = number;
    t->account = account;
    list_init(&t->aimed);
    err = enter(p, t);
    if (err) {
        npp_free_counted(t, sizeof(*t), QUOTA_TIMERS, account);
        return err;
    }
    return number;
}

long posix_timer_create(const struct posix_timer_wish *wish)
{
    struct process *p = process_self();
    long r;

    mutex_lock(&p->settings_mutex);
    r = create(p, wish);
    mutex_unlock(&p->settings_mutex);
    return r;
}

/* ---- the end ---- */

/* The pending signal of a timer that ends. One that others are queued behind stays. */
static void forget_signal_locked(const struct posix_timer *t)
{
    struct sigpending *q = pending_of(t);

    if (t->sent && !q->queue && is_pending_locked(t))
        __atomic_store_n(&q->set, q->set & ~SIGBIT(t->wish.signo), __ATOMIC_RELAXED);
}

static void remove_timer(struct process *p, struct posix_timer *t)
{
    ipl_t ipl = stop(t);

    forget_signal_locked(t);
    list_remove(&t->aimed);
    p->timers->taken[t->number / CHUNK] &= ~(UINT64_C(1) << t->number % CHUNK);
    p->timers->chunk[t->number / CHUNK][t->number % CHUNK] = NULL;
    spin_unlock(&p->sig->lock, ipl);
    npp_free_counted(t, sizeof(*t), QUOTA_TIMERS, t->account);
}

int posix_timer_delete(uint64_t number)
{
    struct process *p = process_self();
    struct posix_timer *t;

    mutex_lock(&p->settings_mutex);
    t = find_locked(p, number);
    if (t)
        remove_timer(p, t);
    mutex_unlock(&p->settings_mutex);
    return t ? 0 : -EINVAL;
}

void posix_timers_forget(struct uthread *u)
{
    struct sighand *s = u->process->sig;
    struct list *l;

    do {
        ipl_t ipl = spin_lock(&s->lock);

        for (unsigned n = 0; n < FORGET_AT_ONCE && (l = list_pop_head(&u->timers)); n++)
            list_entry(l, struct posix_timer, aimed)->target = NULL;
        spin_unlock(&s->lock, ipl);
    } while (l);
}

void posix_timers_end(struct process *p)
{
    struct posix_timers *all = p->timers;
    ipl_t ipl;

    if (likely(!all))
        return;
    for (uint32_t k = 0; k < CHUNKS; k++) {
        for (uint32_t n = 0; all->chunk[k] && n < CHUNK; n++)
            if (all->chunk[k][n])
                remove_timer(p, all->chunk[k][n]);
    }
    ipl = spin_lock(&p->sig->lock); /* a signal that looks like one of a timer looks here */
    p->timers = NULL;
    spin_unlock(&p->sig->lock, ipl);
    for (uint32_t k = 0; k < CHUNKS; k++)
        if (all->chunk[k])
            npp_free_charged(all->chunk[k], CHUNK * sizeof(*all->chunk[k]), all->account);
    npp_free_charged(all, sizeof(*all), all->account);
}
