/*
 * Sets of System V semaphores.
 *
 * A set has a mutex, which protects its semaphores, its waiters and what is to be undone in it. A
 * call that cannot go on waits at the first semaphore that is in its way, on the list of that one
 * alone. Whoever changes a semaphore looks at those who wait there, the longest first, and does
 * their operations for them; only those who are through, or fail, are woken. What they changed is
 * looked at in turn:
 *
 *     change(a)  ->  waiter at a goes on, changes b  ->  waiter at b ...
 *
 * until no change is left. A waiter that gets past its semaphore and finds another in its way moves
 * to that one's list.
 *
 * What a process has to undo is an array of adjustments for each set that it used with SEM_UNDO. It
 * is found from the set (a tree by process, the set's mutex) and from the process (a list, the
 * table's lock). Both ways end it: the end of the process, which takes the set's mutex and looks it
 * up again, because the set may be removed meanwhile; and the removal of the set.
 */
#include "kernel/ipc/sem.h"

#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/sched/mutex.h"
#include "kernel/sched/timer.h"
#include "mm/pool/pool_census.h"
#include "mm/pool/pool_charged.h"

#define NOBODY UINT32_MAX

struct sem {
    int32_t value;
    uint32_t pid;        /* whose operation was the last */
    struct list waiters; /* of struct sem_wait, the longest first */
    uint32_t next;       /* in the chain of changed ones */
    bool changed;        /* it is in that chain */
};

struct sem_set { /* nonpaged pool, charged */
    struct ipc_object ipc;
    struct mutex lock;
    uint32_t nsems;   /* constant */
    uint16_t account; /* number of the one charged for the memory; constant */
    int64_t otime_ns; /* table's lock */
    /* The rest: mutex. */
    struct treap undos; /* of struct sem_undo, by the address of the process's struct sem_undos */
    uint32_t changed;   /* first of the chain of changed semaphores, or NOBODY */
    struct sem sem[];
};

struct sem_undo {           /* nonpaged pool, charged */
    struct treap_node node; /* in the set's tree; set's mutex */
    struct list link;       /* in the process's list; table's lock */
    struct sem_undos *owner;
    struct sem_set *set; /* constant, like owner and account */
    uint16_t account;
    int16_t adjust[]; /* set's mutex */
};

struct sem_wait {     /* on the stack of its thread; set's mutex */
    struct list link; /* in the list of a semaphore */
    const struct sem_op *ops;
    unsigned n;
    uint32_t pid;
    struct sem_undo *undo; /* NULL: nothing is to be undone */
    bool for_zero;         /* waits for the value 0 */
    int result;
    bool done; /* atomic: read by the thread without the mutex */
    struct wait_queue queue;
};

static const struct ipc_kind sem_kind;
static struct ipc_table table = {.lock = SPINLOCK_INIT("semaphores", RANK_IPC, IPL_ASTDEL),
                                 .kind = &sem_kind};
static uint64_t all_semaphores; /* of all sets; atomic, a statistic */

static struct sem_set *set_of(struct ipc_object *o) { return container_of(o, struct sem_set, ipc); }
static size_t set_bytes(uint32_t nsems)
{
    return sizeof(struct sem_set) + nsems * sizeof(struct sem);
}
static size_t undo_bytes(const struct sem_set *s)
{
    return sizeof(struct sem_undo) + s->nsems * sizeof(int16_t);
}

/* ---- making and ending ---- */

static struct ipc_object *set_make(void *arg, int *err)
{
    uint32_t nsems = *(uint32_t *)arg;
    uint16_t account = pool_account();
    struct sem_set *s;

    *err = nsems ? -ENOMEM : -EINVAL;
    s = nsems ? npp_alloc_charged(set_bytes(nsems), account) : NULL;
    if (!s)
        return NULL;
    memset(s, 0, set_bytes(nsems));
    s->account = account;
    if (!ipc_charge(&s->ipc)) {
        *err = -ENOSPC;
        npp_free_charged(s, set_bytes(nsems), account);
        return NULL;
    }
    mutex_init(&s->lock, "semaphore set", MUTEX_IPC);
    s->nsems = nsems;
    s->changed = NOBODY;
    for (uint32_t k = 0; k < nsems; k++)
        list_init(&s->sem[k].waiters);
    __atomic_fetch_add(&all_semaphores, nsems, __ATOMIC_RELAXED);
    return &s->ipc;
}

