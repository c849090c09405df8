/*
 * Instances of epoll and their items.
 *
 * An item is in the tree of its instance, by file and number; on the list of its file
 * (file.watches), so that the end of the file removes it; on the source of the file's object, which
 * calls it when the object changes; and, while there may be something to report, on the ready list
 * of its instance.
 *
 * A change only puts the item on the ready list and wakes a waiter. epoll_wait takes each item from
 * the list, once round, and asks its file what holds. An item that is to report again what goes on
 * (neither EPOLLET nor EPOLLONESHOT) is put back behind the others. A change that comes after the
 * item was taken puts it on the list again, so nothing is lost, and an event may be reported twice.
 *
 * Locks. The instance's mutex (MUTEX_EPOLL) protects the tree and what is in it; it is held while
 * files are asked, so no item ends meanwhile, and before a file ends its items are removed under
 * it. So the end of a file waits for it, and it is held for short times only: no poll operation
 * waits for a mutex under which user memory is accessed, and epoll_wait writes to its caller's
 * memory, which may be slow to come, when it has released it. An instance that is watched by
 * another is asked with that one's mutex held, of the same rank, hence by mutex_try_lock(): if
 * somebody else is at work there, the answer is that something may be ready. epoll_mutex
 * (MUTEX_EPOLL_NEST) comes first and protects which instance watches which; it is held for a walk
 * over those alone, never while a file is asked. Spinlocks: epoll_files (RANK_WATCH), the lists of
 * files; an instance's ready_lock (RANK_EPOLL), taken by items that a source calls.
 *
 * An instance's memory is kept by its file and by whoever removes an item from the side of the
 * watched file (`refs`).
 */
#include "kernel/io/epoll.h"

#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/base/treap.h"
#include "kernel/io/io_private.h"
#include "kernel/io/open_flags.h"
#include "kernel/io/poll.h"
#include "kernel/quota/quota.h"
#include "kernel/sched/mutex.h"
#include "kernel/sched/thread.h"
#include "kernel/sched/timer.h"
#include "mm/pool/pool.h"

#define EPOLL_NESTS 5 /* instances in a row, each watching the next */
#define EPOLL_FLAGS (EPOLLEXCLUSIVE | EPOLLWAKEUP | EPOLLONESHOT | EPOLLET)
/* What may be asked for together with EPOLLEXCLUSIVE. */
#define EXCLUSIVE_ALLOWED \
    (EPOLLEXCLUSIVE | EPOLLWAKEUP | EPOLLET | POLLIN | POLLOUT | POLLERR | POLLHUP)

struct epoll { /* nonpaged pool */
    struct mutex lock;
    uint32_t refs; /* atomic */
    struct treap items;
    struct spinlock ready_lock;
    struct list ready;         /* epoll_item.ready; ready_lock */
    uint32_t nready;           /* their number; atomic: changed under ready_lock */
    struct wait_queue queue;   /* callers of epoll_wait */
    struct poll_source polled; /* who polls the instance itself */
    /* epoll_mutex: */
    struct list inner, outer; /* epoll_item.inner, .outer: instances that it watches, and those that
                                 watch it, by their items */
    uint64_t walk;            /* number of the last walk that came here */
    int height;               /* what that walk found */
};

struct epoll_item { /* nonpaged pool */
    struct treap_node node;
    struct poll_entry entry;
    struct epoll *ep;        /* constant */
    struct file *file;       /* constant */
    struct account *account; /* charged for it; constant */
    int fd;                  /* constant */
    uint32_t events;         /* atomic: changed under the mutex; no POLL* bits: it is disabled */
    uint64_t data;           /* mutex */
    struct list ready;       /* ready_lock */
    struct epoll_item *next, **link; /* the file's list; epoll_files */
    struct list inner, outer;        /* if the file is an instance; epoll_mutex */
};

static struct mutex epoll_mutex = MUTEX_INIT("epoll nesting", MUTEX_EPOLL_NEST, epoll_mutex);
static struct spinlock epoll_files = SPINLOCK_INIT("epoll files", RANK_WATCH, IPL_ASTDEL);
static uint64_t walks; /* epoll_mutex */

static const struct file_ops epoll_ops;

static bool is_instance(const struct file *f) { return f->ops == &epoll_ops; }

/* ---- the ready list ---- */

/* Something may be ready: wake one who waits, and tell who polls the instance. Any IPL up to
 * IPL_CLOCK. Returns whether there was anybody. */
