/*
 * Message queues of POSIX: names, messages by priority, who waits.
 *
 * A queue belongs to its name, until that is removed, and to the files by which it is open. Its
 * messages are in a tree by priority and age. A message goes directly to the first receiver that
 * waits, and is in no queue then; room that becomes free goes to the first sender that waits, whose
 * message the receiver enters. So only whom it concerns is woken, and nobody can overtake.
 *
 * Whoever waits is on a list, with a structure on its stack. "done" is set with the queue's lock
 * held (RANK_MQUEUE), so a signal or a time-out that comes at the same moment loses no message.
 *
 * The whole size of a queue is charged to who makes it (RLIMIT_MSGQUEUE, USER_MESSAGE_BYTES), and
 * so is the queue itself (USER_IPC). The memory of messages is charged to the senders.
 */
#include "kernel/ipc/mqueue.h"

#include "kernel/base/errno.h"
#include "kernel/base/list.h"
#include "kernel/base/string.h"
#include "kernel/base/treap.h"
#include "kernel/fs/inode.h"
#include "kernel/io/open_flags.h"
#include "kernel/io/poll.h"
#include "kernel/ipc/ipc.h"
#include "kernel/sched/thread.h"
#include "kernel/sched/timer.h"
#include "kernel/sched/wait.h"
#include "mm/pool/pool_census.h"
#include "mm/pool/pool_charged.h"

/* What a message and a priority count beside the bytes, as on Linux: programs compute it. */
#define MESSAGE_COST  48u
#define PRIORITY_COST 48u

struct mqueue_message { /* nonpaged pool */
    struct treap_node node;
    uint32_t priority;
    uint16_t account; /* charged for it; constant */
    size_t nbytes;    /* constant */
    uint8_t text[];
};

struct mqueue {              /* nonpaged pool, counted as one of QUOTA_IPC */
    struct spinlock lock;    /* RANK_MQUEUE, IPL_ASTDEL; protects what is not said otherwise */
    struct treap_node named; /* in the tree of names; names_lock */
    bool has_name;           /* atomic: changed with names_lock */
    uint32_t refs;           /* its name's, and those of files; atomic */
    uint32_t mode, uid, gid; /* constant */
    uint16_t account;        /* charged for it; constant */
    struct mqueue_size size; /* constant */
    int64_t made_ns;         /* constant */
    struct treap messages;   /* by priority, the highest first, then by age */
    uint64_t count;
    struct list senders, receivers; /* of struct party */
    struct mqueue_notice notice;
    struct poll_source polled;
    uint32_t name_len; /* constant */
    char name[NAME_MAX];
};

struct party { /* on the stack of its thread; the queue's lock */
    struct list link;
    struct wait_queue wait;
    bool done;                /* atomic: read by the thread without the lock */
    struct mqueue_message *m; /* a sender's; what a receiver got */
};

static struct spinlock names_lock = SPINLOCK_INIT("message queues' names", RANK_IPC, IPL_ASTDEL);
static struct treap names; /* of mqueue.named; names_lock */
static uint32_t queues;    /* names_lock */

void (*mqueue_tell)(const struct mqueue_notice *n);
bool (*mqueue_lives)(const struct mqueue_notice *n);

static const struct file_ops mqueue_ops;

/* ---- messages ---- */

struct mqueue_message *mqueue_message_new(size_t nbytes, uint32_t priority)
{
    uint16_t account = pool_account();
    struct mqueue_message *m = npp_alloc_charged(sizeof(*m) + nbytes, account);

    if (m) {
        m->priority = priority;
        m->account = account;
        m->nbytes = nbytes;
    }
    return m;
}

void mqueue_message_free(struct mqueue_message *m)
{
    npp_free_charged(m, sizeof(*m) + m->nbytes, m->account);
}

void *mqueue_message_text(struct mqueue_message *m) { return m->text; }
size_t mqueue_message_bytes(const struct mqueue_message *m) { return m->nbytes; }
uint32_t mqueue_message_priority(const struct mqueue_message *m) { return m->priority; }