static int set_fits(const struct ipc_object *o, void *arg)
{
    return *(uint32_t *)arg > container_of(o, const struct sem_set, ipc)->nsems ? -EINVAL : 0;
}

static void set_end(struct ipc_object *o)
{
    struct sem_set *s = set_of(o);

    __atomic_fetch_sub(&all_semaphores, s->nsems, __ATOMIC_RELAXED);
    ipc_release(o);
    npp_free_charged(s, set_bytes(s->nsems), s->account);
}

static void set_status(const struct ipc_object *o, void *to)
{
    const struct sem_set *s = container_of(o, const struct sem_set, ipc);

    *(struct sem_status *)to = (struct sem_status){
        .ipc = *o, .otime_ns = s->otime_ns, .nsems = s->nsems};
}

static const struct ipc_kind sem_kind = {
    .make = set_make, .fits = set_fits, .status = set_status, .end = set_end};

int sem_get(const struct ipc_caller *c, int32_t key, int nsems, uint32_t flags)
{
    uint32_t n = (uint32_t)nsems;

    return nsems < 0 || n > SEM_SET_MAX ? -EINVAL : ipc_get(&table, c, key, flags, &n);
}

/* ---- what is to be undone ---- */

static struct sem_undo *undo_of(struct treap_node *n)
{
    return container_of(n, struct sem_undo, node);
}

static struct sem_undo *undo_find(const struct sem_set *s, const struct sem_undos *owner)
{
    struct treap_node *at = s->undos.root;

    while (at && undo_of(at)->owner != owner)
        at = (uintptr_t)owner < (uintptr_t)undo_of(at)->owner ? at->left : at->right;
    return at ? undo_of(at) : NULL;
}

/* The undo of a process in a set, made if it is not there. NULL: out of memory. Mutex held. */
static struct sem_undo *undo_get(struct sem_set *s, struct sem_undos *owner)
{
    struct treap_node *up = NULL, **where = &s->undos.root;
    uint16_t account = pool_account();
    struct sem_undo *u;
    ipl_t ipl;

    while (*where) {
        up = *where;
        if (undo_of(up)->owner == owner)
            return undo_of(up);
        where = (uintptr_t)owner < (uintptr_t)undo_of(up)->owner ? &up->left : &up->right;
    }
    u = npp_alloc_charged(undo_bytes(s), account);
    if (!u)
        return NULL;
    __atomic_store_n(&owner->used, true, __ATOMIC_RELAXED);
    memset(u, 0, undo_bytes(s));
    u->owner = owner;
    u->set = s;
    u->account = account;
    treap_insert(&s->undos, &u->node, up, where);
    ipl = spin_lock(&table.lock);
    list_add_tail(&owner->list, &u->link);
    spin_unlock(&table.lock, ipl);
    return u;
}

/* Forget it. Mutex held. */
static void undo_free(struct sem_undo *u)
{
    struct sem_set *s = u->set;
    ipl_t ipl = spin_lock(&table.lock);

    list_remove(&u->link);
    spin_unlock(&table.lock, ipl);
    treap_remove(&s->undos, &u->node);
    npp_free_charged(u, undo_bytes(s), u->account);
}

/* The semaphore was set: no process undoes what it did to it before. Mutex held. */
static void undo_forget(struct sem_set *s, uint32_t number)
{
    for (struct treap_node *n = treap_first(&s->undos); n; n = treap_next(n))
        undo_of(n)->adjust[number] = 0;
}

/* ---- operations; mutex held ---- */

#define BLOCKED 1 /* as a result of attempt: *at is in the way */

/* One operation. 0, BLOCKED, -EAGAIN, -ERANGE; then nothing has changed. */
static int one_op(struct sem_set *s, const struct sem_op *op, struct sem_undo *u)
{
    int32_t to = s->sem[op->number].value + op->change;

    if (op->change == 0 ? to != 0 : to < 0)
        return op->flags & (int16_t)IPC_NOWAIT ? -EAGAIN : BLOCKED;
    if (to > SEM_VALUE_MAX)
        return -ERANGE;
    if (op->flags & SEM_UNDO) {
        int32_t adjust = u->adjust[op->number] - op->change;

        if (adjust < -SEM_VALUE_MAX - 1 || adjust > SEM_VALUE_MAX)
            return -ERANGE;
        u->adjust[op->number] = (int16_t)adjust;
    }
    s->sem[op->number].value = to;
    return 0;
}

