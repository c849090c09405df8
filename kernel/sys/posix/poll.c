/*
 * poll and select.
 *
 * A call puts an entry on the source of each of its files (kernel/io/poll.h) while it looks at them
 * for the first time, and then waits on a queue of its own until one of the entries is called. The
 * entries are in a table whose first part is on the stack; the rest is nonpaged pool, charged to
 * the user. Once a file is found ready, no more entries are needed. poll reads its array in user
 * memory anew at each look, one entry at a time, each of which is complete in itself; select copies
 * its sets to the stack.
 *
 * No lock here. An entry sets `woken` and then looks for the waiter, under the queue's lock; the
 * poller is on the queue before it looks at `woken`. So it cannot miss a call.
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
#include "kernel/sys/posix/poll.h"
#include "mm/pool/pool.h"

#define FOREVER UINT64_MAX

long poll_mask_begin(vaddr_t mask, uint64_t size)
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

void poll_mask_end(vaddr_t mask, long result)
{
    if (mask)
        signal_mask_end(result == -EINTR);
}

struct pollfd {
    int32_t fd;
    int16_t events, revents;
};

/* ---- the table of entries ---- */

struct poll_table;

/* One descriptor of a call. */
struct poll_slot {
    struct poll_entry entry;
    struct poll_table *table;
    struct fd_use use; /* file NULL: the number had no file */
    int64_t fd;
};

#define SLOTS_FEW   6u  /* on the stack */
#define SLOTS_BLOCK 56u /* in a block of some 4 KiB, which a lookaside list keeps */

struct slot_block {
    struct slot_block *next;
    struct poll_slot slot[SLOTS_BLOCK];
};

struct poll_table {
    struct wait_queue queue;
    bool woken;                       /* atomic: an entry was called */
    bool complete;                    /* the slots are there; look at their files again */
    uint64_t at;                      /* number of the next slot to add or to look at */
    uint64_t used;                    /* slots that are there */
    struct slot_block *first, *block; /* all blocks; the one of slot `at` */
    struct poll_slot few[SLOTS_FEW];
};

static bool slot_wake(struct poll_entry *e, uint32_t events)
{
    struct poll_table *t = container_of(e, struct poll_slot, entry)->table;

    (void)events;
    __atomic_store_n(&t->woken, true, __ATOMIC_RELEASE);
    wake_one(&t->queue);
    return true;
}

/* The next slot in turn; NULL: there is no memory for a new one. */
static struct poll_slot *slot_next(struct poll_table *t)
{
    uint64_t k = t->at - SLOTS_FEW;
    struct slot_block **next = t->block ? &t->block->next : &t->first;

    if (t->at < SLOTS_FEW)
        return &t->few[t->at++];
    if (k % SLOTS_BLOCK == 0) {
        if (!t->complete && !(*next = npp_alloc(sizeof(**next))))
            return NULL;
        if (!t->complete)
            (*next)->next = NULL;
        t->block = *next;
    }
    t->at++;
    return &t->block->slot[k % SLOTS_BLOCK];
}

static void table_rewind(struct poll_table *t)
{
    t->at = 0;
    t->block = NULL;
}

/* Take all entries off their sources. */
static void table_end(struct poll_table *t)
{
    t->used = t->complete ? t->used : t->at;
    t->complete = true;
    for (table_rewind(t); t->at < t->used;) {
        struct poll_slot *s = slot_next(t);

        poll_unregister(&s->entry);
        fd_put(s->use);
    }
    while (t->first) {
        struct slot_block *b = t->first;

        t->first = b->next;
        npp_free(b, sizeof(*b));
    }
}

static unsigned file_events(struct file *f, unsigned wanted, struct poll_entry *e)
{
    unsigned all = f->ops->poll ? f->ops->poll(f, e) : POLLIN | POLLOUT | POLLRDNORM | POLLWRNORM;

    return all & (wanted | POLLERR | POLLHUP | POLLNVAL);
}

/* Which of the events `wanted`, POLLERR and POLLHUP hold for fd? t: NULL, or the table, which gets
 * a slot for fd unless it is complete. The events, POLLNVAL, or -ENOMEM. */
static int events_of(struct poll_table *t, int64_t fd, unsigned wanted)
{
    struct poll_slot *s = t ? slot_next(t) : NULL;
    struct fd_use u;
    int events;

    if (t && !s)
        return -ENOMEM;
    if (s && t->complete && s->fd == fd && s->use.file)
        return (int)file_events(s->use.file, wanted, NULL);
    u = fd_get(process_self()->files, (uint64_t)fd); /* none if fd is negative */
    if (s && !t->complete) {
        *s = (struct poll_slot){.entry = {.wake = slot_wake, .events = wanted | POLLERR | POLLHUP},
                                .table = t,
                                .use = u,
                                .fd = fd};
        return u.file ? (int)file_events(u.file, wanted, &s->entry) : (int)POLLNVAL;
    }
    if (!u.file)
        return POLLNVAL;
    events = (int)file_events(u.file, wanted, NULL);
    fd_put(u);
    return events;
}

/* Look at all descriptors once, with a table or none. Returns how many are ready, or a negative
 * errno. Adds no more slots once one is ready. */
typedef long (*look_fn)(void *arg, struct poll_table *t);

