/*
 * Reports of broken locking rules (lockcheck.h). The functions run on the CPU that broke the rule,
 * with locks held and at any IPL; they take no lock. What they read of other threads (the holder of
 * a lock) may change meanwhile: it is used for the message only.
 */
#include "kernel/sched/lockcheck.h"

#include "kernel/base/format.h"
#include "kernel/base/panic.h"
#include "kernel/sched/ipi.h"
#include "kernel/sched/thread.h"

/* Arguments for "thread %u (%s)". */
#define WHO(t) (t)->tid, (t)->name

#define PLACE_TEXT 80u

/* ---- spinlocks ---- */

void lockcheck_spin_rank(const struct spinlock *l, const struct spinlock *top, uint64_t place)
{
    const struct thread *t = thread_self();

    if (panic_in_progress())
        return;
    for (const struct spinlock *h = thread_spin_top(t); h; h = h->below)
        if (h == l)
            panic("spinlock %s taken twice by thread %u (%s) on CPU %u: at %pS, and at %pS before",
                  l->name, WHO(t), cpu_id(), (void *)place, (void *)l->taken_at);
    panic("spinlock %s (rank %u) taken at %pS by thread %u (%s) on CPU %u with %s (rank %u) held, "
          "taken at %pS",
          l->name, l->rank, (void *)place, WHO(t), cpu_id(), top->name, top->rank,
          (void *)top->taken_at);
}

void lockcheck_spin_ipl(const struct spinlock *l, ipl_t ipl, uint64_t place)
{
    const struct thread *t = thread_self();

    if (panic_in_progress())
        return;
    if (thread_spin_top(t) && thread_spin_top(t)->ipl == ipl)
        panic("spinlock %s (IPL %u) taken at %pS by thread %u (%s) on CPU %u at IPL %lu, which is "
              "that of %s, taken at %pS",
              l->name, l->ipl, (void *)place, WHO(t), cpu_id(), ipl, thread_spin_top(t)->name,
              (void *)thread_spin_top(t)->taken_at);
    panic(
        "spinlock %s (IPL %u) taken at %pS by thread %u (%s) on CPU %u at IPL %lu; last raised at "
        "%pS",
        l->name, l->ipl, (void *)place, WHO(t), cpu_id(), ipl, (void *)t->hw.ipl_raised_at);
}

void lockcheck_spin_release(const struct spinlock *l, uint64_t place)
{
    const struct thread *t = thread_self(), *h = __atomic_load_n(&l->holder, __ATOMIC_RELAXED);

    if (panic_in_progress())
        return;
    if (h)
        panic("spinlock %s released at %pS by thread %u (%s) on CPU %u; it is held by thread %u "
              "(%s) on CPU %lu, which took it at %pS",
              l->name, (void *)place, WHO(t), cpu_id(), WHO(h), h->hw.cpu->id, (void *)l->taken_at);
    panic(
        "spinlock %s released at %pS by thread %u (%s) on CPU %u, and nobody holds it; last taken "
        "at %pS",
        l->name, (void *)place, WHO(t), cpu_id(), (void *)l->taken_at);
}

void lockcheck_ipl_lowered(const struct spinlock *held, ipl_t to, uint64_t place)
{
    const struct thread *t = thread_self();

    if (!panic_in_progress())
        panic("IPL lowered to %lu at %pS by thread %u (%s) on CPU %u with spinlock %s (IPL %u) "
              "held, taken at %pS",
              to, (void *)place, WHO(t), cpu_id(), held->name, held->ipl, (void *)held->taken_at);
}

void lockcheck_spun(const struct spinlock *l, uint64_t ms, uint64_t place)
{
    const struct thread *t = thread_self(), *h = __atomic_load_n(&l->holder, __ATOMIC_RELAXED);

    if (panic_in_progress())
        return;
    if (h == NULL)
        panic("spinlock %s: thread %u (%s) on CPU %u spun for %lu ms at %pS, and nobody holds it",
              l->name, WHO(t), cpu_id(), ms, (void *)place);
    panic(
        "spinlock %s: thread %u (%s) on CPU %u spun for %lu ms at %pS; held by CPU %lu (thread %s),"
        " which took it at %pS",
        l->name, WHO(t), cpu_id(), ms, (void *)place, h->hw.cpu->id, h->name, (void *)l->taken_at);
}

/* ---- mutexes ---- */

/* Is this CPU not yet online? Until then it runs at raised IPL. */
static bool booting(void)
{
    return !((__atomic_load_n(&cpu_online_mask, __ATOMIC_RELAXED) >> cpu_id()) & 1);
}

/*
 * May t take another mutex of this rank? Address spaces: yes, fork takes the parent's and then the
 * child's. Directories: only while it holds the single mutex of rank MUTEX_RENAME exclusively. No
 * other thread then waits for a directory while holding one, so whatever the order, there is no
 * cycle of waiting threads.
 */
static bool rank_may_nest(const struct thread *t, unsigned rank)
{
    if (rank != MUTEX_DIRECTORY)
        return rank == MUTEX_ASPACE;
    for (uint32_t i = 0; i < t->held_mutexes; i++)
        if (t->held[i]->rank == MUTEX_RENAME)
            return mutex_held(t->held[i]);
    return false;
}

