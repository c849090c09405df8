/*
 * inotify: an open file that holds a queue of events, and the watches that fill it.
 *
 * A watch has a reference of the instance's tree, by which a number finds it, and one of each call
 * that uses it; it reports only while it is on its inode. Whoever takes it off its inode also takes
 * it out of the tree, with the mutex of the inode held. The instance is freed when its tree is
 * empty, so whoever takes the last watch out of it does not access the instance afterwards.
 *
 * An instance's spinlock (RANK_NOTIFY) protects queue and tree. Events are charged to the user of
 * the instance by their bytes (USER_NONPAGED), and there are at most INOTIFY_QUEUE_MAX: when one
 * is refused or there is no memory, the queue ends with IN_Q_OVERFLOW, whose memory is part of the
 * instance. An event equal to the last one in the queue is not added.
 */
#include "kernel/io/inotify.h"

#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/base/list.h"
#include "kernel/base/string.h"
#include "kernel/base/treap.h"
#include "kernel/io/io_private.h"
#include "kernel/io/open_flags.h"
#include "kernel/io/poll.h"
#include "kernel/io/termios.h"
#include "kernel/sched/freeze.h"
#include "kernel/sched/thread.h"
#include "kernel/sched/wait.h"
#include "mm/pool/pool_charged.h"

#define NAME_ALIGN 16u /* names are padded with zeroes to multiples of it, as Linux does */

/* What a program reads; the padded name follows. */
struct record {
    int32_t wd;
    uint32_t mask, cookie, len;
};
#define RECORD_MAX (sizeof(struct record) + NAME_MAX + 1)
_Static_assert(RECORD_MAX == 272, "the longest name is padded to 256 bytes");

struct event { /* nonpaged pool, but for the instance's own */
    struct list link;
    int32_t wd;
    uint32_t mask, cookie, len; /* len: of the name, without a NUL */
    char name[];
};

struct inotify {          /* nonpaged pool */
    struct spinlock lock; /* RANK_NOTIFY, IPL_ASTDEL; protects the rest */
    struct list events;
    struct event overflow; /* on the list: events have been lost since it was put there */
    uint32_t count;        /* of events */
    uint32_t bytes;        /* of their records */
    struct treap watches;  /* by number */
    int32_t last_number;
    uint16_t account; /* charged for it, its watches and events; constant */
    struct wait_queue readers;
    struct poll_source polled;
};

struct watch { /* nonpaged pool, counted as one of QUOTA_INOTIFY_WATCHES */
    struct notify_watch base;
    struct inotify *instance; /* constant; there while the watch is in its tree */
    struct treap_node node;   /* instance->lock */
    int32_t number;           /* set once, when it is put into the tree */
    uint32_t refs;            /* atomic */
    uint16_t account;         /* charged for it; constant */
};

static struct watch *watch_of(struct notify_watch *w)
{
    return container_of(w, struct watch, base);
}

static uint32_t padded(uint32_t len)
{
    return len ? (len + 1 + NAME_ALIGN - 1) & ~(NAME_ALIGN - 1) : 0;
}

static uint32_t record_bytes(const struct event *e)
{
    return (uint32_t)sizeof(struct record) + padded(e->len);
}

static size_t event_bytes(uint32_t len) { return sizeof(struct event) + len; }

/* ---- the queue ---- */

static void append_locked(struct inotify *in, struct event *e)
{
    list_add_tail(&in->events, &e->link);
    in->count++;
    in->bytes += record_bytes(e);
}

/* Is there nothing to add, because the last event says the same? */
static bool repeats_locked(const struct inotify *in, int32_t wd, const struct notify_event *e)
{
    const struct list *l = list_last(&in->events);
    const struct event *last = l ? list_entry(l, struct event, link) : NULL;

    return last && last->wd == wd && last->mask == e->mask && last->len == e->len &&
           (e->len == 0 || memcmp(last->name, e->name, e->len) == 0);
}

static struct event *event_new(const struct inotify *in, int32_t wd, const struct notify_event *e)
{
    struct event *new = npp_alloc_charged(event_bytes(e->len), in->account);

    if (!new)
        return NULL;
    new->wd = wd;
    new->mask = e->mask;
    new->cookie = e->cookie;
    new->len = e->len;
    if (e->len)
        memcpy(new->name, e->name, e->len);
    return new;
}

static void event_free(struct inotify *in, struct event *e)
{
    if (e != &in->overflow)
        npp_free_charged(e, event_bytes(e->len), in->account);
}

/* Add an event, if it is not the same as the last one. */
static void add_event(struct inotify *in, int32_t wd, const struct notify_event *e)
{
    struct event *new = event_new(in, wd, e);
    bool added = true;
    ipl_t ipl = spin_lock(&in->lock);

    if (repeats_locked(in, wd, e)) {
        added = false;
    } else if (new && in->count < INOTIFY_QUEUE_MAX) {
        append_locked(in, new);
        new = NULL;
    } else if (list_empty(&in->overflow.link)) {
        append_locked(in, &in->overflow);
    } else {
        added = false;
    }
    spin_unlock(&in->lock, ipl);
    if (new)
        event_free(in, new);
    if (!added)
        return;
    wake_one(&in->readers);
    poll_notify(&in->polled, POLLIN | POLLRDNORM);
}