static bool tell(struct epoll *ep)
{
    bool any = wake_one(&ep->queue) != 0;

    if (!poll_is_watched(&ep->polled))
        return any;
    poll_relay(&ep->polled, POLLIN | POLLRDNORM);
    return true;
}

static void make_ready(struct epoll_item *i)
{
    struct epoll *ep = i->ep;
    ipl_t ipl = spin_lock(&ep->ready_lock);

    if (list_empty(&i->ready)) {
        list_add_tail(&ep->ready, &i->ready);
        __atomic_store_n(&ep->nready, ep->nready + 1, __ATOMIC_RELAXED);
    }
    spin_unlock(&ep->ready_lock, ipl);
}

static void make_unready(struct epoll_item *i)
{
    struct epoll *ep = i->ep;
    ipl_t ipl = spin_lock(&ep->ready_lock);

    if (!list_empty(&i->ready)) {
        list_remove(&i->ready);
        __atomic_store_n(&ep->nready, ep->nready - 1, __ATOMIC_RELAXED);
    }
    spin_unlock(&ep->ready_lock, ipl);
}

/* Take the first item off the ready list; NULL: it is empty. The mutex is held. */
static struct epoll_item *take_ready(struct epoll *ep)
{
    ipl_t ipl = spin_lock(&ep->ready_lock);
    struct list *l = list_pop_head(&ep->ready);

    if (l)
        __atomic_store_n(&ep->nready, ep->nready - 1, __ATOMIC_RELAXED);
    spin_unlock(&ep->ready_lock, ipl);
    return l ? list_entry(l, struct epoll_item, ready) : NULL;
}

static inline uint32_t ready_count(const struct epoll *ep)
{
    return __atomic_load_n(&ep->nready, __ATOMIC_RELAXED);
}

static inline uint32_t wanted(const struct epoll_item *i)
{
    return __atomic_load_n(&i->events, __ATOMIC_RELAXED);
}

/* A source calls this. A disabled item is not concerned. */
static bool item_wake(struct poll_entry *e, uint32_t events)
{
    struct epoll_item *i = container_of(e, struct epoll_item, entry);

    if (!(wanted(i) & events & ~EPOLL_FLAGS))
        return false;
    make_ready(i);
    return tell(i->ep);
}

/* The events of i that hold now. */
static uint32_t item_events(const struct epoll_item *i)
{
    return i->file->ops->poll(i->file, NULL) & wanted(i);
}

/* ---- items; the instance's mutex is held ---- */

static bool before(const struct file *f, int fd, const struct epoll_item *i)
{
    return f != i->file ? (uintptr_t)f < (uintptr_t)i->file : fd < i->fd;
}

/* The item of f and fd; NULL: there is none, and *up and *where tell treap_insert its place. */
static struct epoll_item *find(struct epoll *ep, const struct file *f, int fd,
                               struct treap_node **up, struct treap_node ***where)
{
    *up = NULL;
    for (*where = &ep->items.root; **where;) {
        struct epoll_item *i = container_of(**where, struct epoll_item, node);

        if (i->file == f && i->fd == fd)
            return i;
        *up = **where;
        *where = before(f, fd, i) ? &(*up)->left : &(*up)->right;
    }
    return NULL;
}

static void file_link(struct epoll_item *i)
{
    struct file *f = i->file;
    ipl_t ipl = spin_lock(&epoll_files);

    i->next = f->watches;
    i->link = &f->watches;
    if (i->next)
        i->next->link = &i->next;
    __atomic_store_n(&f->watches, i, __ATOMIC_RELAXED);
    spin_unlock(&epoll_files, ipl);
}

static void file_unlink(struct epoll_item *i)
{
    ipl_t ipl = spin_lock(&epoll_files);

    if (i->next)
        i->next->link = i->link;
    __atomic_store_n(i->link, i->next, __ATOMIC_RELEASE);
    spin_unlock(&epoll_files, ipl);
}

/* Remove an item. If its file is an instance, epoll_mutex is held, too. */
static void item_remove(struct epoll_item *i)
{
    poll_unregister(&i->entry);
    make_unready(i);
    treap_remove(&i->ep->items, &i->node);
    list_remove(&i->inner);
    list_remove(&i->outer);
    file_unlink(i); /* the file may end from here on */
    account_release(i->account, QUOTA_WATCHES, 1);
    npp_free(i, sizeof(*i));
}

