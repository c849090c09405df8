/*
 * Out of memory: a page fault of user mode got no page, and there is nobody to tell. Pages of files
 * that can be read again are freed first, then pages go to page files (page_out.c); only when
 * neither frees any, or pages have been freed for seconds only to be needed again, does a process
 * end.
 *
 * The process that ends is not the one that happened to fault, but the largest of the user that
 * holds most: of the faulting process's own user when that one is at its limit, otherwise of the
 * user who has grown most beyond what is kept for user 0; if nobody has, of the faulting process's
 * own. Processes of user 0 end for their own faults only, and come last, process 1 never: if it is
 * alone it gets SIGBUS, which it can handle.
 *
 * The fault is not resolved here. Its process goes back to user mode and faults again; until what a
 * killed process held is free, that ends here again and waits for a tick. So nothing waits with a
 * lock held, and each round looks at the situation anew.
 *
 * A system call that got no memory and has done nothing (syscall_entry.again) is made again when
 * the pager has freed some, AGAIN_MOST times at most: other reasons for ENOMEM are not told apart.
 * It then fails, and no process ends for it. What the pager frees goes to whoever comes first, and
 * a call that needs several pages at once may come last each time: so after some attempts it may
 * take of the last pages (mm/phys/fluid.c).
 *
 * A pass over all processes drops the table lock after each portion, and one thread at a time makes
 * it; the others only wait.
 */
#include "kernel/base/errno.h"
#include "kernel/base/printk.h"
#include "kernel/base/string.h"
#include "kernel/io/open_flags.h"
#include "kernel/io/tree.h"
#include "kernel/proc/page_file.h"
#include "kernel/proc/proc_private.h"
#include "kernel/proc/signal.h"
#include "kernel/quota/quota.h"
#include "mm/phys/fluid.h"

#define TELL_NS       100000000u
#define ROUND_NS      1000000u /* a wait: about a tick */
#define ROUNDS_WAIT   100u     /* without a shortage that can be seen, before a process is chosen */
#define ROUNDS_DYING  2000u    /* for processes that are ending, before another one is chosen */
#define ROUNDS_MAPPED 20000u   /* that only took pages away that programs may be using */
#define AGAIN_MOST    100u     /* times that a call is made again before it fails */
#define AGAIN_STARVES 8u       /* before it may take some of the last pages, at each attempt: */
#define AGAIN_PAGES   64u
#define AGAIN_DOUBLES 8u /* attempts before each of which twice the room is asked for */
#define ROUNDS_GAP    (100 * (uint64_t)ROUND_NS) /* after which a fault begins a new series */

struct choice {
    const struct account *only; /* NULL: any but account_system */
    bool roots;                 /* only processes of account_system */
    bool dying;                 /* one of them is ending already */
    uint32_t pid;               /* of the best, 0: none */
    uint64_t user_pages, pages; /* of its user, its own */
};

static enum process_visit choose_locked(struct process *p, void *arg)
{
    struct choice *c = arg;
    const struct account *a = p->account;
    const struct uthread *u = process_first_thread_locked(p);
    uint64_t user_pages = __atomic_load_n(&a->count[QUOTA_PAGES].used, __ATOMIC_RELAXED), pages;

    if (p->pid == 1 || p->state != PROCESS_LIVE || !p->aspace || !u)
        return PROCESS_NEXT;
    if (c->only ? a != c->only : a->exempt != c->roots)
        return PROCESS_NEXT;
    if (!c->only && !c->roots &&
        user_pages <= (uint64_t)__atomic_load_n(&a->page_floor, __ATOMIC_RELAXED))
        return PROCESS_NEXT; /* not worth it */
    if (thread_fatal_pending(u->thread) || __atomic_load_n(&p->sig->ending, __ATOMIC_RELAXED)) {
        c->dying = true;
        return PROCESS_NEXT;
    }
    pages = aspace_pages(p->aspace) + __atomic_load_n(&p->aspace->pt.tables, __ATOMIC_RELAXED) +
            __atomic_load_n(&p->aspace->pt.paged_out, __ATOMIC_RELAXED);
    if (!c->pid || user_pages > c->user_pages ||
        (user_pages == c->user_pages && pages > c->pages)) {
        c->pid = p->pid;
        c->user_pages = user_pages;
        c->pages = pages;
    }
    return PROCESS_NEXT;
}

/* Name the process on the console, but no more than ten in a second: the rest are counted. Called
 * by one thread at a time. */
static void tell(const char *name, const struct choice *c, uint32_t uid)
{
    static uint64_t last_ns; /* own thread, as said */
    static unsigned more;
    uint64_t now = clock_ns();

    if (now - last_ns < TELL_NS && last_ns) {
        more++;
        return;
    }
    last_ns = now;
    if (more)
        printk("%u more processes: out of memory, killed\n", more);
    more = 0;
    printk("%s (%u): out of memory, killed (user %u, %lu pages)\n", name, c->pid, uid, c->pages);
}

/* Kill the process chosen, if it still is there. */
static void kill_chosen(const struct choice *c)
{
    struct signal_info info = {.signo = SIGKILL, .code = SI_KERNEL};
    char name[PROCESS_NAME_BYTES] = "";
    uint32_t uid = 0;
    ipl_t ipl = spin_lock(&process_lock);
    struct process *p = process_find_locked(c->pid);

    if (p && p->state == PROCESS_LIVE && p->sig) {
        process_name_text(p, name);
        uid = p->uid;
        signal_send(p, &info);
    }
    spin_unlock(&process_lock, ipl);
    if (name[0])
        tell(name, c, uid);
}