/* Do all operations or none. *at: the first that could not be done. Results as for one_op. */
static int attempt(struct sem_set *s, const struct sem_op *ops, unsigned n, struct sem_undo *u,
                   uint32_t pid, const struct sem_op **at)
{
    unsigned k = 0;
    int r = 0;

    while (k < n && (r = one_op(s, &ops[k], u)) == 0)
        k++;
    if (r == 0) {
        for (k = 0; k < n; k++)
            s->sem[ops[k].number].pid = pid;
        return 0;
    }
    *at = &ops[k];
    while (k--) {
        s->sem[ops[k].number].value -= ops[k].change;
        if (ops[k].flags & SEM_UNDO)
            u->adjust[ops[k].number] = (int16_t)(u->adjust[ops[k].number] + ops[k].change);
    }
    return r;
}

static void note_change(struct sem_set *s, uint32_t number)
{
    struct sem *m = &s->sem[number];

    if (m->changed)
        return;
    m->changed = true;
    m->next = s->changed;
    s->changed = number;
}

static void note_changes(struct sem_set *s, const struct sem_op *ops, unsigned n)
{
    for (unsigned k = 0; k < n; k++)
        if (ops[k].change)
            note_change(s, ops[k].number);
}

/* w's call is over. The thread may leave as soon as the mutex is free. */
static void finish(struct sem_wait *w, int result)
{
    list_remove(&w->link);
    w->result = result;
    __atomic_store_n(&w->done, true, __ATOMIC_RELEASE);
    wake_all(&w->queue);
}

static void wait_at(struct sem_set *s, struct sem_wait *w, const struct sem_op *at)
{
    w->for_zero = at->change == 0;
    list_add_tail(&s->sem[at->number].waiters, &w->link);
}

/* Try again for a waiter at the semaphore. True: it went on, and changed something. */
static bool go_on(struct sem_set *s, struct sem_wait *w, uint32_t number)
{
    const struct sem_op *at;
    int r = attempt(s, w->ops, w->n, w->undo, w->pid, &at);

    if (r != BLOCKED) {
        finish(w, r);
        if (r == 0)
            note_changes(s, w->ops, w->n);
        return r == 0 && s->changed != NOBODY;
    }
    if (at->number != number) {
        list_remove(&w->link);
        wait_at(s, w, at);
    } else {
        w->for_zero = at->change == 0;
    }
    return false;
}

/* Let those go on who waited for what has changed. After each that changes something, the first in
 * line comes first again. */
static void settle(struct sem_set *s)
{
    while (s->changed != NOBODY) {
        uint32_t number = s->changed;
        struct sem *m = &s->sem[number];
        struct list *l, *next;

        s->changed = m->next;
        m->changed = false;
        for (l = list_first(&m->waiters); l; l = next) {
            next = list_next(&m->waiters, l);
            if (go_on(s, list_entry(l, struct sem_wait, link), number) && m->changed)
                break; /* it is in the chain, and is looked at from the start */
        }
    }
}

/* ---- finding a set ---- */

/* The set, with a reference, if the caller has the permissions; then the mutex is held. */
static int open_set(const struct ipc_caller *c, int id, uint32_t want, struct sem_set **out)
{
    struct ipc_object *o;
    int err = ipc_open(&table, c, id, want, &o);

    if (err)
        return err;
    *out = set_of(o);
    mutex_lock(&(*out)->lock);
    return 0;
}

static void close_set(struct sem_set *s)
{
    mutex_unlock(&s->lock);
    ipc_close(&table, &s->ipc);
}

/* ---- semop ---- */

static void sleep_at(struct sem_set *s, struct sem_wait *w, uint64_t deadline_ns)
{
    struct waiter t;
    int err = 0;

    wait_enqueue(&w->queue, &t);
    mutex_unlock(&s->lock);
    while (!__atomic_load_n(&w->done, __ATOMIC_ACQUIRE)) {
        err = wait_block(&t, WAIT_INTERRUPTIBLE, deadline_ns);
        if (err)
            break;
        wait_enqueue(&w->queue, &t);
    }
    wait_finish(&t);
    mutex_lock(&s->lock); /* whoever was finishing w is through with it */
    if (!w->done) {
        list_remove(&w->link);
        w->result = err == -ETIMEDOUT ? -EAGAIN : -EINTR;
    }
}