/* Wait until an entry was called. 0, -EINTR or -ETIMEDOUT. */
static int table_wait(struct poll_table *t, uint64_t deadline)
{
    struct waiter w;
    int err = 0;

    wait_enqueue(&t->queue, &w);
    if (!__atomic_exchange_n(&t->woken, false, __ATOMIC_ACQUIRE))
        err = wait_block(&w, WAIT_INTERRUPTIBLE, deadline);
    wait_finish(&w);
    return err;
}

static long wait_ready(look_fn look, void *arg, uint64_t deadline)
{
    struct poll_table t;
    long ready;
    int err = 0;

    if (deadline <= clock_ns())
        return look(arg, NULL);
    wait_queue_init(&t.queue, "poll");
    t.woken = t.complete = false;
    t.used = 0;
    t.first = NULL;
    table_rewind(&t);
    ready = look(arg, &t);
    if (!ready) {
        t.used = t.at;
        t.complete = true;
    }
    while (!ready && !err) {
        err = table_wait(&t, deadline);
        if (err == -EINTR)
            ready = err;
        else {
            table_rewind(&t);
            ready = look(arg, &t);
        }
    }
    table_end(&t);
    return ready;
}

struct poll_args {
    vaddr_t fds;
    uint64_t count;
};

static long poll_look(void *arg, struct poll_table *t)
{
    const struct poll_args *a = arg;
    long ready = 0;

    for (uint64_t k = 0; k < a->count; k++) {
        vaddr_t at = a->fds + k * sizeof(struct pollfd);
        struct pollfd p;
        int events;

        if (copyin(&p, at, sizeof(p)) != 0)
            return -EFAULT;
        if (thread_killed())
            return -EINTR;
        events = events_of(ready ? NULL : t, p.fd, (uint16_t)p.events);
        if (events < 0)
            return events;
        p.revents = p.fd < 0 ? 0 : (int16_t)events;
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

long poll_begin(vaddr_t timeout, vaddr_t mask, uint64_t *deadline, vaddr_t *set)
{
    uint64_t m[2] = {0, 0};
    long err = poll_deadline(timeout, 1, deadline);

    if (!err && mask && copyin(m, mask, sizeof(m)) != 0)
        err = -EFAULT;
    if (!err)
        err = poll_mask_begin(m[0], m[1]);
    *set = m[0];
    return err;
}

uint64_t poll_deadline_ms(int32_t ms)
{
    return ms < 0 ? FOREVER : ms ? clock_ns() + (uint64_t)ms * 1000000 : 0;
}

long sys_poll(uint64_t fds, uint64_t count, uint64_t timeout_ms)
{
    return poll_call(fds, count, poll_deadline_ms((int32_t)timeout_ms));
}

long poll_deadline(vaddr_t at, uint64_t unit_ns, uint64_t *deadline)
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
    long err = poll_deadline(timeout, 1, &deadline);

    if (!err)
        err = poll_mask_begin(mask, size);
    if (err)
        return err;
    err = poll_call(fds, count, deadline);
    poll_mask_end(mask, err);
    return err;
}

/* The three sets of select, with one bit for each descriptor. */
struct select_args {
    uint64_t count;
    size_t words;       /* of each set */
    uint64_t *in, *out; /* three sets each */
};

static long select_look(void *arg, struct poll_table *t)
{
    static const unsigned wanted[3] = {POLLIN | POLLRDNORM | POLLHUP | POLLERR,
                                       POLLOUT | POLLWRNORM | POLLERR, POLLPRI};
    struct select_args *a = arg;
    long ready = 0;

    memset(a->out, 0, 3 * a->words * sizeof(uint64_t));
    for (uint64_t fd = 0; fd < a->count; fd++) {
        uint64_t word = fd / 64, bit = UINT64_C(1) << fd % 64;
        unsigned all = 0;
        int events;

        if (thread_killed())
            return -EINTR;
        for (unsigned s = 0; s < 3; s++)
            all |= a->in[s * a->words + word] & bit ? wanted[s] : 0;
        if (!all)
            continue;
        events = events_of(ready ? NULL : t, (int64_t)fd, all);
        if (events < 0)
            return events;
        if ((unsigned)events & POLLNVAL)
            return -EBADF;
        for (unsigned s = 0; s < 3; s++) {
            if ((a->in[s * a->words + word] & bit) && ((unsigned)events & wanted[s])) {
                a->out[s * a->words + word] |= bit;
                ready++;
            }
        }
    }
    return ready;
}

/* Of a set that fits into the stack: 1,024 descriptors, as in C libraries. */
#define SELECT_WORDS 16u

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
    long err = poll_deadline(timeout, 1000, &deadline);

    return err ? err : select_call(n, (vaddr_t[3]){in, out, except}, deadline);
}

long sys_pselect6(uint64_t n, uint64_t in, uint64_t out, uint64_t except, uint64_t timeout,
                  uint64_t mask)
{
    uint64_t deadline;
    vaddr_t set;
    long err = poll_begin(timeout, mask, &deadline, &set);

    if (err)
        return err;
    err = select_call(n, (vaddr_t[3]){in, out, except}, deadline);
    poll_mask_end(set, err);
    return err;
}