/* What a is short of. False: of nothing that can be seen from here. If pages go to page files, who
 * was refused one may have given others back that the fault needs as well. */
static bool is_short(const struct account *a, bool *own)
{
    int64_t floor = __atomic_load_n(&a->page_floor, __ATOMIC_RELAXED);
    unsigned more = page_out_active() ? QUOTA_ATTEMPT_PAGES : 0;

    *own = page_out_is_full(a);
    return *own || fluid_count() <= fluid_minimum() + (uint64_t)floor + more;
}

/* A fault of the current process, at `began`, belongs to its series unless the process has run for
 * long since the last round. What it waited meanwhile does not count. */
static void continue_series(struct process *p, uint64_t began)
{
    if (began > p->short_ns && began - p->short_ns > ROUNDS_GAP)
        p->short_rounds = p->short_mapped = 0;
    p->short_ns = clock_ns();
}

/* One series of rounds of the current process: how many so far, with this one. Those that several
 * threads spend at the same time are one. */
static unsigned count_round(struct process *p, uint64_t began)
{
    continue_series(p, began);
    if (!p->short_rounds || p->short_ns - p->short_counted_ns >= ROUND_NS / 2) {
        p->short_counted_ns = p->short_ns;
        p->short_rounds++;
    }
    return p->short_rounds;
}

/* The same of rounds that only unmapped pages of files: has it gone on for too long? */
static bool is_thrashing(struct process *p, uint64_t began)
{
    continue_series(p, began);
    if (++p->short_mapped < ROUNDS_MAPPED)
        return false;
    p->short_mapped = 0;
    p->short_rounds = MAX(p->short_rounds, ROUNDS_WAIT);
    return true;
}

/* vain: there is no page file, or pages could not go to it. */
static void choose_and_kill(struct process *p, unsigned rounds, bool vain)
{
    struct account *a = account_self();
    struct choice c = {0};
    bool own, visible = is_short(a, &own) && vain;

    if (!visible && rounds < ROUNDS_WAIT && !page_out_is_thrash())
        return;
    if (own || (!visible && !a->exempt))
        c.only = a;
    process_for_each(choose_locked, &c);
    if (!c.pid && !c.dying && !c.only) { /* nobody holds much: whoever asks pays for it himself */
        c.only = a->exempt ? NULL : a;
        c.roots = a->exempt;
        process_for_each(choose_locked, &c);
    }
    if (c.dying && rounds < ROUNDS_DYING)
        return;
    p->short_rounds = 0; /* another one is chosen no sooner than this one was */
    if (c.pid)
        kill_chosen(&c);
    else if (p->pid == 1)
        signal_force(SIGBUS, BUS_ADRERR, 0);
}

void process_no_memory(void)
{
    static bool busy; /* atomic: a thread is choosing */
    struct process *p = process_self();
    uint64_t began = clock_ns(), now;
    char name[PROCESS_NAME_BYTES];
    enum fs_reclaimed reclaimed;
    enum page_out_result waited;
    unsigned rounds;

    if (thread_self()->failure) { /* the failure was injected: waiting does not help */
        printk("%s (%u): out of memory, killed\n", process_name_text(p, name), p->pid);
        signal_force(SIGKILL, SI_KERNEL, 0);
        return;
    }
    /* The fault is tried again; for one's own limit pages of files gain nothing. Nor does it gain
     * for long that programs lose pages which they read again at once. */
    reclaimed = page_out_is_limited(account_self()) ? FS_RECLAIMED_NONE : tree_reclaim();
    if (reclaimed == FS_RECLAIMED || (reclaimed && !is_thrashing(p, began)))
        return;
    waited = page_out_wait_result();
    if (waited == PAGE_OUT_AGAIN || thread_killed()) {
        now = clock_ns(); /* it has waited, not run */
        p->short_ns = MIN(p->short_ns + (now - began), now);
        return;
    }
    rounds = count_round(p, began);
    if (!__atomic_exchange_n(&busy, true, __ATOMIC_ACQUIRE)) {
        choose_and_kill(p, rounds, waited == PAGE_OUT_VAIN || !page_out_active());
        __atomic_store_n(&busy, false, __ATOMIC_RELEASE);
    }
    if (!signal_is_pending())
        (void)thread_sleep_until(clock_ns() + ROUND_NS, WAIT_INTERRUPTIBLE);
}

/* uthread.again counts how often the call was made so far; the bit of syscall_exit has the return
 * to user mode begin anew. */
int process_call_again(void)
{
    struct uthread *u = uthread_self();

    if (!page_out_active() || thread_killed() || u->again >= AGAIN_MOST)
        return ENOMEM;
    if (++u->again > AGAIN_STARVES)
        thread_self()->starved = AGAIN_PAGES;
    thread_self()->attempt = (uint16_t)(1u << MIN(u->again, AGAIN_DOUBLES));
    __atomic_fetch_or(&current_hw->syscall_exit, EXIT_AGAIN, __ATOMIC_RELAXED);
    if (!page_out_wait())
        return ENOMEM;
    return signal_is_pending() ? ERESTARTNOINTR : 0;
}

void process_call_not_again(void)
{
    uthread_self()->again = AGAIN_MOST;
    __atomic_fetch_or(&current_hw->syscall_exit, EXIT_AGAIN, __ATOMIC_RELAXED);
}

void process_call_over(void)
{
    __atomic_fetch_and(&current_hw->syscall_exit, ~EXIT_AGAIN, __ATOMIC_RELAXED);
    uthread_self()->again = 0;
    thread_self()->starved = 0;
    thread_self()->attempt = 0;
}