/* The operations on an open set. */
static int operate(struct sem_set *s, struct sem_wait *w, uint64_t deadline_ns)
{
    const struct sem_op *at;
    int r = attempt(s, w->ops, w->n, w->undo, w->pid, &at);

    if (r == BLOCKED) {
        wait_queue_init(&w->queue, "semaphores");
        wait_at(s, w, at);
        sleep_at(s, w, deadline_ns);
        r = w->result;
    } else if (r == 0) {
        note_changes(s, w->ops, w->n);
        settle(s);
    }
    if (r == 0) {
        ipl_t ipl = spin_lock(&table.lock);

        s->otime_ns = (int64_t)clock_wall_ns();
        spin_unlock(&table.lock, ipl);
    }
    return r;
}

/* The highest number in the operations, and what they need. */
static uint32_t look_at(const struct sem_op *ops, unsigned n, bool *changes, bool *undoes)
{
    uint32_t highest = 0;

    *changes = *undoes = false;
    for (unsigned k = 0; k < n; k++) {
        highest = MAX(highest, (uint32_t)ops[k].number);
        *changes |= ops[k].change != 0;
        *undoes |= (ops[k].flags & SEM_UNDO) != 0;
    }
    return highest;
}

int sem_operate(const struct ipc_caller *c, struct sem_undos *undos, int id,
                const struct sem_op *ops, unsigned n, uint64_t deadline_ns)
{
    struct sem_wait w = {.ops = ops, .n = n, .pid = c->pid};
    bool changes, undoes;
    uint32_t highest = look_at(ops, n, &changes, &undoes);
    struct sem_set *s;
    int err = open_set(c, id, changes ? IPC_WRITE : IPC_READ, &s);

    if (err)
        return err;
    if (ipc_is_removed(&s->ipc))
        err = -EIDRM;
    else if (highest >= s->nsems)
        err = -EFBIG;
    else if (undoes && !(w.undo = undo_get(s, undos)))
        err = -ENOMEM;
    else
        err = operate(s, &w, deadline_ns);
    close_set(s);
    return err;
}

/* ---- the end of a process ---- */

static void undo_all(struct sem_set *s, struct sem_undo *u, uint32_t pid)
{
    for (uint32_t k = 0; k < s->nsems; k++) {
        int32_t to = s->sem[k].value + u->adjust[k];

        if (u->adjust[k] == 0)
            continue;
        s->sem[k].value = to < 0 ? 0 : MIN(to, SEM_VALUE_MAX);
        s->sem[k].pid = pid;
        note_change(s, k);
    }
    undo_free(u);
    settle(s);
}

void sem_end(struct sem_undos *undos)
{
    struct ipc_caller c;

    ipc_who(&c);
    for (;;) {
        ipl_t ipl = spin_lock(&table.lock);
        struct list *l = list_first(&undos->list);
        struct sem_undo *u = l ? list_entry(l, struct sem_undo, link) : NULL;
        struct sem_set *s = u ? u->set : NULL;

        if (s)
            ipc_hold_locked(&s->ipc);
        spin_unlock(&table.lock, ipl);
        if (!s)
            return;
        mutex_lock(&s->lock);
        u = undo_find(s, undos); /* unless the set was removed meanwhile */
        if (u)
            undo_all(s, u, c.pid);
        close_set(s);
    }
}

/* ---- semctl ---- */

int sem_stat(const struct ipc_caller *c, int id, struct sem_status *s)
{
    return ipc_stat(&table, c, id, s);
}

int sem_stat_slot(const struct ipc_caller *c, uint64_t slot, bool any, struct sem_status *s)
{
    return ipc_stat_slot(&table, c, slot, any, s);
}

uint32_t sem_next(uint32_t from) { return ipc_next(&table, from); }

int sem_set(const struct ipc_caller *c, int id, uint32_t uid, uint32_t gid, uint32_t mode)
{
    return ipc_set(&table, c, id, uid, gid, mode);
}

int sem_remove(const struct ipc_caller *c, int id)
{
    struct ipc_object *o;
    struct treap_node *n;
    struct sem_set *s;
    int err = ipc_open_removed(&table, c, id, &o);

    if (err)
        return err;
    s = set_of(o);
    mutex_lock(&s->lock);
    for (uint32_t k = 0; k < s->nsems; k++)
        while (!list_empty(&s->sem[k].waiters))
            finish(list_entry(list_first(&s->sem[k].waiters), struct sem_wait, link), -EIDRM);
    while ((n = treap_first(&s->undos)) != NULL)
        undo_free(undo_of(n));
    close_set(s);
    return 0;
}

static int count_waiters(const struct sem *m, bool for_zero)
{
    const struct sem_wait *w;
    int n = 0;

    list_for_each_entry(w, &m->waiters, link)
        n += w->for_zero == for_zero;
    return n;
}