/* The PC at which t took m; 0 if it does not hold m. */
static uint64_t place_of(const struct thread *t, const struct mutex *m)
{
    for (uint32_t i = (uint32_t)MIN(t->held_mutexes, (uint64_t)MUTEXES_HELD_MAX); i > 0; i--)
        if (t->held[i - 1] == m)
            return t->held_at[i - 1];
    return 0;
}

static void __attribute__((cold, noreturn)) bad_state(const struct mutex *m, const struct thread *t,
                                                      uint64_t place)
{
    const struct spinlock *l = thread_spin_top(t);

    if (l)
        panic("mutex %s taken at %pS by thread %u (%s) on CPU %u with spinlock %s held, taken at "
              "%pS",
              m->name, (void *)place, WHO(t), cpu_id(), l->name, (void *)l->taken_at);
    panic("mutex %s taken at %pS by thread %u (%s) on CPU %u at IPL %lu, raised at %pS", m->name,
          (void *)place, WHO(t), cpu_id(), ipl_get(), (void *)t->hw.ipl_raised_at);
}

void lockcheck_mutex(const struct mutex *m, bool rank, uint64_t place)
{
    const struct thread *t = thread_self();
    uint64_t n = t->held_mutexes;
    const struct mutex *top = n ? t->held[n - 1] : NULL;
    uint64_t before = place_of(t, m);

    if (thread_spin_top(t) || (ipl_get() != IPL_NONE && !booting()))
        bad_state(m, t, place);
    if (before)
        panic("mutex %s taken twice by thread %u (%s): at %pS, and at %pS before", m->name, WHO(t),
              (void *)place, (void *)before);
    if (n == MUTEXES_HELD_MAX)
        panic("mutex %s taken at %pS by thread %u (%s), which holds %u already "
              "(MUTEXES_HELD_MAX), the last, %s, taken at %pS",
              m->name, (void *)place, WHO(t), (unsigned)n, top->name, (void *)t->held_at[n - 1]);
    if (rank && top &&
        (top->rank > m->rank || (top->rank == m->rank && !rank_may_nest(t, m->rank))))
        panic("mutex %s (rank %u) taken at %pS by thread %u (%s) with %s (rank %u) held, taken at "
              "%pS",
              m->name, m->rank, (void *)place, WHO(t), top->name, top->rank,
              (void *)t->held_at[n - 1]);
}

void lockcheck_mutex_release(const struct mutex *m, uint64_t place)
{
    const struct thread *t = thread_self(), *h = __atomic_load_n(&m->owner, __ATOMIC_RELAXED);
    uint64_t own = place_of(t, m);

    if (own)
        panic("mutex %s released at %pS by thread %u (%s) as its %s, as which it was not taken, at "
              "%pS",
              m->name, (void *)place, WHO(t), h == t ? "reader" : "writer", (void *)own);
    /* The owner cannot end while it holds m, so it may be accessed. */
    if (h)
        panic("mutex %s released at %pS by thread %u (%s); it is held by thread %u (%s), which "
              "took it at %pS",
              m->name, (void *)place, WHO(t), WHO(h), (void *)place_of(h, m));
    panic("mutex %s released at %pS by thread %u (%s), which does not hold it; its word is %#lx",
          m->name, (void *)place, WHO(t), __atomic_load_n(&m->state, __ATOMIC_RELAXED));
}

/* ---- actions that require that no lock is held ---- */

void lockcheck_may_not(const char *does, ipl_t ipl, uint64_t place)
{
    const struct thread *t = thread_self();
    const struct spinlock *l = thread_spin_top(t);

    if (l)
        panic("thread %u (%s) on CPU %u %s at %pS with spinlock %s held, taken at %pS", WHO(t),
              cpu_id(), does, (void *)place, l->name, (void *)l->taken_at);
    panic("thread %u (%s) on CPU %u %s at %pS at IPL %lu, raised at %pS", WHO(t), cpu_id(), does,
          (void *)place, ipl, (void *)t->hw.ipl_raised_at);
}

void lockcheck_left(const char *does, uint64_t place)
{
    const struct thread *t = thread_self();
    const struct spinlock *l = thread_spin_top(t);
    uint64_t n = t->held_mutexes;
    char at[PLACE_TEXT] = "";

    if (place)
        format(at, sizeof(at), " at %pS", (void *)place);
    panic("thread %u (%s) on CPU %u %s%s with %s %s held, taken at %pS", WHO(t), cpu_id(), does, at,
          l ? "spinlock" : "mutex",
          l   ? l->name
          : n ? t->held[n - 1]->name
              : "(none)",
          l   ? (void *)l->taken_at
          : n ? (void *)t->held_at[n - 1]
              : NULL);
}

void lockcheck_left_by_handler(const struct spinlock *l)
{
    if (!l)
        panic("an interrupt handler on CPU %u released the spinlocks of what it interrupted",
              cpu_id());
    panic("an interrupt handler on CPU %u comes back with spinlock %s held, taken at %pS", cpu_id(),
          l->name, (void *)l->taken_at);
}
