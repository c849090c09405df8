/*
 * futex, as far as the C library of single-threaded processes uses it: WAIT and WAKE.
 *
 * Waiters hang on queues chosen by the word's place in its page, which is the same in every mapping
 * of the page, so processes that share memory meet. A wake-up wakes the whole queue: a futex wait
 * may end for no reason, and every user looks at the word again.
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
static uint32_t made[QUEUES]; /* atomic: 0 not made, 1 being made, 2 made */

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
        __ATOMIC_SEQ_CST); /* on the queue first, then look: the waker stores first, then wakes */
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
        /* Whoever was woken in excess, of this word or of another one with its queue, was woken for
           no reason: v is what the caller knows of. */
        return (long)MIN((uint64_t)futex_wake(word), MIN(v, (uint64_t)INT32_MAX));
    default:
        return -ENOSYS;
    }
}
