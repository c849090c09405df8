/*
 * poll and select.
 *
 * All pollers wait on one queue (kernel/io/poll.h) and check their files again when the state of
 * any file changes. poll reads its array in user memory anew at each look, one entry at a time,
 * each of which is complete in itself; select copies its sets to the stack. So nothing is
 * allocated.
 *
 * No lock here. A poller is on the queue before it checks its files, with a barrier in between, so
 * that it cannot miss a change.
 */
#include "kernel/io/poll.h"
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/io/open_flags.h"
#include "kernel/proc/fdtable.h"
#include "kernel/proc/process.h"
#include "kernel/proc/rlimit.h"
#include "kernel/proc/signal.h"
#include "kernel/sys/posix/file.h"
#include "mm/pool/pool.h"

#define NS_PER_SECOND UINT64_C(1000000000)
#define FOREVER       UINT64_MAX

/* Set the signal mask for the duration of a call from user address mask (0: leave it). size: bytes
   of the mask, which must be those of a sigset_t. */
static long mask_begin(vaddr_t mask, uint64_t size)
{
    sigset_t set;

    if (!mask)
        return 0;
    if (size != sizeof(set))
        return -EINVAL;
    if (copyin_u64(&set, mask) != 0)
        return -EFAULT;
    signal_mask_begin(set);
    return 0;
}

static void mask_end(vaddr_t mask, long result)
{
    if (mask)
        signal_mask_end(result == -EINTR);
}

struct pollfd {
    int32_t fd;
    int16_t events, revents;
};

/* Check all descriptors once. Returns how many are ready, or a negative errno. */
typedef long (*look_fn)(void *arg);

static long wait_ready(look_fn look, void *arg, uint64_t deadline)
{
    struct waiter w;
    long ready;

    __atomic_fetch_add(&poll_waiters, 1, __ATOMIC_SEQ_CST);
    for (;;) {
        int err;

        wait_enqueue(&poll_queue, &w);
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
        ready = look(arg);
        if (ready || deadline <= clock_ns())
            break;
        err = wait_block(&w, WAIT_INTERRUPTIBLE, deadline);
        wait_finish(&w); /* after a time-out the waiter is still on the queue */
        if (err == -EINTR) {
            ready = -EINTR;
            break;
        }
    }
    wait_finish(&w);
    __atomic_fetch_sub(&poll_waiters, 1, __ATOMIC_RELAXED);
    return ready;
}

static unsigned events_of(int64_t fd, unsigned wanted)
{
    struct fd_use u = fd_get(process_self()->files, (uint64_t)fd); /* none if fd is negative */
    struct file *f = u.file;
    unsigned events;

    if (!f)
        return POLLNVAL;
    events = (f->ops->poll ? f->ops->poll(f) : POLLIN | POLLOUT) &
             (wanted | POLLERR | POLLHUP | POLLNVAL);
    fd_put(u);
    return events;
}

struct poll_args {
    vaddr_t fds;
    uint64_t count;
};

static long poll_look(void *arg)
{
    const struct poll_args *a = arg;
    long ready = 0;

    for (uint64_t k = 0; k < a->count; k++) {
        vaddr_t at = a->fds + k * sizeof(struct pollfd);
        struct pollfd p;

        if (copyin(&p, at, sizeof(p)) != 0)
            return -EFAULT;
        if (thread_killed())
            return -EINTR;
        p.revents = p.fd < 0 ? 0 : (int16_t)events_of(p.fd, (uint16_t)p.events);
        ready += p.revents != 0;
        /* Only this field: others may have changed the rest meanwhile. */
        if (copyout(at + offsetof(struct pollfd, revents), &p.revents, sizeof(p.revents)) != 0)
            return -EFAULT;
    }
    return ready;
}

static long poll_call(vaddr_t fds, uint64_t count, uint64_t deadline)
{
    struct poll_args a = {fds, count};

    if (count > rlimit_files(process_self()))
        return -EINVAL;
    return wait_ready(poll_look, &a, deadline);
}

long sys_poll(uint64_t fds, uint64_t count, uint64_t timeout_ms)
{
    int32_t ms = (int32_t)timeout_ms;

    return poll_call(fds, count, ms < 0 ? FOREVER : clock_ns() + (uint64_t)ms * 1000000);
}

/* Convert a timeout at user address `at` (0: none) to a deadline. unit_ns: nanoseconds in a unit of
   its second field, 1 in a struct timespec, 1,000 in a struct timeval. */