static struct epoll_item *item_alloc(struct epoll *ep, struct file *f, int fd,
                                     const struct epoll_event *e, int *err)
{
    struct account *a = account_self();
    struct epoll_item *i;

    if (!account_charge(a, QUOTA_WATCHES, 1)) {
        *err = -ENOSPC;
        return NULL;
    }
    i = npp_alloc_zeroed(sizeof(*i));
    if (!i) {
        account_release(a, QUOTA_WATCHES, 1);
        *err = -ENOMEM;
        return NULL;
    }
    i->ep = ep;
    i->file = f;
    i->fd = fd;
    i->account = a;
    i->events = e->events | POLLERR | POLLHUP;
    i->data = e->data;
    i->entry.wake = item_wake;
    i->entry.events = i->events & ~EPOLL_FLAGS;
    i->entry.exclusive = (e->events & EPOLLEXCLUSIVE) != 0;
    list_init(&i->ready);
    list_init(&i->inner);
    list_init(&i->outer);
    return i;
}

/* ---- instances that watch instances; epoll_mutex is held ---- */

/* How many instances are in a row from ep on downward, ep included; -ELOOP: `not` is among them, or
 * they are too many. Each instance is looked at once in a walk. */
static int height(struct epoll *ep, const struct epoll * not, unsigned depth)
{
    struct epoll_item *i;
    int most = 0;

    if (ep == not|| depth > EPOLL_NESTS)
        return -ELOOP;
    if (thread_killed())
        return -EINTR;
    if (ep->walk == walks)
        return ep->height;
    list_for_each_entry(i, &ep->inner, inner) {
        int below = height(i->file->priv, not, depth + 1);

        if (below < 0)
            return below;
        most = MAX(most, below);
    }
    ep->walk = walks;
    return ep->height = most + 1;
}

/* How many are in a row from ep on upward. There are no circles, and EPOLL_NESTS at most. */
static int height_above(struct epoll *ep)
{
    struct epoll_item *i;
    int most = 0;

    if (ep->walk == walks)
        return ep->height;
    list_for_each_entry(i, &ep->outer, outer) {
        if (thread_killed())
            return -EINTR;
        most = MAX(most, height_above(i->ep));
    }
    ep->walk = walks;
    return ep->height = most + 1;
}

/* May ep watch `inner`? */
static int may_nest(struct epoll *ep, struct epoll *inner)
{
    int below, above;

    walks++;
    below = height(inner, ep, 1);
    if (below < 0)
        return below;
    walks++;
    above = height_above(ep);
    if (above < 0)
        return above;
    return above + below > EPOLL_NESTS ? -ELOOP : 0;
}

/* ---- epoll_ctl ---- */

static int add_locked(struct epoll *ep, struct file *f, int fd, const struct epoll_event *e,
                      struct epoll_item **out)
{
    struct treap_node *up, **where;
    struct epoll_item *i;
    int err = 0;

    if (find(ep, f, fd, &up, &where))
        return -EEXIST;
    if (is_instance(f) && (err = may_nest(ep, f->priv)) != 0)
        return err;
    i = item_alloc(ep, f, fd, e, &err);
    if (!i)
        return err;
    treap_insert(&ep->items, &i->node, up, where);
    file_link(i);
    if (is_instance(f)) {
        list_add_tail(&ep->inner, &i->inner);
        list_add_tail(&((struct epoll *)f->priv)->outer, &i->outer);
    }
    *out = i;
    return 0;
}

static int modify_locked(struct epoll_item *i, const struct epoll_event *e)
{
    if (wanted(i) & EPOLLEXCLUSIVE)
        return -EINVAL;
    i->data = e->data;
    __atomic_store_n(&i->events, e->events | POLLERR | POLLHUP, __ATOMIC_RELAXED);
    __atomic_store_n(&i->entry.events, wanted(i) & ~EPOLL_FLAGS, __ATOMIC_RELAXED);
    /* A change of the file either sees these, or comes before the look at the file: item_wake. */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return 0;
}

static int check(const struct file *ep, unsigned op, const struct file *f,
                 const struct epoll_event *e)
{
    if (!f->ops->poll)
        return -EPERM;
    if (f == ep || !is_instance(ep))
        return -EINVAL;
    if (op < EPOLL_CTL_ADD || op > EPOLL_CTL_MOD)
        return -EINVAL;
    if (op == EPOLL_CTL_DEL || !(e->events & EPOLLEXCLUSIVE))
        return 0;
    return op == EPOLL_CTL_MOD || is_instance(f) || (e->events & ~EXCLUSIVE_ALLOWED) ? -EINVAL : 0;
}