/* The first event, if its record has at most `room` bytes. 0 with *e NULL: there is none; -EINVAL:
 * it is longer. */
static int take_event(struct inotify *in, size_t room, struct event **e)
{
    ipl_t ipl = spin_lock(&in->lock);
    struct list *l = list_first(&in->events);
    int err = 0;

    *e = l ? list_entry(l, struct event, link) : NULL;
    if (*e && record_bytes(*e) > room) {
        err = -EINVAL;
        *e = NULL;
    } else if (*e) {
        list_remove(l);
        in->count--;
        in->bytes -= record_bytes(*e);
    }
    spin_unlock(&in->lock, ipl);
    return err;
}

/* ---- watches ---- */

static void watch_unref(struct watch *w)
{
    if (__atomic_sub_fetch(&w->refs, 1, __ATOMIC_ACQ_REL) == 0)
        npp_free_counted(w, sizeof(*w), QUOTA_INOTIFY_WATCHES, w->account);
}

static struct watch *numbered_locked(const struct inotify *in, int32_t number)
{
    struct treap_node *n = in->watches.root;

    while (n) {
        struct watch *w = container_of(n, struct watch, node);

        if (w->number == number)
            return w;
        n = number < w->number ? n->left : n->right;
    }
    return NULL;
}

/* The number of the watch. A new one gets the next number, which is above all others, and is put
 * into the tree. */
static int watch_entered(struct notify_watch *base, bool new)
{
    struct watch *w = watch_of(base);
    struct inotify *in = w->instance;
    struct treap_node *up = NULL, **where = &in->watches.root;
    int err = 0;
    ipl_t ipl;

    if (!new)
        return w->number;
    ipl = spin_lock(&in->lock);
    if (in->last_number == INT32_MAX) {
        err = -ENOSPC;
    } else {
        w->number = ++in->last_number;
        __atomic_fetch_add(&w->refs, 1, __ATOMIC_RELAXED);
        while (*where) {
            up = *where;
            where = &up->right;
        }
        treap_insert(&in->watches, &w->node, up, where);
    }
    spin_unlock(&in->lock, ipl);
    return err ? err : w->number;
}

static void watch_report(struct notify_watch *base, const struct notify_event *e)
{
    struct watch *w = watch_of(base);

    add_event(w->instance, w->number, e);
}

static void watch_ended(struct notify_watch *base)
{
    struct watch *w = watch_of(base);
    struct inotify *in = w->instance;
    ipl_t ipl;

    add_event(in, w->number, &(struct notify_event){.mask = IN_IGNORED});
    ipl = spin_lock(&in->lock);
    treap_remove(&in->watches, &w->node);
    spin_unlock(&in->lock, ipl);
    watch_unref(w); /* inotify_close() may have freed the instance meanwhile */
}

/* A watch with the caller's reference. */
static struct watch *watch_new(struct inotify *in, uint32_t mask, int *err)
{
    bool full;
    struct watch *w = npp_alloc_counted(sizeof(*w), QUOTA_INOTIFY_WATCHES, in->account, &full);

    *err = w ? 0 : full ? -ENOSPC : -ENOMEM;
    if (!w)
        return NULL;
    memset(w, 0, sizeof(*w));
    w->base.owner = in;
    w->base.mask = mask;
    w->base.report = watch_report;
    w->base.ended = watch_ended;
    w->instance = in;
    w->account = in->account;
    w->refs = 1;
    return w;
}

int inotify_watch(struct file *f, struct inode *i, uint32_t mask, enum notify_how how)
{
    struct inotify *in = f->priv;
    struct watch *w;
    int err, number;

    if (!inotify_is(f))
        return -EINVAL;
    w = watch_new(in, mask, &err);
    if (!w)
        return err;
    number = notify_add(i, &w->base, how, watch_entered);
    watch_unref(w);
    if (number >= 0 && (mask & IN_OF_CHILDREN))
        err = notify_children(i);
    return err ? err : number;
}

/* The watch of a number, or of the lowest one (-1), with a reference; NULL: there is none. */
static struct watch *find_watch(struct inotify *in, int32_t number)
{
    ipl_t ipl = spin_lock(&in->lock);
    struct treap_node *first = number < 0 ? treap_first(&in->watches) : NULL;
    struct watch *w = first ? container_of(first, struct watch, node) : NULL;

    if (number >= 0)
        w = numbered_locked(in, number);
    if (w)
        __atomic_fetch_add(&w->refs, 1, __ATOMIC_RELAXED);
    spin_unlock(&in->lock, ipl);
    return w;
}

int inotify_end(struct file *f, int number)
{
    struct watch *w;
    bool ended;

    if (!inotify_is(f) || number < 0)
        return -EINVAL;
    w = find_watch(f->priv, number);
    if (!w)
        return -EINVAL;
    ended = notify_drop(&w->base);
    watch_unref(w);
    return ended ? 0 : -EINVAL;
}

/* ---- the open file ---- */

