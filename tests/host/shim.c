/*
 * The machine and the scheduler for host tests: implements the headers in tests/host/include and is
 * linked into every test. A POSIX thread plays a CPU; its IPL and the locks that it holds are
 * thread-local. The handler of an interprocessor request runs at once, in the thread that sends it,
 * which acts as the target CPU meanwhile. That is deterministic, and possible because such handlers
 * take no ranked lock in the kernel either.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include "arch/alpha/hw/cpu.h"
#include "arch/alpha/hw/kseg.h"
#include "arch/alpha/hw/tb.h"
#include "kernel/base/panic.h"
#include "kernel/base/printk.h"
#include "kernel/lnm/lnm_private.h"
#include "kernel/quota/quota.h"
#include "kernel/sched/freeze.h"
#include "kernel/sched/ipi.h"
#include "kernel/sched/mutex.h"
#include "kernel/sched/rad.h"
#include "kernel/sched/thread.h"
#include "kernel/sched/timer.h"
#include "kernel/sched/turn.h"
#include "mm/check/validate.h"
#include "mm/object/object.h"
#include "mm/phys/failure.h"
#include "mm/pool/pool_census.h"

struct cpu cpus[MAX_CPUS] = {
    {.id = 0}, {.id = 1, .whami = 1}, {.id = 2, .whami = 2}, {.id = 3, .whami = 3}};
uint32_t cpu_count = 1;
uint32_t rad_count = 1;
cpumask_t cpu_online_mask = 1;
static struct thread nobody; /* runs where a test names no thread; never to end */
__thread struct thread_hw *current_hw = &nobody.hw;
__thread unsigned host_cpu_id;
__thread uint64_t host_ipl;
__thread struct account *host_account;
__thread uint64_t host_starved;
__thread uint64_t host_spin_locks; /* taken so far */
char *host_ram;
uint64_t host_tb_singles, host_tb_alls;
void (*host_tb_hook)(vaddr_t va);
void (*host_inject_hook)(enum mega_alloc kind);
int64_t *host_fail_at;

static __thread struct spinlock
    *innermost; /* spinlocks of this thread; its address names the thread */
static __thread unsigned mutex_ranks[16], mutex_depth;
static __thread unsigned rename_held; /* mutexes of MUTEX_RENAME, exclusively */

__attribute__((noreturn, format(printf, 1, 2))) static void broken(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    fputs("Bail out! ", stdout);
    vprintf(fmt, ap);
    putchar('\n');
    fflush(stdout);
    abort();
}

/* Weak: a test that expects a panic, or reads the console, defines its own. */
__attribute__((weak)) void panic(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    fputs("Bail out! panic: ", stdout);
    vprintf(fmt, ap);
    putchar('\n');
    fflush(stdout);
    abort();
}

__attribute__((weak)) void panic_register_dump(const char *name, void (*fn)(void))
{
    (void)name;
    (void)fn;
}

__attribute__((weak)) void printk(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    fputs("# ", stdout);
    vprintf(fmt, ap);
    fflush(stdout);
    va_end(ap);
}

/* The leak check needs the whole kernel: here the explanations of blocks are ignored. */
__attribute__((weak)) void census_explain(struct census *c, enum census_pool pool, size_t nbytes,
                                          uint64_t count)
{
    (void)c, (void)pool, (void)nbytes, (void)count;
}
__attribute__((weak)) void census_register(void (*explain)(struct census *c),
                                           const struct census_kind *kinds, unsigned nkinds)
{
    (void)explain, (void)kinds, (void)nkinds;
}

__attribute__((weak)) void census_error(struct census *c, const char *fmt, ...)
{
    (void)c;
    broken("census: %s", fmt);
}

__attribute__((weak)) void object_census(struct census *c, const struct mm_object *o)
{
    (void)c, (void)o;
}

__attribute__((weak)) void validate_file_object(struct validate *v, struct mm_object *o)
{
    (void)v, (void)o;
}

__attribute__((weak)) void validate_error(struct validate *v, const char *fmt, ...)
{
    (void)v;
    broken("validate: %s", fmt);
}

__attribute__((weak)) void lnm_census_boot(void) {}