static struct mqueue_message *message_at(struct treap_node *n)
{
    return n ? container_of(n, struct mqueue_message, node) : NULL;
}

static void enter_locked(struct mqueue *q, struct mqueue_message *m)
{
    struct treap_node *up = NULL, **where = &q->messages.root;

    while (*where) {
        up = *where;
        where = m->priority > message_at(up)->priority ? &up->left : &up->right;
    }
    treap_insert(&q->messages, &m->node, up, where);
    q->count++;
}

static struct mqueue_message *take_locked(struct mqueue *q)
{
    struct mqueue_message *m = message_at(treap_first(&q->messages));

    if (m) {
        treap_remove(&q->messages, &m->node);
        q->count--;
    }
    return m;
}

/* ---- names ---- */

/* How a name and that of q are ordered: below 0, 0 or above. By a hash first, with this boot's
 * secret, so that no choice of names makes the tree deep or the comparisons long. */
static int compare(const struct fs_name *name, const struct mqueue *q)
{
    if (name->hash != q->named.hash)
        return name->hash < q->named.hash ? -1 : 1;
    if (name->len != q->name_len)
        return name->len < q->name_len ? -1 : 1;
    return memcmp(name->text, q->name, name->len);
}

/* The queue with that name, and where a new one belongs. */
static struct mqueue *find_locked(const struct fs_name *name, struct treap_node **up,
                                  struct treap_node ***where)
{
    *up = NULL;
    for (*where = &names.root; **where;) {
        struct mqueue *q = container_of(**where, struct mqueue, named);
        int c = compare(name, q);

        if (!c)
            return q;
        *up = **where;
        *where = c < 0 ? &(*up)->left : &(*up)->right;
    }
    return NULL;
}

static void remove_name_locked(struct mqueue *q)
{
    treap_remove(&names, &q->named);
    __atomic_store_n(&q->has_name, false, __ATOMIC_RELAXED);
    queues--;
}

/* ---- making and ending ---- */

static uint64_t cost_of(const struct mqueue_size *s)
{
    return s->messages * (MESSAGE_COST + s->nbytes) +
           MIN(s->messages, (uint64_t)MQ_PRIO_MAX) * PRIORITY_COST;
}

static int check_size(const struct mqueue_size *s, bool root)
{
    uint64_t messages = root ? MQ_MSG_LIMIT : MQ_MSG_MAX;
    uint64_t nbytes = root ? MQ_MSGSIZE_LIMIT : MQ_MSGSIZE_MAX;

    return s->messages - 1 < messages && s->nbytes - 1 < nbytes ? 0 : -EINVAL;
}

/* Charge a queue of that size. */
static int charge(struct account *a, uint64_t nbytes, uint64_t most)
{
    const struct quota_count *used = &a->count[QUOTA_MESSAGE_BYTES];

    if (!account_charge(a, QUOTA_IPC, 1))
        return -ENOSPC;
    if (account_charge(a, QUOTA_MESSAGE_BYTES, nbytes)) {
        if (__atomic_load_n(&used->used, __ATOMIC_RELAXED) <= most)
            return 0;
        account_release(a, QUOTA_MESSAGE_BYTES, nbytes);
    }
    account_release(a, QUOTA_IPC, 1);
    return -EMFILE;
}

static void release(struct account *a, uint64_t nbytes)
{
    account_release(a, QUOTA_MESSAGE_BYTES, nbytes);
    account_release(a, QUOTA_IPC, 1);
}

static int make(const struct fs_name *name, const struct io_cred *cred, uint32_t mode,
                const struct mqueue_size *size, uint64_t most, struct mqueue **out)
{
    struct account *a = account_self();
    int err = charge(a, cost_of(size), most);
    struct mqueue *q = err ? NULL : npp_alloc_zeroed(sizeof(*q));

    if (err)
        return err;
    if (!q) {
        release(a, cost_of(size));
        return -ENOMEM;
    }
    spin_init(&q->lock, "message queue of POSIX", RANK_MQUEUE, IPL_ASTDEL);
    q->refs = 1;
    q->mode = mode;
    q->uid = cred->uid;
    q->gid = cred->gid;
    q->account = (uint16_t)(a - accounts);
    q->size = *size;
    q->made_ns = (int64_t)clock_wall_ns();
    list_init(&q->senders);
    list_init(&q->receivers);
    poll_source_init(&q->polled);
    q->named.hash = name->hash;
    q->name_len = name->len;
    memcpy(q->name, name->text, name->len);
    *out = q;
    return 0;
}