static long deadline_of(vaddr_t at, uint64_t unit_ns, uint64_t *deadline)
{
    uint64_t t[2];

    *deadline = FOREVER;
    if (!at)
        return 0;
    if (copyin(t, at, sizeof(t)) != 0)
        return -EFAULT;
    if ((int64_t)t[0] < 0 || t[1] >= NS_PER_SECOND / unit_ns)
        return -EINVAL;
    if (t[0] < INT64_MAX / NS_PER_SECOND / 2)
        *deadline = clock_ns() + t[0] * NS_PER_SECOND + t[1] * unit_ns;
    return 0;
}

long sys_ppoll(uint64_t fds, uint64_t count, uint64_t timeout, uint64_t mask, uint64_t size)
{
    uint64_t deadline;
    long err = deadline_of(timeout, 1, &deadline);

    if (!err)
        err = mask_begin(mask, size);
    if (err)
        return err;
    err = poll_call(fds, count, deadline);
    mask_end(mask, err);
    return err;
}

/* The three sets of select, with one bit for each descriptor. */
struct select_args {
    uint64_t count;
    size_t words;       /* of each set */
    uint64_t *in, *out; /* three sets each */
};

static long select_look(void *arg)
{
    static const unsigned wanted[3] = {POLLIN | POLLRDNORM | POLLHUP | POLLERR,
                                       POLLOUT | POLLWRNORM | POLLERR, POLLPRI};
    struct select_args *a = arg;
    long ready = 0;

    memset(a->out, 0, 3 * a->words * sizeof(uint64_t));
    for (uint64_t fd = 0; fd < a->count; fd++) {
        uint64_t bit = UINT64_C(1) << fd % 64;

        if (thread_killed())
            return -EINTR;
        for (unsigned s = 0; s < 3; s++) {
            unsigned events;

            if (!(a->in[s * a->words + fd / 64] & bit))
                continue;
            events = events_of((int64_t)fd, wanted[s]);
            if (events & POLLNVAL)
                return -EBADF;
            if (events & wanted[s]) {
                a->out[s * a->words + fd / 64] |= bit;
                ready++;
            }
        }
    }
    return ready;
}

#define SELECT_WORDS \
    16u /* of a set that fits into the stack: 1,024 descriptors, as in C libraries */

static long select_in(struct select_args *a, const vaddr_t set[3], uint64_t deadline)
{
    size_t nbytes = a->words * sizeof(uint64_t);
    long ready;

    for (unsigned s = 0; s < 3; s++) {
        if (!set[s])
            memset(a->in + s * a->words, 0, nbytes);
        else if (copyin(a->in + s * a->words, set[s], nbytes) != 0)
            return -EFAULT;
    }
    ready = wait_ready(select_look, a, deadline);
    for (unsigned s = 0; s < 3 && ready >= 0; s++) {
        if (set[s] && copyout(set[s], a->out + s * a->words, nbytes) != 0)
            ready = -EFAULT;
    }
    return ready;
}

/* Descriptors that the process cannot have are not looked at, as on Linux. */
static long select_call(uint64_t count, const vaddr_t set[3], uint64_t deadline)
{
    uint64_t few[6 * SELECT_WORDS], *sets = few;
    struct select_args a = {.count = MIN(count, rlimit_files(process_self()))};
    long ready;

    if ((int32_t)count < 0)
        return -EINVAL;
    a.words = (a.count + 63) / 64;
    if (a.words > SELECT_WORDS) {
        sets = npp_alloc(6 * a.words * sizeof(uint64_t));
        if (!sets)
            return -ENOMEM;
    }
    a.in = sets;
    a.out = sets + 3 * a.words;
    ready = select_in(&a, set, deadline);
    if (sets != few)
        npp_free(sets, 6 * a.words * sizeof(uint64_t));
    return ready;
}

long sys_select(uint64_t n, uint64_t in, uint64_t out, uint64_t except, uint64_t timeout)
{
    uint64_t deadline;
    long err = deadline_of(timeout, 1000, &deadline);

    return err ? err : select_call(n, (vaddr_t[3]){in, out, except}, deadline);
}

long sys_pselect6(uint64_t n, uint64_t in, uint64_t out, uint64_t except, uint64_t timeout,
                  uint64_t mask)
{
    uint64_t deadline, m[2] = {0, 0};
    long err = deadline_of(timeout, 1, &deadline);

    if (!err && mask && copyin(m, mask, sizeof(m)) != 0)
        err = -EFAULT;
    if (!err)
        err = mask_begin(m[0], m[1]);
    if (err)
        return err;
    err = select_call(n, (vaddr_t[3]){in, out, except}, deadline);
    mask_end(m[0], err);
    return err;
}