__attribute__((constructor)) static void host_ram_map(void)
{
    void *p = mmap(NULL, HOST_RAM_BYTES, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (p == MAP_FAILED)
        broken("no address space for the guest's memory");
    host_ram = p;
}

void host_ram_reset(void)
{
    if (madvise(host_ram, HOST_RAM_BYTES, MADV_DONTNEED))
        broken("madvise failed");
}

bool sched_loop_point(void) { return thread_killed(); }
void thread_yield(void) {}

void host_cpu_enter(unsigned id, struct thread_hw *t)
{
    host_cpu_id = id;
    current_hw = t ? t : &nobody.hw;
    cpus[id].current = t;
}

void tb_invalidate_single(vaddr_t va)
{
    __atomic_add_fetch(&host_tb_singles, 1, __ATOMIC_RELAXED);
    if (host_tb_hook)
        host_tb_hook(va);
}

void tb_invalidate_all(void)
{
    __atomic_add_fetch(&host_tb_alls, 1, __ATOMIC_RELAXED);
    if (host_tb_hook)
        host_tb_hook(HOST_TB_ALL);
}

uint64_t host_clock_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

uint64_t clock_ns(void) { return host_clock_ns(); }

/* ---- interprocessor requests ---- */

static void (*ipi_handlers[IPI_REASONS])(void);

void ipi_register(enum ipi_reason r, void (*fn)(void)) { ipi_handlers[r] = fn; }

static void as_each_cpu(cpumask_t mask, void (*fn)(void *), void *arg)
{
    unsigned self = host_cpu_id;
    uint64_t ipl = pal_swpipl(IPL_IPI);

    for (unsigned i = 0; i < MAX_CPUS; i++)
        if (mask & (1ul << i)) {
            host_cpu_id = i;
            fn(arg);
        }
    host_cpu_id = self;
    pal_swpipl(ipl);
}

static void run_handler(void *arg) { (*(void (**)(void))arg)(); }

void ipi_send(cpumask_t mask, enum ipi_reason r)
{
    mask &= __atomic_load_n(&cpu_online_mask, __ATOMIC_ACQUIRE) & ~(1ul << host_cpu_id);
    if (ipi_handlers[r])
        as_each_cpu(mask, run_handler, &ipi_handlers[r]);
}

void ipi_poll(void) {}
void ipi_call(cpumask_t mask, void (*fn)(void *), void *arg)
{
    as_each_cpu(mask & __atomic_load_n(&cpu_online_mask, __ATOMIC_ACQUIRE), fn, arg);
}

/* ---- spinlocks ---- */

void spin_init(struct spinlock *l, const char *name, enum spin_rank rank, ipl_t ipl)
{
    *l = (struct spinlock)SPINLOCK_INIT(name, rank, ipl);
}

bool spin_held(const struct spinlock *l)
{
    return __atomic_load_n(&l->holder, __ATOMIC_RELAXED) == &innermost;
}

void spin_lock_at_ipl(struct spinlock *l)
{
    if (host_ipl < l->ipl)
        broken("lock %s taken at IPL %u, below its own", l->name, (unsigned)host_ipl);
    if (innermost &&
        (innermost->rank > l->rank || (innermost->rank == l->rank && !(l->flags & SPIN_NESTS))))
        broken("lock %s (rank %u) taken while %s (rank %u) is held", l->name, l->rank,
               innermost->name, innermost->rank);
    if (spin_held(l))
        broken("lock %s taken twice", l->name);
    pthread_mutex_lock(&l->mutex);
    host_spin_locks++;
    __atomic_store_n(&l->holder, &innermost, __ATOMIC_RELAXED);
    l->below = innermost;
    innermost = l;
}

ipl_t spin_lock(struct spinlock *l)
{
    ipl_t old = ipl_get();

    if (old > l->ipl)
        broken("lock %s taken at IPL %lu, above its own", l->name, old);
    ipl_set(l->ipl);
    spin_lock_at_ipl(l);
    return old;
}

void spin_unlock_at_ipl(struct spinlock *l)
{
    struct spinlock **p = &innermost;

    if (!spin_held(l))
        broken("lock %s released by a thread that does not hold it", l->name);
    while (*p != l)
        p = &(*p)->below;
    *p = l->below;
    __atomic_store_n(&l->holder, NULL, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&l->mutex);
}

void (*host_unlocked)(const struct spinlock *l);

void spin_unlock(struct spinlock *l, ipl_t ipl)
{
    spin_unlock_at_ipl(l);
    ipl_set(ipl);
    if (host_unlocked)
        host_unlocked(l);
}

unsigned spin_depth(void)
{
    unsigned n = 0;

    for (struct spinlock *l = innermost; l; l = l->below)
        n++;
    return n;
}

/* ---- mutexes ---- */

void mutex_init(struct mutex *m, const char *name, enum mutex_rank rank)
{
    *m = (struct mutex)MUTEX_INIT(name, rank, *m);
}

static void mutex_check(const struct mutex *m, bool try)
{
    if (host_ipl || innermost)
        broken("mutex %s taken at IPL %u with %u spinlocks held", m->name, (unsigned)host_ipl,
               spin_depth());
    for (unsigned i = 0; !try && i < mutex_depth; i++)
        if (mutex_ranks[i] > m->rank || (mutex_ranks[i] == m->rank && m->rank != MUTEX_ASPACE &&
                                         !(m->rank == MUTEX_DIRECTORY && rename_held)))
            broken("mutex %s (rank %u) taken while one of rank %u is held", m->name, m->rank,
                   mutex_ranks[i]);
    if (mutex_depth == 16)
        broken("16 mutexes held");
}

static void mutex_push(struct mutex *m)
{
    mutex_ranks[mutex_depth++] = m->rank;
    __atomic_add_fetch(&m->locks, 1, __ATOMIC_RELAXED);
}

static void mutex_pop(const struct mutex *m)
{
    for (unsigned i = mutex_depth; i-- > 0;)
        if (mutex_ranks[i] == m->rank) {
            mutex_ranks[i] = mutex_ranks[--mutex_depth];
            return;
        }
    broken("mutex %s released by a thread that does not hold it", m->name);
}

void mutex_lock(struct mutex *m)
{
    mutex_check(m, false);
    if (pthread_rwlock_wrlock(&m->rw))
        broken("mutex %s taken twice", m->name);
    __atomic_store_n(&m->holder, &innermost, __ATOMIC_RELAXED);
    mutex_push(m);
    rename_held += m->rank == MUTEX_RENAME;
}

bool mutex_try_lock(struct mutex *m)
{
    mutex_check(m, true);
    if (pthread_rwlock_trywrlock(&m->rw))
        return false;
    __atomic_store_n(&m->holder, &innermost, __ATOMIC_RELAXED);
    mutex_push(m);
    return true;
}

void mutex_unlock(struct mutex *m)
{
    if (!mutex_held(m))
        broken("mutex %s released by a thread that does not hold it", m->name);
    mutex_pop(m);
    rename_held -= m->rank == MUTEX_RENAME;
    __atomic_store_n(&m->holder, NULL, __ATOMIC_RELAXED);
    pthread_rwlock_unlock(&m->rw);
}

void mutex_lock_shared(struct mutex *m)
{
    mutex_check(m, false);
    if (pthread_rwlock_rdlock(&m->rw))
        broken("mutex %s taken twice", m->name);
    mutex_push(m);
}

int mutex_lock_killable(struct mutex *m)
{
    if (!__atomic_load_n(&host_killed[host_cpu_id], __ATOMIC_ACQUIRE))
        mutex_lock(m);
    else if (!mutex_try_lock(m))
        return -EINTR;
    return 0;
}

int mutex_lock_shared_killable(struct mutex *m)
{
    mutex_lock_shared(m);
    return 0;
}

void mutex_unlock_shared(struct mutex *m)
{
    mutex_pop(m);
    pthread_rwlock_unlock(&m->rw);
}

/* The stand-in does not know: so it may be. */
bool mutex_wanted(const struct mutex *m)
{
    (void)m;
    return true;
}

bool mutex_held(const struct mutex *m)
{
    return __atomic_load_n(&m->holder, __ATOMIC_RELAXED) == &innermost;
}

/* At the end of a test no lock may be held. */
__attribute__((destructor)) static void nothing_is_held(void)
{
    if (innermost || mutex_depth || host_ipl)
        broken("at the end %u mutexes and %u spinlocks are held, at IPL %u", mutex_depth,
               spin_depth(), (unsigned)host_ipl);
}

/* ---- wait queues ---- */

void wait_queue_init(struct wait_queue *q, const char *name)
{
    (void)name;
    pthread_mutex_init(&q->mutex, NULL);
    pthread_cond_init(&q->cond, NULL);
    list_init(&q->waiters);
}

void wait_enqueue(struct wait_queue *q, struct waiter *w)
{
    pthread_mutex_lock(&q->mutex);
    list_add_tail(&q->waiters, &w->link);
    w->thread = (struct thread *)current_hw;
    w->home = q;
    __atomic_store_n(&w->queue, q, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&q->mutex);
}

bool host_killed[MAX_CPUS];

int wait_block(struct waiter *w, unsigned flags, uint64_t deadline_ns)
{
    int err = 0;

    if (host_ipl || innermost)
        broken("wait at IPL %u with %u spinlocks held", (unsigned)host_ipl, spin_depth());
    pthread_mutex_lock(&w->home->mutex);
    while (__atomic_load_n(&w->queue, __ATOMIC_RELAXED) && !err) {
        if (flags ==
            WAIT_KILLABLE) { /* polls host_killed every millisecond: setting it wakes no queue */
            struct timespec ts;

            if (__atomic_load_n(&host_killed[host_cpu_id], __ATOMIC_ACQUIRE)) {
                err = -EINTR;
                break;
            }
            clock_gettime(CLOCK_MONOTONIC, &ts);
            ts.tv_nsec += 1000000;
            ts.tv_sec += ts.tv_nsec / 1000000000;
            ts.tv_nsec %= 1000000000;
            pthread_cond_clockwait(&w->home->cond, &w->home->mutex, CLOCK_MONOTONIC, &ts);
        } else if (deadline_ns == WAIT_FOREVER) {
            pthread_cond_wait(&w->home->cond, &w->home->mutex);
        } else {
            struct timespec ts = {.tv_sec = (time_t)(deadline_ns / 1000000000u),
                                  .tv_nsec = (long)(deadline_ns % 1000000000u)};

            if (pthread_cond_clockwait(&w->home->cond, &w->home->mutex, CLOCK_MONOTONIC, &ts) ==
                ETIMEDOUT)
                err = -ETIMEDOUT;
        }
    }
    if (!__atomic_load_n(&w->queue, __ATOMIC_RELAXED))
        err = 0;
    pthread_mutex_unlock(&w->home->mutex);
    return err;
}

void wait_finish(struct waiter *w)
{
    pthread_mutex_lock(&w->home->mutex);
    if (__atomic_load_n(&w->queue, __ATOMIC_RELAXED)) {
        list_remove(&w->link);
        __atomic_store_n(&w->queue, NULL, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&w->home->mutex);
}

static unsigned wake(struct wait_queue *q, unsigned limit)
{
    struct list *l;
    unsigned n = 0;

    pthread_mutex_lock(&q->mutex);
    while (n < limit && (l = list_pop_head(&q->waiters))) {
        __atomic_store_n(&list_entry(l, struct waiter, link)->queue, NULL, __ATOMIC_RELEASE);
        n++;
    }
    pthread_cond_broadcast(&q->cond);
    pthread_mutex_unlock(&q->mutex);
    return n;
}

/* Queues of turns, in the order that the kernel's have. */

const void *host_user[MAX_CPUS];

static void take_turn(struct wait_queue *q, struct turn *t, bool first)
{
    pthread_mutex_lock(&q->mutex);
    if (first)
        turn_join_first(&q->waiters, t);
    else
        turn_join(&q->waiters, t, host_user[host_cpu_id]);
    t->waiter.thread = (struct thread *)current_hw;
    t->waiter.home = q;
    __atomic_store_n(&t->waiter.queue, q, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&q->mutex);
}

void turn_enqueue(struct wait_queue *q, struct turn *t) { take_turn(q, t, false); }
void turn_enqueue_first(struct wait_queue *q, struct turn *t) { take_turn(q, t, true); }

void turn_finish(struct turn *t)
{
    struct wait_queue *q = t->waiter.home;

    pthread_mutex_lock(&q->mutex);
    if (__atomic_load_n(&t->waiter.queue, __ATOMIC_RELAXED)) {
        turn_leave(t);
        __atomic_store_n(&t->waiter.queue, NULL, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&q->mutex);
}

void turn_wake(struct wait_queue *q)
{
    struct turn *t;

    pthread_mutex_lock(&q->mutex);
    t = turn_take(&q->waiters);
    if (t)
        __atomic_store_n(&t->waiter.queue, NULL, __ATOMIC_RELEASE);
    pthread_cond_broadcast(&q->cond);
    pthread_mutex_unlock(&q->mutex);
}

unsigned wake_one(struct wait_queue *q) { return wake(q, 1); }
unsigned wake_all(struct wait_queue *q) { return wake(q, ~0u); }
unsigned wake_all_follow(struct wait_queue *q) { return wake(q, ~0u); }