static void queue_unref(struct mqueue *q)
{
    struct mqueue_message *m;

    if (__atomic_sub_fetch(&q->refs, 1, __ATOMIC_ACQ_REL))
        return;
    while ((m = take_locked(q)) != NULL) /* nobody else knows it any more */
        mqueue_message_free(m);
    poll_source_end(&q->polled);
    release(&accounts[q->account], cost_of(&q->size));
    npp_free(q, sizeof(*q));
}

/* ---- opening ---- */

static int may_open(const struct mqueue *q, const struct io_cred *cred, uint32_t flags)
{
    uint32_t mode = q->mode, mask;

    if ((flags & O_ACCMODE) == O_ACCMODE)
        return -EINVAL;
    mask = (flags & O_ACCMODE) == O_RDONLY ? 4 : (flags & O_ACCMODE) == O_WRONLY ? 2 : 6;
    if (cred->uid == 0)
        return 0;
    if (cred->uid == q->uid)
        mode >>= 6;
    else if (io_in_group(cred, q->gid))
        mode >>= 3;
    return (mode & mask) == mask ? 0 : -EACCES;
}

/* Find the queue, or let `new` have the name unless it is NULL. *out gets a reference. */
static int find_or_enter(const struct fs_name *name, struct mqueue *new, bool root,
                         struct mqueue **out)
{
    struct treap_node *up, **where;
    ipl_t ipl = spin_lock(&names_lock);
    int err = 0;

    *out = find_locked(name, &up, &where);
    if (!*out && !new) {
        err = -ENOENT;
    } else if (!*out && queues >= MQ_QUEUES_MAX && !root) {
        err = -ENOSPC;
    } else if (!*out) {
        treap_insert(&names, &new->named, up, where);
        __atomic_store_n(&new->has_name, true, __ATOMIC_RELAXED);
        queues++;
        *out = new;
    }
    if (!err)
        __atomic_fetch_add(&(*out)->refs, 1, __ATOMIC_RELAXED);
    spin_unlock(&names_lock, ipl);
    return err;
}

static int open_queue(const struct fs_name *name, const struct io_cred *cred, bool root,
                      uint32_t flags, uint32_t mode, const struct mqueue_size *size, uint64_t most,
                      struct mqueue **out)
{
    struct mqueue *new = NULL;
    int err = find_or_enter(name, NULL, root, out);

    if (err && (flags & O_CREAT)) {
        err = check_size(size, root);
        if (!err)
            err = make(name, cred, mode, size, most, &new);
        if (err)
            return err;
        err = find_or_enter(name, new, root, out);
        if (err || *out != new) /* another one was faster */
            queue_unref(new);
    }
    if (err || *out == new)
        return err;
    err = (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL) ? -EEXIST
                                                             : may_open(*out, cred, flags);
    if (err)
        queue_unref(*out);
    return err;
}

int mqueue_open(const char *text, size_t len, const struct io_cred *cred, bool root, uint32_t flags,
                uint32_t mode, const struct mqueue_size *size, uint64_t bytes_most,
                struct file **out)
{
    struct fs_name name = fs_name(text, len);
    struct file *f = file_alloc(&mqueue_ops, flags & (O_ACCMODE | O_NONBLOCK));
    struct mqueue *q;
    int err;

    if (!f)
        return file_why_not();
    err = open_queue(&name, cred, root, flags, mode, size, bytes_most, &q);
    if (err) {
        file_free(f);
        return err;
    }
    f->priv = q;
    *out = f;
    return 0;
}

