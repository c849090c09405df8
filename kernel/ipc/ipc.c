/* Tables of System V IPC: identifiers, keys, permissions. */
#include "kernel/ipc/ipc.h"

#include "kernel/base/bitops.h"
#include "kernel/base/errno.h"
#include "kernel/fs/inode.h"
#include "kernel/quota/quota.h"
#include "kernel/sched/timer.h"

void (*ipc_who)(struct ipc_caller *c);

/* ---- slots ---- */

/* Use the lowest free slot. False: there is none. */
static bool slot_take_locked(struct ipc_table *t, struct ipc_object *o)
{
    uint64_t word, bit;

    if (t->full == ~UINT64_C(0))
        return false;
    word = bit_lowest(~t->full);
    bit = bit_lowest(~t->used[word]);
    t->used[word] |= UINT64_C(1) << bit;
    t->any |= UINT64_C(1) << word;
    if (t->used[word] == ~UINT64_C(0))
        t->full |= UINT64_C(1) << word;
    o->index = (uint16_t)(word * 64 + bit);
    o->seq = t->slot[o->index].seq;
    t->slot[o->index].object = o;
    t->count++;
    return true;
}

static void slot_give_locked(struct ipc_table *t, const struct ipc_object *o)
{
    unsigned word = o->index / 64;

    t->slot[o->index].object = NULL;
    t->slot[o->index].seq++;
    t->used[word] &= ~(UINT64_C(1) << o->index % 64);
    t->full &= ~(UINT64_C(1) << word);
    if (!t->used[word])
        t->any &= ~(UINT64_C(1) << word);
    t->count--;
}

struct ipc_object *ipc_slot_locked(struct ipc_table *t, uint64_t index)
{
    return index < IPC_SLOTS ? t->slot[index].object : NULL;
}

struct ipc_object *ipc_find_locked(struct ipc_table *t, int id)
{
    struct ipc_object *o = id < 0 ? NULL : ipc_slot_locked(t, (uint64_t)id % IPC_SEQ_UNIT);

    return o && ipc_id(o) == id ? o : NULL;
}

uint32_t ipc_next(struct ipc_table *t, uint32_t from)
{
    uint32_t found = IPC_SLOTS;
    uint64_t word, rest;
    ipl_t ipl;

    if (from >= IPC_SLOTS)
        return IPC_SLOTS;
    ipl = spin_lock(&t->lock);
    word = t->used[from / 64] >> from % 64;
    rest = from / 64 == 63 ? 0 : t->any >> (from / 64 + 1);
    if (word)
        found = from + bit_lowest(word);
    else if (rest) {
        uint32_t n = from / 64 + 1 + bit_lowest(rest);

        found = n * 64 + bit_lowest(t->used[n]);
    }
    spin_unlock(&t->lock, ipl);
    return found;
}

uint32_t ipc_highest_locked(const struct ipc_table *t)
{
    unsigned word;

    if (!t->any)
        return 0;
    word = bit_highest(t->any);
    return word * 64 + bit_highest(t->used[word]);
}

/* ---- keys ---- */

static struct ipc_object *object_of(struct treap_node *n)
{
    return container_of(n, struct ipc_object, node);
}

static struct ipc_object *find_key_locked(const struct ipc_table *t, int32_t key)
{
    struct treap_node *at = t->keys.root;

    while (at && object_of(at)->key != key)
        at = key < object_of(at)->key ? at->left : at->right;
    return at ? object_of(at) : NULL;
}

static void enter_key_locked(struct ipc_table *t, struct ipc_object *o)
{
    struct treap_node *up = NULL, **where = &t->keys.root;

    while (*where) {
        up = *where;
        where = o->key < object_of(up)->key ? &up->left : &up->right;
    }
    treap_insert(&t->keys, &o->node, up, where);
}

void ipc_forget_key_locked(struct ipc_table *t, struct ipc_object *o)
{
    if (o->key != IPC_PRIVATE)
        treap_remove(&t->keys, &o->node);
    o->key = IPC_PRIVATE;
}

/* ---- permissions ---- */

bool ipc_owns(const struct ipc_object *o, const struct ipc_caller *c)
{
    return c->cred.uid == 0 || c->cred.uid == o->uid || c->cred.uid == o->cuid;
}

bool ipc_allows(const struct ipc_object *o, const struct ipc_caller *c, uint32_t flags)
{
    uint32_t want = (flags >> 6 | flags >> 3 | flags) & 7, have = o->mode;

    if (c->cred.uid == 0)
        return true;
    if (c->cred.uid == o->uid || c->cred.uid == o->cuid)
        have >>= 6;
    else if (io_in_group(&c->cred, o->gid) || io_in_group(&c->cred, o->cgid))
        have >>= 3;
    return (want & ~have) == 0;
}

int ipc_set_locked(struct ipc_object *o, const struct ipc_caller *c, uint32_t uid, uint32_t gid,
                   uint32_t mode)
{
    if (!ipc_owns(o, c))
        return -EPERM;
    if (uid == UINT32_MAX || gid == UINT32_MAX)
        return -EINVAL;
    o->uid = uid;
    o->gid = gid;
    o->mode = (o->mode & ~IPC_MODE) | (mode & IPC_MODE);
    o->ctime_ns = (int64_t)clock_wall_ns();
    return 0;
}

/* ---- life ---- */

bool ipc_charge(struct ipc_object *o)
{
    o->account = account_self();
    return account_charge(o->account, QUOTA_IPC, 1);
}

