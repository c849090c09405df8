/*
 * futex: FUTEX_WAIT and FUTEX_WAKE, with and without bitset.
 *
 * Waiters are on one of a fixed number of queues, chosen by the offset of the word in its page.
 * The offset is the same in every mapping of the page, so that processes which share memory use the
 * same queue. A wake-up wakes all waiters of the queue, whatever their words and bitsets. That is
 * correct, because a futex wait may end without a reason and every caller checks the word again; it
 * costs time if unrelated words share a queue.
 *
 * Lost wake-ups are prevented by two barriers. The waiter is put on the queue before it reads the
 * word, and the waker has stored to the word before it looks at the queue:
 *
 *     waiter: wait_enqueue, barrier, read the word      waker: store the word, barrier, wake_all
 *
 * One of them sees what the other has done. Queues are initialised at their first use and have
 * their own spinlocks; nothing is allocated.
 */
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/io/open_flags.h"
#include "kernel/proc/process.h"
#include "kernel/sched/timer.h"
#include "kernel/sched/wait.h"
#include "kernel/sys/posix/process.h"

#define FUTEX_WAIT           0
#define FUTEX_WAKE           1
#define FUTEX_WAIT_BITSET    9
#define FUTEX_WAKE_BITSET    10
#define FUTEX_COMMAND        0x7Fu
#define FUTEX_CLOCK_REALTIME 0x100u
#define QUEUES               64u

static struct wait_queue queues[QUEUES];
static uint32_t made[QUEUES]; /* atomic: 0 not initialised, 1 being initialised, 2 initialised */

static struct wait_queue *queue_of(vaddr_t va)
{
    unsigned k = (unsigned)(va >> 2) % QUEUES;
    uint32_t none = 0;

    if (__atomic_load_n(&made[k], __ATOMIC_ACQUIRE) == 2)
        return &queues[k];
    if (__atomic_compare_exchange_n(&made[k], &none, 1, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE)) {
        wait_queue_init(&queues[k], "futex");
        __atomic_store_n(&made[k], 2, __ATOMIC_RELEASE);
    }
    while (__atomic_load_n(&made[k], __ATOMIC_ACQUIRE) != 2)
        ;
    return &queues[k];
}

static long deadline_of(vaddr_t timeout, bool absolute, bool wall, uint64_t *deadline)
{
    uint64_t t[2], ns, now = wall ? clock_wall_ns() : clock_ns();

    *deadline = WAIT_FOREVER;
    if (!timeout)
        return 0;
    if (copyin(t, timeout, sizeof(t)) != 0)
        return -EFAULT;
    if ((int64_t)t[0] < 0 || t[1] >= 1000000000)
        return -EINVAL;
    if (t[0] >= INT64_MAX / 1000000000 / 2)
        return 0;
    ns = t[0] * 1000000000 + t[1];
    if (absolute)
        ns = ns > now ? ns - now : 0;
    *deadline = clock_ns() + ns;
    return 0;
}

static long futex_wait(vaddr_t word, uint32_t expected, uint64_t deadline)
{
    struct waiter w;
    uint32_t v;
    long err;

    wait_enqueue(queue_of(word), &w);
    __atomic_thread_fence(
        __ATOMIC_SEQ_CST); /* on the queue first, then read; the waker stores first, then wakes */
    if (copyin_u32(&v, word) != 0)
        err = -EFAULT;
    else if (v != expected)
        err = -EAGAIN;
    else
        err = wait_block(&w, WAIT_INTERRUPTIBLE, deadline);
    wait_finish(&w);
    return err == -EINTR && deadline == WAIT_FOREVER ? -ERESTARTSYS : err;
}

static unsigned futex_wake(vaddr_t word)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* the caller has stored to the word */
    return wake_all(queue_of(word));
}

static void wake_for_exit(vaddr_t word) { (void)futex_wake(word); }

void futex_boot(void) { futex_wake_hook = wake_for_exit; }

long sys_futex(uint64_t word, uint64_t op, uint64_t v, uint64_t timeout)
{
    unsigned command = (unsigned)op & FUTEX_COMMAND;
    uint64_t deadline;
    long err;

    if (word & 3)
        return -EINVAL;
    if (!user_range_ok(word, 4))
        return -EFAULT;
    switch (command) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET:
        err = deadline_of(timeout, command == FUTEX_WAIT_BITSET, (op & FUTEX_CLOCK_REALTIME) != 0,
                          &deadline);
        return err ? err : futex_wait(word, (uint32_t)v, deadline);
    case FUTEX_WAKE:
    case FUTEX_WAKE_BITSET:
        /* Waiters beyond v, and those of other words on the queue, see a wake-up without a reason.
           The result does not count them. */
        return (long)MIN((uint64_t)futex_wake(word), MIN(v, (uint64_t)INT32_MAX));
    default:
        return -ENOSYS;
    }
}