/* Take ep's mutex, and before it epoll_mutex if the file is an instance. 0; -EINTR. */
static int lock_for_change(struct epoll *ep, bool nests)
{
    int err = nests ? mutex_lock_killable(&epoll_mutex) : 0;

    if (err)
        return err;
    err = mutex_lock_killable(&ep->lock);
    if (err && nests)
        mutex_unlock(&epoll_mutex);
    return err;
}

int epoll_control(struct file *file, unsigned op, struct file *f, int fd,
                  const struct epoll_event *e)
{
    int err = check(file, op, f, e);
    struct treap_node *up, **where;
    struct epoll_item *i = NULL;
    bool nests = is_instance(f);
    struct epoll *ep;

    if (err)
        return err;
    ep = file->priv;
    err = lock_for_change(ep, nests);
    if (err)
        return err;
    if (op == EPOLL_CTL_ADD)
        err = add_locked(ep, f, fd, e, &i);
    else if (!(i = find(ep, f, fd, &up, &where)))
        err = -ENOENT;
    else if (op == EPOLL_CTL_MOD)
        err = modify_locked(i, e);
    else
        item_remove(i);
    if (nests)
        mutex_unlock(&epoll_mutex);
    if (!err && op != EPOLL_CTL_DEL &&
        (f->ops->poll(f, op == EPOLL_CTL_ADD ? &i->entry : NULL) & wanted(i))) {
        make_ready(i);
        tell(ep);
    }
    mutex_unlock(&ep->lock);
    return err;
}

/* ---- epoll_wait ---- */

#define BATCH 8u /* events taken under one hold of the mutex */

/* An event on its way to the caller of epoll_wait. */
struct taken {
    const struct file *file; /* its item's, which may be gone */
    int fd;
    uint32_t wanted; /* what the item asked for */
    struct epoll_event event;
};

/* Take i's events. False: there are none. The mutex is held. */
static bool take_events(struct epoll_item *i, struct taken *t)
{
    uint32_t flags = wanted(i) & EPOLL_FLAGS;

    t->event = (struct epoll_event){.events = item_events(i), .data = i->data};
    if (!t->event.events)
        return false;
    t->file = i->file;
    t->fd = i->fd;
    t->wanted = wanted(i);
    if (flags & EPOLLONESHOT)
        __atomic_store_n(&i->events, flags, __ATOMIC_RELAXED);
    else if (!(flags & EPOLLET))
        make_ready(i);
    return true;
}

/* Take up to n events. *left: how many items may still be looked at. Returns how many; 0: there are
 * no more, or the thread is to end. */
static unsigned take_batch(struct epoll *ep, struct taken *batch, unsigned n, uint32_t *left)
{
    struct epoll_item *i;
    unsigned k = 0;

    if (mutex_lock_killable(&ep->lock) != 0)
        return 0;
    for (; *left && k < n && !thread_killed() && (i = take_ready(ep)) != NULL; --*left)
        k += take_events(i, &batch[k]);
    mutex_unlock(&ep->lock);
    return k;
}

/* The caller's memory did not take the event: it is as if it had not been reported. */
static void give_back(struct epoll *ep, const struct taken *t)
{
    struct treap_node *up, **where;
    struct epoll_item *i;

    mutex_lock(&ep->lock);
    i = find(ep, t->file, t->fd, &up, &where);
    if (i && (t->wanted & EPOLLONESHOT) && wanted(i) == (t->wanted & EPOLL_FLAGS))
        __atomic_store_n(&i->events, t->wanted, __ATOMIC_RELAXED);
    if (i)
        make_ready(i);
    mutex_unlock(&ep->lock);
}

static int copyout_event(vaddr_t to, const struct epoll_event *e)
{
    int err = copyout_u32(to, e->events);

    return err ? err : copyout_u64(to + offsetof(struct epoll_event, data), e->data);
}

/* Report what is ready, looking at each item once. The number of events, or a negative errno. */
static long collect(struct epoll *ep, vaddr_t to, unsigned most)
{
    uint32_t left = ready_count(ep);
    struct taken batch[BATCH];
    unsigned n = 0, k, done;
    int err = 0;

    while (n < most && !err && (k = take_batch(ep, batch, MIN(BATCH, most - n), &left)) != 0) {
        for (done = 0; done < k && !err; done += !err)
            err = copyout_event(to + (n + done) * sizeof(struct epoll_event), &batch[done].event);
        n += done;
        for (; done < k; done++)
            give_back(ep, &batch[done]);
    }
    return n ? (long)n : err;
}