void ipc_release(const struct ipc_object *o) { account_release(o->account, QUOTA_IPC, 1); }

/* Enter a new object. Returns its identifier, or -ENOSPC. */
static int enter_locked(struct ipc_table *t, struct ipc_object *o, const struct ipc_caller *c,
                        int32_t key, uint32_t mode)
{
    if (!slot_take_locked(t, o))
        return -ENOSPC;
    o->key = key;
    o->uid = o->cuid = c->cred.uid;
    o->gid = o->cgid = c->cred.gid;
    o->mode |= mode & IPC_MODE;
    o->refs = 1;
    o->ctime_ns = (int64_t)clock_wall_ns();
    if (key != IPC_PRIVATE)
        enter_key_locked(t, o);
    return ipc_id(o);
}

/* The identifier of the object that has the key, if the caller may have it. */
static int found_locked(struct ipc_table *t, const struct ipc_object *o, const struct ipc_caller *c,
                        uint32_t flags, void *arg)
{
    int err;

    if ((flags & IPC_CREAT) && (flags & IPC_EXCL))
        return -EEXIST;
    err = t->kind->fits(o, arg);
    if (err)
        return err;
    return ipc_allows(o, c, flags) ? ipc_id(o) : -EACCES;
}

/* A new object is made without the lock. Somebody else may enter one with the same key meanwhile;
 * then that one is found, and the new one is not needed. */
int ipc_get(struct ipc_table *t, const struct ipc_caller *c, int32_t key, uint32_t flags, void *arg)
{
    struct ipc_object *o, *new = NULL;
    int r = 0;

    for (;;) {
        ipl_t ipl = spin_lock(&t->lock);

        o = key == IPC_PRIVATE ? NULL : find_key_locked(t, key);
        if (o)
            r = found_locked(t, o, c, flags, arg);
        else if (key != IPC_PRIVATE && !(flags & IPC_CREAT))
            r = -ENOENT;
        else if (new)
            r = enter_locked(t, new, c, key, flags);
        spin_unlock(&t->lock, ipl);
        if (r || o || new)
            break;
        new = t->kind->make(arg, &r);
        if (!new)
            return r;
    }
    if (new && (o || r < 0))
        t->kind->end(new);
    return r;
}

void ipc_remove_locked(struct ipc_table *t, struct ipc_object *o)
{
    ipc_forget_key_locked(t, o);
    slot_give_locked(t, o);
    __atomic_store_n(&o->removed, true, __ATOMIC_RELAXED);
    o->refs--;
}

void ipc_drop_unlock(struct ipc_table *t, struct ipc_object *o, ipl_t ipl)
{
    bool last = --o->refs == 0;

    spin_unlock(&t->lock, ipl);
    if (last)
        t->kind->end(o);
}

/* ---- calls on one object ---- */

int ipc_open(struct ipc_table *t, const struct ipc_caller *c, int id, uint32_t want,
             struct ipc_object **out)
{
    ipl_t ipl = spin_lock(&t->lock);
    struct ipc_object *o = ipc_find_locked(t, id);
    int err = !o ? -EINVAL : !ipc_allows(o, c, want) ? -EACCES : 0;

    if (!err)
        ipc_hold_locked(o);
    spin_unlock(&t->lock, ipl);
    *out = o;
    return err;
}

int ipc_open_removed(struct ipc_table *t, const struct ipc_caller *c, int id,
                     struct ipc_object **out)
{
    ipl_t ipl = spin_lock(&t->lock);
    struct ipc_object *o = ipc_find_locked(t, id);
    int err = !o ? -EINVAL : !ipc_owns(o, c) ? -EPERM : 0;

    if (!err) {
        ipc_hold_locked(o);
        ipc_remove_locked(t, o);
    }
    spin_unlock(&t->lock, ipl);
    *out = o;
    return err;
}

void ipc_close(struct ipc_table *t, struct ipc_object *o)
{
    ipc_drop_unlock(t, o, spin_lock(&t->lock));
}

int ipc_set(struct ipc_table *t, const struct ipc_caller *c, int id, uint32_t uid, uint32_t gid,
            uint32_t mode)
{
    ipl_t ipl = spin_lock(&t->lock);
    struct ipc_object *o = ipc_find_locked(t, id);
    int err = o ? ipc_set_locked(o, c, uid, gid, mode) : -EINVAL;

    spin_unlock(&t->lock, ipl);
    return err;
}

static int status_unlock(struct ipc_table *t, const struct ipc_object *o,
                         const struct ipc_caller *c, bool any, void *to, ipl_t ipl)
{
    int err = !o ? -EINVAL : !any && !ipc_allows(o, c, IPC_READ) ? -EACCES : 0;

    if (!err)
        t->kind->status(o, to);
    spin_unlock(&t->lock, ipl);
    return err;
}

int ipc_stat(struct ipc_table *t, const struct ipc_caller *c, int id, void *to)
{
    ipl_t ipl = spin_lock(&t->lock);

    return status_unlock(t, ipc_find_locked(t, id), c, false, to, ipl);
}

int ipc_stat_slot(struct ipc_table *t, const struct ipc_caller *c, uint64_t slot, bool any,
                  void *to)
{
    ipl_t ipl = spin_lock(&t->lock);

    return status_unlock(t, ipc_slot_locked(t, slot), c, any, to, ipl);
}
