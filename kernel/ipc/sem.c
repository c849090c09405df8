/*
 * Sets of System V semaphores: sets, what is to be undone in them, semctl.
 *
 * A set has a mutex, which protects its semaphores, its waiters and what is to be undone in it.
 * Operations and waiters: sem_wait.c.
 *
 * What a process has to undo is an array of adjustments for each set that it used with SEM_UNDO. It
 * is found from the set (a tree by process, the set's mutex) and from the process (a list, the
 * table's lock). Both ways end it: the end of the process, which takes the set's mutex and looks it
 * up again, because the set may be removed meanwhile; and the removal of the set.
 *
 * Costs under the mutex: some 15 instructions for each semaphore, each operation of a call and each
 * process with something to undo, all of which are bounded; the mutex is dropped after portions of
 * what costs more.
 */
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/ipc/sem_private.h"
#include "kernel/sched/timer.h"
#include "mm/pool/pool_census.h"
#include "mm/pool/pool_charged.h"

#define UNDOS_AT_ONCE 64u /* freed in one hold of the mutex, some 300 instructions each */

static const struct ipc_kind sem_kind;
static struct ipc_table table = {.lock = SPINLOCK_INIT("semaphores", RANK_IPC, IPL_ASTDEL),
                                 .kind = &sem_kind};
static uint64_t all_semaphores; /* of all sets; atomic, a statistic */

static struct sem_set *set_of(struct ipc_object *o) { return container_of(o, struct sem_set, ipc); }
static size_t set_bytes(uint32_t nsems)
{
    return sizeof(struct sem_set) + nsems * sizeof(struct sem);
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
    s->chain = SEM_NOBODY;
    for (uint32_t k = 0; k < nsems; k++)
        for (unsigned c = 0; c < SEM_CHANGES; c++)
            list_init(&s->sem[k].queue[c].waiters);
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
    u = npp_alloc_charged(sem_undo_bytes(s), account);
    if (!u)
        return NULL;
    __atomic_store_n(&owner->used, true, __ATOMIC_RELAXED);
    memset(u, 0, sem_undo_bytes(s));
    u->owner = owner;
    u->set = s;
    u->round = s->round;
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
    npp_free_charged(u, sem_undo_bytes(s), u->account);
}

void sem_undo_refresh(struct sem_set *s, struct sem_undo *u)
{
    if (u->round == s->round)
        return;
    memset(u->adjust, 0, s->nsems * sizeof(int16_t));
    u->round = s->round;
}

/* The semaphore was set: no process undoes what it did to it before. Mutex held. */
static void undo_forget(struct sem_set *s, uint32_t number)
{
    for (struct treap_node *n = treap_first(&s->undos); n; n = treap_next(n))
        undo_of(n)->adjust[number] = 0;
}

/* ---- finding a set ---- */

/* The set, with a reference, if the caller has the permissions; then the mutex is held. -EINTR: the
 * thread is to end. */
static int open_set(const struct ipc_caller *c, int id, uint32_t want, struct sem_set **out)
{
    struct ipc_object *o;
    int err = ipc_open(&table, c, id, want, &o);

    if (err)
        return err;
    *out = set_of(o);
    err = mutex_lock_killable(&(*out)->lock);
    if (err)
        ipc_close(&table, o);
    return err;
}

static void close_set(struct sem_set *s)
{
    mutex_unlock(&s->lock);
    ipc_close(&table, &s->ipc);
}

/* ---- semop ---- */

static void note_otime(struct sem_set *s)
{
    ipl_t ipl = spin_lock(&table.lock);

    s->otime_ns = (int64_t)clock_wall_ns();
    spin_unlock(&table.lock, ipl);
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
        err = sem_do(s, &w, deadline_ns);
    if (err == 0)
        note_otime(s);
    close_set(s);
    return err;
}

/* ---- the end of a process ---- */

static void undo_all(struct sem_set *s, struct sem_undo *u, uint32_t pid)
{
    sem_undo_refresh(s, u);
    for (uint32_t k = 0; k < s->nsems; k++) {
        int32_t to = s->sem[k].value + u->adjust[k];

        if (u->adjust[k])
            sem_change(s, k, to < 0 ? 0 : MIN(to, SEM_VALUE_MAX), pid);
    }
    undo_free(u);
    sem_settle(s);
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
    uint64_t since_ns = clock_ns();
    unsigned freed = 0;
    int err = ipc_open_removed(&table, c, id, &o);

    if (err)
        return err;
    s = set_of(o);
    mutex_lock(&s->lock);
    sem_end_waits(s);
    while ((n = treap_first(&s->undos)) != NULL) {
        undo_free(undo_of(n));
        if (++freed % UNDOS_AT_ONCE == 0)
            mutex_pause(&s->lock, &since_ns);
    }
    sem_settle(s);
    close_set(s);
    return 0;
}

static int count_waiters(const struct sem_queue *q)
{
    const struct list *l;
    int n = 0;

    list_for_each(l, &q->waiters)
        n++;
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
            : what == SEM_PID
                ? (int)m->pid
                : count_waiters(&m->queue[what == SEM_ZERO_WAITERS ? SEM_LESS : SEM_MORE]);
    }
    close_set(s);
    return r;
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
        undo_forget(s, (uint32_t)number);
        sem_change(s, (uint32_t)number, value, c->pid);
        sem_settle(s);
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
        for (uint32_t k = 0; k < n; k++)
            sem_change(s, k, values[k], c->pid);
        s->round++;
        sem_settle(s);
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
            census_explain(c, CENSUS_NONPAGED, sem_undo_bytes(s), 1);
    }
}

void sem_boot(void)
{
    static const struct census_kind kinds[] = {
        {"semaphore set of one", CENSUS_NONPAGED, sizeof(struct sem_set) + sizeof(struct sem)},
    };

    census_register(explain, kinds, ARRAY_SIZE(kinds));
}