/* Wait until something may be ready. 0, -EINTR or -ETIMEDOUT. */
static int wait_ready(struct epoll *ep, uint64_t deadline_ns)
{
    struct waiter w;
    int err = 0;

    wait_enqueue(&ep->queue, &w);
    if (!ready_count(ep))
        err = wait_block(&w, WAIT_INTERRUPTIBLE, deadline_ns);
    wait_finish(&w);
    return err;
}

long epoll_wait(struct file *file, vaddr_t to, unsigned most, uint64_t deadline_ns)
{
    struct epoll *ep;
    int err = 0;
    long n = 0;

    if (!is_instance(file))
        return -EINVAL;
    ep = file->priv;
    for (;;) {
        if (ready_count(ep))
            n = collect(ep, to, most);
        if (n || err || deadline_ns <= clock_ns())
            break;
        err = wait_ready(ep, deadline_ns);
        if (thread_killed())
            err = -EINTR;
    }
    /* The call that woke this thread may have concerned others as well. */
    if (ready_count(ep))
        wake_one(&ep->queue);
    return n ? n : err == -EINTR ? err : 0;
}

/* ---- the file ---- */

static unsigned epoll_poll(struct file *f, struct poll_entry *e)
{
    struct epoll *ep = f->priv;
    unsigned result = 0;

    poll_register(&ep->polled, e);
    if (!ready_count(ep))
        return 0;
    if (!mutex_try_lock(&ep->lock))
        return POLLIN | POLLRDNORM;
    for (uint32_t left = ready_count(ep); left && !result && !thread_killed(); left--) {
        struct epoll_item *i = take_ready(ep);

        if (!i)
            break;
        if (item_events(i)) {
            make_ready(i);
            result = POLLIN | POLLRDNORM;
        }
    }
    mutex_unlock(&ep->lock);
    return result;
}

static void put(struct epoll *ep)
{
    if (__atomic_fetch_sub(&ep->refs, 1, __ATOMIC_ACQ_REL) == 1)
        npp_free(ep, sizeof(*ep));
}

void epoll_file_ends(struct file *f)
{
    bool nests = is_instance(f);

    if (nests)
        mutex_lock(&epoll_mutex);
    for (;;) {
        ipl_t ipl = spin_lock(&epoll_files);
        struct epoll *ep = f->watches ? f->watches->ep : NULL;
        struct epoll_item *i;

        if (ep)
            __atomic_fetch_add(&ep->refs, 1, __ATOMIC_RELAXED);
        spin_unlock(&epoll_files, ipl);
        if (!ep)
            break;
        mutex_lock(&ep->lock);
        /* Only under this mutex is an item of this instance removed. */
        ipl = spin_lock(&epoll_files);
        i = f->watches && f->watches->ep == ep ? f->watches : NULL;
        spin_unlock(&epoll_files, ipl);
        if (i)
            item_remove(i);
        mutex_unlock(&ep->lock);
        put(ep);
    }
    if (nests)
        mutex_unlock(&epoll_mutex);
}

/* Nobody watches this instance any more (epoll_file_ends). */
static void epoll_close(struct file *f)
{
    struct epoll *ep = f->priv;
    bool nests;

    /* Nobody adds an item any more, so what is found empty here stays so. */
    mutex_lock(&epoll_mutex);
    nests = !list_empty(&ep->inner);
    if (!nests)
        mutex_unlock(&epoll_mutex);
    mutex_lock(&ep->lock);
    while (ep->items.root)
        item_remove(container_of(ep->items.root, struct epoll_item, node));
    mutex_unlock(&ep->lock);
    if (nests)
        mutex_unlock(&epoll_mutex);
    poll_source_end(&ep->polled);
    put(ep);
}

static const struct file_ops epoll_ops = {.name = "anon_inode:[eventpoll]",
                                          .lseek = anon_lseek,
                                          .stat = anon_stat,
                                          .poll = epoll_poll,
                                          .close = epoll_close};

int epoll_create_file(struct file **out)
{
    struct epoll *ep = npp_alloc_zeroed(sizeof(*ep));
    struct file *f = ep ? file_alloc(&epoll_ops, O_RDWR) : NULL;

    if (!f) {
        if (ep)
            npp_free(ep, sizeof(*ep));
        return file_why_not();
    }
    mutex_init(&ep->lock, "epoll", MUTEX_EPOLL);
    spin_init(&ep->ready_lock, "epoll ready", RANK_EPOLL, IPL_CLOCK);
    wait_queue_init(&ep->queue, "epoll");
    poll_source_init(&ep->polled);
    list_init(&ep->ready);
    list_init(&ep->inner);
    list_init(&ep->outer);
    ep->refs = 1;
    f->priv = ep;
    *out = f;
    return 0;
}