int mqueue_unlink(const char *text, size_t len, const struct io_cred *cred)
{
    struct fs_name name = fs_name(text, len);
    struct treap_node *up, **where;
    ipl_t ipl = spin_lock(&names_lock);
    struct mqueue *q = find_locked(&name, &up, &where);
    int err = !q ? -ENOENT : cred->uid && cred->uid != q->uid ? -EPERM : 0;

    if (!err)
        remove_name_locked(q);
    spin_unlock(&names_lock, ipl);
    if (!err)
        queue_unref(q);
    return err;
}

/* ---- the open file ---- */

bool mqueue_is(const struct file *f) { return f->ops == &mqueue_ops; }

void mqueue_status(const struct file *f, struct mqueue_size *size, uint64_t *count)
{
    struct mqueue *q = f->priv;
    ipl_t ipl = spin_lock(&q->lock);

    *size = q->size;
    *count = q->count;
    spin_unlock(&q->lock, ipl);
}

static int mqueue_stat(struct file *f, struct file_stat *st)
{
    const struct mqueue *q = f->priv;

    *st = (struct file_stat){.ino = 1,
                             .mode = S_IFREG | q->mode,
                             .nlink = __atomic_load_n(&q->has_name, __ATOMIC_RELAXED),
                             .uid = q->uid,
                             .gid = q->gid,
                             .size = 80,
                             .atime_ns = q->made_ns,
                             .mtime_ns = q->made_ns,
                             .ctime_ns = q->made_ns,
                             .blksize = 4096};
    return 0;
}

static unsigned mqueue_poll(struct file *f, struct poll_entry *e)
{
    struct mqueue *q = f->priv;
    unsigned r = 0;
    ipl_t ipl;

    poll_register(&q->polled, e);
    ipl = spin_lock(&q->lock);
    if (q->count)
        r |= POLLIN | POLLRDNORM;
    if (q->count < q->size.messages)
        r |= POLLOUT | POLLWRNORM;
    spin_unlock(&q->lock, ipl);
    return r;
}

/* The current process has closed a descriptor: it does not want to be told any more. */
static void mqueue_left(struct file *f)
{
    struct ipc_caller c;

    ipc_who(&c);
    (void)mqueue_ask(f, &(struct mqueue_notice){0}, c.pid);
}

static void mqueue_close(struct file *f) { queue_unref(f->priv); }

static const struct file_ops mqueue_ops = {.name = "mqueue",
                                           .lseek = anon_lseek,
                                           .stat = mqueue_stat,
                                           .poll = mqueue_poll,
                                           .left = mqueue_left,
                                           .close = mqueue_close};

/* ---- sending and receiving ---- */

/* p's call is over. Its thread may leave as soon as the lock is free. */
static void finish_locked(struct party *p)
{
    list_remove(&p->link);
    __atomic_store_n(&p->done, true, __ATOMIC_RELEASE);
    wake_all(&p->wait);
}

static struct party *first_of(struct list *l)
{
    return list_empty(l) ? NULL : list_first_entry(l, struct party, link);
}

/* Enter m, or give it to who waits for one. *tell: who is to be told of it. */
static void deliver_locked(struct mqueue *q, struct mqueue_message *m, struct mqueue_notice *tell)
{
    struct party *r = first_of(&q->receivers);

    if (r) {
        r->m = m;
        finish_locked(r);
        return;
    }
    if (!q->count) {
        *tell = q->notice;
        q->notice.pid = 0;
    }
    enter_locked(q, m);
    poll_notify(&q->polled, POLLIN | POLLRDNORM);
}

/* There is room: let the first who waits for it send. */
static void admit_locked(struct mqueue *q)
{
    struct party *s = first_of(&q->senders);

    if (s) {
        enter_locked(q, s->m);
        finish_locked(s);
    } else {
        poll_notify(&q->polled, POLLOUT | POLLWRNORM);
    }
}

/* Wait until somebody has finished p, which is put at the end of the list. q is locked, at `ipl`,
 * and is not afterwards. */