int sem_query(const struct ipc_caller *c, int id, int number, enum sem_query what)
{
    const struct sem *m;
    struct sem_set *s;
    int r = open_set(c, id, IPC_READ, &s);

    if (r)
        return r;
    if (number < 0 || (uint32_t)number >= s->nsems) {
        r = -EINVAL;
    } else if (ipc_is_removed(&s->ipc)) {
        r = -EIDRM;
    } else {
        m = &s->sem[number];
        r = what == SEM_VALUE ? m->value
            : what == SEM_PID ? (int)m->pid
                              : count_waiters(m, what == SEM_ZERO_WAITERS);
    }
    close_set(s);
    return r;
}

static void change_value(struct sem_set *s, uint32_t number, int value, uint32_t pid)
{
    undo_forget(s, number);
    s->sem[number].value = value;
    s->sem[number].pid = pid;
    note_change(s, number);
}

static void note_ctime(struct sem_set *s)
{
    ipl_t ipl = spin_lock(&table.lock);

    s->ipc.ctime_ns = (int64_t)clock_wall_ns();
    spin_unlock(&table.lock, ipl);
}

int sem_set_value(const struct ipc_caller *c, int id, int number, int value)
{
    struct sem_set *s;
    int err;

    if (value < 0 || value > SEM_VALUE_MAX)
        return -ERANGE;
    err = open_set(c, id, IPC_WRITE, &s);
    if (err)
        return err;
    if (number < 0 || (uint32_t)number >= s->nsems) {
        err = -EINVAL;
    } else if (ipc_is_removed(&s->ipc)) {
        err = -EIDRM;
    } else {
        change_value(s, (uint32_t)number, value, c->pid);
        settle(s);
        note_ctime(s);
    }
    close_set(s);
    return err;
}

int sem_get_all(const struct ipc_caller *c, int id, uint16_t *values, uint32_t n)
{
    struct sem_set *s;
    int err = open_set(c, id, IPC_READ, &s);

    if (err)
        return err;
    err = ipc_is_removed(&s->ipc) ? -EIDRM : n != s->nsems ? -EINVAL : 0;
    for (uint32_t k = 0; !err && k < n; k++)
        values[k] = (uint16_t)s->sem[k].value;
    close_set(s);
    return err;
}

int sem_set_all(const struct ipc_caller *c, int id, const uint16_t *values, uint32_t n)
{
    struct sem_set *s;
    int err;

    for (uint32_t k = 0; k < n; k++)
        if (values[k] > SEM_VALUE_MAX)
            return -ERANGE;
    err = open_set(c, id, IPC_WRITE, &s);
    if (err)
        return err;
    err = ipc_is_removed(&s->ipc) ? -EIDRM : n != s->nsems ? -EINVAL : 0;
    if (!err) {
        for (uint32_t k = 0; k < n; k++) {
            s->sem[k].value = values[k];
            s->sem[k].pid = c->pid;
            note_change(s, k);
        }
        for (struct treap_node *u = treap_first(&s->undos); u; u = treap_next(u))
            memset(undo_of(u)->adjust, 0, n * sizeof(int16_t));
        settle(s);
        note_ctime(s);
    }
    close_set(s);
    return err;
}

/* ---- figures and checks ---- */

void sem_totals(struct sem_totals *t)
{
    ipl_t ipl = spin_lock(&table.lock);

    *t = (struct sem_totals){.count = table.count,
                             .highest = ipc_highest_locked(&table),
                             .semaphores = __atomic_load_n(&all_semaphores, __ATOMIC_RELAXED)};
    spin_unlock(&table.lock, ipl);
}

static void explain(struct census *c)
{
    for (uint32_t n = sem_next(0); n < IPC_SLOTS; n = sem_next(n + 1)) {
        struct sem_set *s = set_of(table.slot[n].object);

        census_explain(c, CENSUS_NONPAGED, set_bytes(s->nsems), 1);
        for (struct treap_node *u = treap_first(&s->undos); u; u = treap_next(u))
            census_explain(c, CENSUS_NONPAGED, undo_bytes(s), 1);
    }
}

void sem_boot(void)
{
    static const struct census_kind kinds[] = {
        {"semaphore set of one", CENSUS_NONPAGED, sizeof(struct sem_set) + sizeof(struct sem)},
    };

    census_register(explain, kinds, ARRAY_SIZE(kinds));
}