static long copy_event(const struct event *e, vaddr_t ubuf)
{
    struct {
        struct record head;
        char name[NAME_MAX + 1];
    } r = {.head = {.wd = e->wd, .mask = e->mask, .cookie = e->cookie, .len = padded(e->len)}};

    memcpy(r.name, e->name, e->len);
    memset(r.name + e->len, 0, padded(e->len) - e->len);
    return copyout(ubuf, &r, sizeof(r.head) + r.head.len) ? -EFAULT : (long)record_bytes(e);
}

/* Copy as many events as fit. 0: there are none. One that cannot be copied out is lost. */
static long copy_events(struct inotify *in, vaddr_t ubuf, size_t n)
{
    struct event *e;
    size_t done = 0;
    long r = 0;

    while (r >= 0 && !thread_killed()) {
        r = take_event(in, n - done, &e);
        if (r || !e)
            break;
        r = copy_event(e, ubuf + done);
        event_free(in, e);
        if (r > 0)
            done += (size_t)r;
    }
    return r == -EFAULT ? r : done ? (long)done : r;
}

static bool has_events(struct inotify *in)
{
    ipl_t ipl = spin_lock(&in->lock);
    bool any = in->count != 0;

    spin_unlock(&in->lock, ipl);
    return any;
}

/* Wait until there are events. 0, -EAGAIN or -ERESTARTSYS. */
static long wait_for_events(struct file *f)
{
    struct inotify *in = f->priv;
    struct waiter w;
    int err = 0;

    wait_enqueue(&in->readers, &w);
    while (!has_events(in) && !err) {
        err = f->flags & O_NONBLOCK ? -EAGAIN : wait_block(&w, WAIT_INTERRUPTIBLE, WAIT_FOREVER);
        if (!err)
            wait_enqueue(&in->readers, &w);
    }
    wait_finish(&w);
    return err == -EINTR ? -ERESTARTSYS : err;
}

static long inotify_read(struct file *f, vaddr_t ubuf, size_t n)
{
    struct inotify *in = f->priv;
    long r;

    do {
        r = wait_for_events(f);
        if (!r)
            r = copy_events(in, ubuf, n);
    } while (!r && !thread_killed());
    if (has_events(in)) /* it may have been woken for one that it leaves */
        wake_one(&in->readers);
    return r ? r : -EINTR;
}

static long inotify_ioctl(struct file *f, unsigned long req, vaddr_t arg)
{
    struct inotify *in = f->priv;
    uint32_t bytes;
    ipl_t ipl;

    if (req != FIONREAD)
        return -ENOTTY;
    ipl = spin_lock(&in->lock);
    bytes = in->bytes;
    spin_unlock(&in->lock, ipl);
    return copyout_u32(arg, bytes) ? -EFAULT : 0;
}

static unsigned inotify_poll(struct file *f, struct poll_entry *e)
{
    struct inotify *in = f->priv;

    poll_register(&in->polled, e);
    return has_events(in) ? POLLIN | POLLRDNORM : 0;
}

static void inotify_close(struct file *f)
{
    struct inotify *in = f->priv;
    struct account *a = &accounts[in->account];
    struct event *e;
    struct watch *w;

    while ((w = find_watch(in, -1)) != NULL) {
        (void)notify_drop(&w->base);
        watch_unref(w);
        (void)sched_loop_point();
    }
    while (take_event(in, RECORD_MAX, &e) == 0 && e)
        event_free(in, e);
    poll_source_end(&in->polled);
    npp_free(in, sizeof(*in));
    account_release(a, QUOTA_INOTIFY, 1);
}

static const struct file_ops inotify_ops = {.name = "anon_inode:inotify",
                                            .read = inotify_read,
                                            .lseek = anon_lseek,
                                            .stat = anon_stat,
                                            .ioctl = inotify_ioctl,
                                            .poll = inotify_poll,
                                            .close = inotify_close};

bool inotify_is(const struct file *f) { return f->ops == &inotify_ops; }

static struct inotify *instance_new(struct account *a)
{
    struct inotify *in = npp_alloc_zeroed(sizeof(*in));

    if (!in)
        return NULL;
    spin_init(&in->lock, "inotify", RANK_NOTIFY, IPL_ASTDEL);
    list_init(&in->events);
    list_init(&in->overflow.link);
    in->overflow.wd = -1;
    in->overflow.mask = IN_Q_OVERFLOW;
    in->account = (uint16_t)(a - accounts);
    wait_queue_init(&in->readers, "inotify");
    poll_source_init(&in->polled);
    return in;
}

int inotify_create_file(bool nonblock, struct file **out)
{
    struct account *a = account_self();
    struct inotify *in;
    struct file *f;

    if (!account_charge(a, QUOTA_INOTIFY, 1))
        return -EMFILE;
    in = instance_new(a);
    f = in ? file_alloc(&inotify_ops, O_RDONLY | (nonblock ? O_NONBLOCK : 0)) : NULL;
    if (!f) {
        if (in)
            npp_free(in, sizeof(*in));
        account_release(a, QUOTA_INOTIFY, 1);
        return file_why_not();
    }
    f->priv = in;
    *out = f;
    return 0;
}