static int sleep_in(struct mqueue *q, struct list *list, struct party *p, uint64_t deadline,
                    ipl_t ipl)
{
    struct waiter t;
    int err = 0;

    wait_queue_init(&p->wait, "message queue of POSIX");
    list_add_tail(list, &p->link);
    wait_enqueue(&p->wait, &t);
    spin_unlock(&q->lock, ipl);
    while (!__atomic_load_n(&p->done, __ATOMIC_ACQUIRE)) {
        err = wait_block(&t, WAIT_INTERRUPTIBLE, deadline);
        if (err)
            break;
        wait_enqueue(&p->wait, &t);
    }
    wait_finish(&t);
    ipl = spin_lock(&q->lock); /* whoever was finishing p is through with it */
    if (p->done)
        err = 0;
    else
        list_remove(&p->link);
    spin_unlock(&q->lock, ipl);
    return err == -EINTR ? -ERESTARTSYS : err;
}

int mqueue_send(struct file *f, struct mqueue_message *m, uint64_t deadline)
{
    struct mqueue *q = f->priv;
    struct mqueue_notice tell = {0};
    struct party s = {.m = m};
    ipl_t ipl = spin_lock(&q->lock);

    if (q->count == q->size.messages) {
        if (!(f->flags & O_NONBLOCK))
            return sleep_in(q, &q->senders, &s, deadline, ipl);
        spin_unlock(&q->lock, ipl);
        return -EAGAIN;
    }
    deliver_locked(q, m, &tell);
    spin_unlock(&q->lock, ipl);
    if (tell.pid)
        mqueue_tell(&tell);
    return 0;
}

int mqueue_receive(struct file *f, uint64_t deadline, struct mqueue_message **out)
{
    struct mqueue *q = f->priv;
    struct party r = {0};
    ipl_t ipl = spin_lock(&q->lock);
    int err = 0;

    r.m = take_locked(q);
    if (r.m) {
        admit_locked(q);
    } else if (!(f->flags & O_NONBLOCK)) {
        err = sleep_in(q, &q->receivers, &r, deadline, ipl);
        *out = r.m;
        return err;
    } else {
        err = -EAGAIN;
    }
    spin_unlock(&q->lock, ipl);
    *out = r.m;
    return err;
}

/* The look at the other process, which may have ended without having asked any more, is made
 * without the lock, and what is seen there again is the same one. */
int mqueue_ask(struct file *f, const struct mqueue_notice *n, uint32_t pid)
{
    struct mqueue *q = f->priv;
    ipl_t ipl = spin_lock(&q->lock);
    struct mqueue_notice was = q->notice;
    int err = 0;

    if (n->pid && was.pid) {
        spin_unlock(&q->lock, ipl);
        if (mqueue_lives(&was))
            return -EBUSY;
        ipl = spin_lock(&q->lock);
        if (q->notice.pid && (q->notice.pid != was.pid || q->notice.start_ns != was.start_ns))
            err = -EBUSY;
    }
    if (!err && (n->pid || q->notice.pid == pid))
        q->notice = *n;
    spin_unlock(&q->lock, ipl);
    return err;
}

/* ---- checks ---- */

/* Taken without processes: the queues that there are have names, and nothing is open. */
static void explain(struct census *c)
{
    for (struct treap_node *n = treap_first(&names); n; n = treap_next(n)) {
        const struct mqueue *q = container_of(n, struct mqueue, named);

        census_explain(c, CENSUS_NONPAGED, sizeof(*q), 1);
        for (struct treap_node *m = treap_first(&q->messages); m; m = treap_next(m))
            census_explain(c, CENSUS_NONPAGED,
                           sizeof(struct mqueue_message) + message_at(m)->nbytes, 1);
    }
}

void mqueue_boot(void)
{
    static const struct census_kind kinds[] = {
        {"message queue of POSIX", CENSUS_NONPAGED, sizeof(struct mqueue)},
    };

    census_register(explain, kinds, ARRAY_SIZE(kinds));
}
