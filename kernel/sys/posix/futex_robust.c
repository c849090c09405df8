/* Robust futexes: what the locks that a thread holds become when it ends. */
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/proc/process.h"
#include "kernel/proc/threads.h"
#include "kernel/sys/posix/futex_private.h"
#include "kernel/sys/posix/process.h"

#define ROBUST_MOST   2048u /* entries of a list that are looked at, as on Linux */
#define ROBUST_PI     1ul
#define ROBUST_LENGTH 24u

/* The current thread ends and the word is of its list: if it owns the lock, say that the owner has
 * died and wake a waiter. `begun`: the entry is of a lock that was being taken or given back.
 * False: the list is damaged. */
static bool release_robust(vaddr_t word, bool pi, bool begun)
{
    uint32_t tid = uthread_self()->tid, v, seen;

    if ((word & 3) || copyin_u32(&v, word) != 0)
        return false;
    for (;; v = seen) {
        if (begun && !pi && !v) {
            (void)futex_wake(word, true, 1, FUTEX_ANY_BIT);
            return true;
        }
        if ((v & FUTEX_OWNER) != tid)
            return true;
        if (user_compare_swap(word, v, (v & FUTEX_WAITERS) | FUTEX_OWNER_DIED, &seen) != 0)
            return false;
        if (seen == v)
            break;
    }
    if (!pi && (v & FUTEX_WAITERS))
        (void)futex_wake(word, true, 1, FUTEX_ANY_BIT);
    return true;
}

/* Go through the current thread's list of robust locks, which is user memory: a ring of pointers
 * whose lowest bit marks a lock with priority inheritance. */
static void release_list(vaddr_t head)
{
    uint64_t h[3], entry, next; /* first entry, offset of the words, entry begun */
    uint64_t begun;

    if (copyin(h, head, sizeof(h)) != 0)
        return;
    begun = h[2] & ~ROBUST_PI;
    entry = h[0];
    for (unsigned n = 0; n < ROBUST_MOST && (entry & ~ROBUST_PI) != head; n++) {
        bool more = copyin_u64(&next, entry & ~ROBUST_PI) == 0;

        if ((entry & ~ROBUST_PI) != begun &&
            !release_robust((entry & ~ROBUST_PI) + h[1], entry & ROBUST_PI, false))
            return;
        if (!more)
            return;
        entry = next;
    }
    if (begun)
        (void)release_robust(begun + h[1], h[2] & ROBUST_PI, true);
}

/* A killed thread does this, too, and waits for its address space if need be: otherwise whoever
 * waits for the lock, perhaps in another process, would do so for ever. */
void futex_thread_ends(struct process *p, struct uthread *u)
{
    vaddr_t list = u->robust_list, word = u->clear_tid;

    thread_self()->settling = 1;
    if (list) {
        __atomic_store_n(&u->robust_list, 0, __ATOMIC_RELAXED);
        release_list(list);
    }
    futex_pi_thread_ends(u);
    /* Needed only if others share the address space. As on Linux, a bad address is ignored. */
    if (word && !(process_alone(p) && __atomic_load_n(&p->aspace->refs, __ATOMIC_RELAXED) == 1) &&
        copyout_u32(word, 0) == 0)
        (void)futex_wake(word, true, 1, FUTEX_ANY_BIT);
    thread_self()->settling = 0;
}
/* ---- the calls ---- */

long sys_set_robust_list(uint64_t head, uint64_t length)
{
    if (length != ROBUST_LENGTH)
        return -EINVAL;
    __atomic_store_n(&uthread_self()->robust_list, head, __ATOMIC_RELAXED);
    return 0;
}

long sys_get_robust_list(uint64_t tid, uint64_t head, uint64_t length)
{
    const struct process *self = process_self();
    const struct uthread *u;
    vaddr_t list = 0;
    long err = 0;
    ipl_t ipl;

    ipl = spin_lock(&process_lock);
    u = (int32_t)tid ? thread_find_locked((uint32_t)tid) : uthread_self();
    if (!u)
        err = -ESRCH;
    else if (u->process != self && process_euid(self) != 0 &&
             process_euid(self) != process_uid(u->process))
        err = -EPERM;
    else
        list = __atomic_load_n(&u->robust_list, __ATOMIC_RELAXED);
    spin_unlock(&process_lock, ipl);
    if (err)
        return err;
    return copyout_u64(length, ROBUST_LENGTH) || copyout_u64(head, list) ? -EFAULT : 0;
}
