/*
 * Segments of System V shared memory.
 *
 * A segment is an anonymous memory object, or a section of huge pages, with an identifier. An
 * attachment is a map entry with the
 * operations below, which count it: `nattch` is the number of entries, so a mapping that munmap has
 * cut in two counts twice. A segment stays until it is removed and its last attachment is gone.
 *
 * The table's lock protects everything. The count changes with an address space's mutex held, which
 * comes before all spinlocks.
 */
#include "kernel/ipc/shm.h"

#include "kernel/base/bitops.h"
#include "kernel/base/errno.h"
#include "kernel/base/format.h"
#include "kernel/fs/inode.h"
#include "kernel/quota/quota.h"
#include "kernel/sched/thread.h"
#include "kernel/sched/timer.h"
#include "mm/check/validate.h"
#include "mm/object/object.h"
#include "mm/pool/pool.h"
#include "mm/pool/pool_census.h"
#include "mm/section/section_huge.h"
#include "mm/section/section_map.h"
#include "mm/space/aspace.h"

struct segment { /* nonpaged pool; table's lock unless constant */
    struct ipc_object ipc;
    struct mm_object *memory; /* constant; holds a reference; NULL: of huge pages */
    struct section *huge;     /* constant; holds a share; or NULL */
    uint64_t nbytes;          /* constant */
    uint64_t nattch;
    int64_t atime_ns, dtime_ns;
    uint32_t cpid, lpid; /* the first is constant */
};

static const struct ipc_kind shm_kind;
static struct ipc_table table = {.lock = SPINLOCK_INIT("shared memory", RANK_IPC, IPL_ASTDEL),
                                 .kind = &shm_kind};
static uint64_t all_pages; /* of all segments; atomic, a statistic */

static struct segment *segment_of(struct ipc_object *o)
{
    return container_of(o, struct segment, ipc);
}
static uint64_t pages_of(uint64_t nbytes) { return (nbytes + PAGE_MASK) >> PAGE_SHIFT; }
/* Its size in memory. */
static uint64_t size_of(const struct segment *s)
{
    return (s->huge ? s->huge->npages : pages_of(s->nbytes)) << PAGE_SHIFT;
}

/* ---- making and ending ---- */

struct wish {
    const struct ipc_caller *caller;
    uint64_t nbytes;
    int32_t key;
    uint32_t flags;
    bool may_lock;
};

static bool charge(struct segment *s)
{
    if (!ipc_charge(&s->ipc))
        return false;
    if (account_charge(s->ipc.account, QUOTA_SHARED, pages_of(s->nbytes)))
        return true;
    ipc_release(&s->ipc);
    return false;
}

static void release(struct segment *s)
{
    account_release(s->ipc.account, QUOTA_SHARED, pages_of(s->nbytes));
    ipc_release(&s->ipc);
    npp_free(s, sizeof(*s));
}

/* May the caller have huge pages of this size? 0, -EINVAL, -EPERM. */
static int huge_allowed(const struct wish *w)
{
    uint32_t shift = w->flags >> SHM_HUGE_SHIFT & SHM_HUGE_MASK;

    if (shift && shift != HUGE_SHIFT)
        return -EINVAL;
    return w->may_lock || io_in_group(&w->caller->cred, SHM_HUGE_GROUP) ? 0 : -EPERM;
}

/* The memory of s. 0, -ENOMEM, -EINTR. */
static int memory_make(struct segment *s, const struct wish *w)
{
    char name[SECTION_NAME_MAX + 1];
    int err;

    if (!(w->flags & SHM_HUGETLB)) {
        s->memory = object_create(pages_of(s->nbytes), NULL, s);
        return s->memory ? 0 : -ENOMEM;
    }
    format(name, sizeof(name), "SYSV%08x", (uint32_t)w->key);
    err = section_huge_create(name, div_round_up(s->nbytes, HUGE_BYTES), s, &s->huge);
    if (!err)
        section_huge_keep(s->huge);
    return err;
}

static struct ipc_object *segment_make(void *arg, int *err)
{
    const struct wish *w = arg;
    struct segment *s;

    *err = -EINVAL;
    if (w->nbytes == 0 || w->nbytes > SHM_MAX)
        return NULL;
    *err = w->flags & SHM_HUGETLB ? huge_allowed(w) : 0;
    if (*err)
        return NULL;
    *err = -ENOMEM;
    s = npp_alloc_zeroed(sizeof(*s));
    if (!s)
        return NULL;
    s->nbytes = w->nbytes;
    s->cpid = w->caller->pid;
    if (!charge(s)) {
        *err = -ENOSPC;
        npp_free(s, sizeof(*s));
        return NULL;
    }
    *err = memory_make(s, w);
    if (*err) {
        release(s);
        return NULL;
    }
    __atomic_fetch_add(&all_pages, pages_of(s->nbytes), __ATOMIC_RELAXED);
    return &s->ipc;
}

static int segment_fits(const struct ipc_object *o, void *arg)
{
    const struct wish *w = arg;

    return w->nbytes > container_of(o, const struct segment, ipc)->nbytes ? -EINVAL : 0;
}

static void segment_end(struct ipc_object *o)
{
    struct segment *s = segment_of(o);

    __atomic_fetch_sub(&all_pages, pages_of(s->nbytes), __ATOMIC_RELAXED);
    if (s->huge)
        section_huge_leave(s->huge);
    else
        object_unref(s->memory);
    release(s);
}

static const struct ipc_kind shm_kind = {
    .make = segment_make, .fits = segment_fits, .end = segment_end};

int shm_get(const struct ipc_caller *c, int32_t key, uint64_t nbytes, uint32_t flags, bool may_lock)
{
    struct wish w = {
        .caller = c, .nbytes = nbytes, .key = key, .flags = flags, .may_lock = may_lock};
    int id = ipc_get(&table, c, key, flags, &w);

    section_reap(); /* of a segment that did not get into the table */
    return id;
}

/* ---- attachments ---- */

static void attached_locked(struct segment *s, uint32_t pid)
{
    s->atime_ns = (int64_t)clock_wall_ns();
    s->lpid = pid;
}

/* An attachment is gone, or was not made. The caller holds a reference and the lock, which is
 * released. */
static void leave_unlock(struct segment *s, ipl_t ipl)
{
    if (--s->nattch == 0 && (s->ipc.mode & SHM_DEST) && !s->ipc.removed)
        ipc_remove_locked(&table, &s->ipc);
    ipc_drop_unlock(&table, &s->ipc, ipl);
}

static struct segment *segment_in(const struct map_entry *e)
{
    return e->smap ? e->smap->section->owner : object_pager_data(e->object);
}

static int op_fault(struct aspace *as, struct map_entry *e, vaddr_t va, enum fault_access access)
{
    return anon_ops.fault(as, e, va, access);
}

/* A mapping of s is gone. */
static void one_less(struct segment *s)
{
    struct ipc_caller c;
    ipl_t ipl;

    ipc_who(&c);
    ipl = spin_lock(&table.lock);
    s->dtime_ns = (int64_t)clock_wall_ns();
    s->lpid = c.pid;
    ipc_hold_locked(&s->ipc);
    leave_unlock(s, ipl);
}

static int op_unmap(struct aspace *as, struct map_entry *e, vaddr_t start, vaddr_t end)
{
    int err;

    if (!e->object)
        return 0; /* a fork failed before op_fork reached this entry */
    err = anon_ops.unmap(as, e, start, end);
    if (!err)
        one_less(segment_in(e)); /* the entry's own reference keeps the memory until it is gone */
    return err;
}

static void one_more(struct map_entry *e)
{
    struct segment *s = segment_in(e);
    struct ipc_caller c;
    ipl_t ipl;

    ipc_who(&c);
    ipl = spin_lock(&table.lock);
    s->nattch++;
    attached_locked(s, c.pid);
    spin_unlock(&table.lock, ipl);
}

static void op_split(struct map_entry *e, struct map_entry *second, vaddr_t va)
{
    one_more(e);
    anon_ops.split(e, second, va);
}

static int op_fork(struct aspace *src, struct map_entry *e, struct aspace *dst,
                   struct map_entry *child)
{
    one_more(e);
    return anon_fork(src, e, dst, child); /* attaches the shared object; cannot fail */
}

static vaddr_t op_protect(struct aspace *as, struct map_entry *e, vaddr_t start, vaddr_t end,
                          unsigned prot)
{
    return anon_ops.protect(as, e, start, end, prot);
}

static int op_populate(struct aspace *as, struct map_entry *e, vaddr_t start, vaddr_t end)
{
    return anon_ops.populate(as, e, start, end);
}

static const struct map_ops shm_ops = {
    .name = "shared memory segment",
    .fault = op_fault,
    .unmap = op_unmap,
    .fork = op_fork,
    .protect = op_protect,
    .split = op_split,
    .populate = op_populate,
};

/* ---- attachments of huge pages ---- */

static int huge_fault(struct aspace *as, struct map_entry *e, vaddr_t va, enum fault_access access)
{
    return section_map_ops.fault(as, e, va, access);
}

static int huge_unmap(struct aspace *as, struct map_entry *e, vaddr_t start, vaddr_t end)
{
    struct segment *s = e->smap ? segment_in(e) : NULL;

    if (!s)
        return 0; /* a fork failed before huge_fork reached this entry */
    (void)section_map_ops.unmap(as, e, start, end); /* cannot fail */
    one_less(s); /* the segment has a share of its own, so that its section is still there */
    return 0;
}

static int huge_fork(struct aspace *src, struct map_entry *e, struct aspace *dst,
                     struct map_entry *child)
{
    int err = section_map_ops.fork(src, e, dst, child);

    if (!err)
        one_more(e);
    return err;
}

static vaddr_t huge_protect(struct aspace *as, struct map_entry *e, vaddr_t start, vaddr_t end,
                            unsigned prot)
{
    return section_map_ops.protect(as, e, start, end, prot);
}

static int huge_protect_prepare(struct aspace *as, struct map_entry *e)
{
    return section_map_ops.protect_prepare(as, e);
}

static int huge_split_prepare(struct map_entry *e, struct map_entry *second, vaddr_t va)
{
    return section_map_ops.split_prepare(e, second, va);
}

static void huge_split_cancel(struct map_entry *second) { section_map_ops.split_cancel(second); }

static void huge_split(struct map_entry *e, struct map_entry *second, vaddr_t va)
{
    one_more(e);
    section_map_ops.split(e, second, va);
}

static int huge_discard(struct aspace *as, struct map_entry *e, vaddr_t start, vaddr_t end)
{
    return section_map_ops.discard(as, e, start, end);
}

static uint64_t huge_sharers(const struct map_entry *e, pte_t pte)
{
    return section_map_ops.sharers(e, pte);
}

static void *huge_word_base(const struct map_entry *e) { return section_map_ops.word_base(e); }

static const struct map_ops shm_huge_ops = {
    .name = "segment of huge pages",
    .fault = huge_fault,
    .unmap = huge_unmap,
    .fork = huge_fork,
    .protect = huge_protect,
    .protect_prepare = huge_protect_prepare,
    .split_prepare = huge_split_prepare,
    .split_cancel = huge_split_cancel,
    .split = huge_split,
    .word_base = huge_word_base,
    .word_keeper = &section_word_keeper,
    .discard = huge_discard,
    .sharers = huge_sharers,
};

/* ---- shmat, shmdt ---- */

/* The place that was asked for, as flags of mm; it may be rounded. -EINVAL. */
static int place(vaddr_t *va, uint32_t flags, unsigned *mapf)
{
    if (*va & PAGE_MASK) {
        if (!(flags & SHM_RND))
            return -EINVAL;
        *va &= ~PAGE_MASK;
    }
    if (*va == 0 && (flags & SHM_REMAP))
        return -EINVAL;
    *mapf = MAPF_SHARED;
    if (*va)
        *mapf |= flags & SHM_REMAP ? MAPF_FIXED : MAPF_FIXED_NOREPLACE;
    return 0;
}

/* The segment, with a reference and counted as attached once more. */
static int begin_attach(const struct ipc_caller *c, int id, uint32_t want, struct segment **out)
{
    ipl_t ipl = spin_lock(&table.lock);
    struct ipc_object *o = ipc_find_locked(&table, id);
    int err = !o ? -EINVAL : !ipc_allows(o, c, want) ? -EACCES : 0;

    if (!err) {
        *out = segment_of(o);
        (*out)->nattch++;
        ipc_hold_locked(o);
    }
    spin_unlock(&table.lock, ipl);
    return err;
}

int shm_attach(const struct ipc_caller *c, struct aspace *as, int id, vaddr_t va, uint32_t flags,
               vaddr_t *at)
{
    uint32_t want = IPC_READ | (flags & SHM_RDONLY ? 0 : IPC_WRITE) | (flags & SHM_EXEC ? 0111 : 0);
    unsigned prot = MAP_R | (flags & SHM_RDONLY ? 0 : MAP_W) | (flags & SHM_EXEC ? MAP_X : 0), mapf;
    struct segment *s;
    ipl_t ipl;
    int err;

    err = place(&va, flags, &mapf);
    if (!err)
        err = begin_attach(c, id, want, &s);
    if (err)
        return err;
    if (flags & SHM_RDONLY)
        mapf |= MAPF_READONLY;
    err = s->huge ? section_huge_map(as, s->huge, &va, size_of(s), 0, prot, mapf, &shm_huge_ops)
                  : aspace_map_object_by(as, &va, size_of(s), prot, mapf, s->memory, 0, &shm_ops);
    ipl = spin_lock(&table.lock);
    if (err) {
        leave_unlock(s, ipl);
    } else {
        attached_locked(s, c->pid);
        ipc_drop_unlock(&table, &s->ipc, ipl);
        *at = va;
    }
    section_reap(); /* this segment, or what was mapped there */
    return err == -EEXIST ? -EINVAL : err;
}

/* What an attachment maps; NULL: the entry is none. To be compared only. */
static const void *memory_in(const struct map_entry *e)
{
    return e->ops == &shm_ops        ? (const void *)e->object
           : e->ops == &shm_huge_ops ? e->smap->section
                                     : NULL;
}

/* The first entry from `from` on, below `end`, that belongs to an attachment at va: of `memory`, or
 * NULL: of any. NULL: there is none, or the caller is to end. The mutex of as is held. */
static struct map_entry *part_of(struct aspace *as, vaddr_t va, const void *memory, vaddr_t from,
                                 vaddr_t end)
{
    struct map_entry *e;

    while (from < end && !thread_killed() && (e = aspace_first_in_locked(as, from, end)) != NULL) {
        const void *m = memory_in(e);

        if (m && e->start - e->offset == va && (!memory || m == memory))
            return e;
        from = e->end;
    }
    return NULL;
}

int shm_detach(struct aspace *as, vaddr_t va)
{
    const void *memory;
    struct map_entry *e;
    vaddr_t end;
    int err;

    if ((va & PAGE_MASK) || va >= LAYOUT_USER_TOP)
        return -EINVAL;
    err = mutex_lock_killable(&as->lock);
    if (err)
        return err;
    e = part_of(as, va, NULL, va, LAYOUT_USER_TOP);
    if (!e)
        err = -EINVAL;
    else {
        memory = memory_in(e); /* it may be gone after the last part */
        end = MIN(va + size_of(segment_in(e)), LAYOUT_USER_TOP);
    }
    while (!err && e) {
        vaddr_t from = e->start, to = e->end;

        err = aspace_unmap_locked(as, from, to - from);
        e = part_of(as, va, memory, to, end);
    }
    mutex_unlock(&as->lock);
    section_reap();
    return err;
}

/* ---- shmctl ---- */

static void status_locked(const struct segment *s, struct shm_status *to)
{
    *to = (struct shm_status){.ipc = s->ipc,
                              .nbytes = s->nbytes,
                              .nattch = s->nattch,
                              .atime_ns = s->atime_ns,
                              .dtime_ns = s->dtime_ns,
                              .cpid = s->cpid,
                              .lpid = s->lpid};
}

/* Fill in *to for o, and release the lock. */
static int status_unlock(struct ipc_object *o, const struct ipc_caller *c, bool any,
                         struct shm_status *to, ipl_t ipl)
{
    uint64_t pool_bytes;
    struct segment *s;

    if (!o || !(any || ipc_allows(o, c, IPC_READ))) {
        spin_unlock(&table.lock, ipl);
        return o ? -EACCES : -EINVAL;
    }
    s = segment_of(o);
    status_locked(s, to);
    ipc_hold_locked(o);
    spin_unlock(&table.lock, ipl);
    if (s->huge)
        to->resident = s->huge->npages;
    else
        object_measure(s->memory, &to->resident, &pool_bytes);
    ipl = spin_lock(&table.lock);
    ipc_drop_unlock(&table, o, ipl);
    return 0;
}

int shm_stat(const struct ipc_caller *c, int id, struct shm_status *s)
{
    ipl_t ipl = spin_lock(&table.lock);

    return status_unlock(ipc_find_locked(&table, id), c, false, s, ipl);
}

int shm_stat_slot(const struct ipc_caller *c, uint64_t slot, bool any, struct shm_status *s)
{
    ipl_t ipl = spin_lock(&table.lock);

    return status_unlock(ipc_slot_locked(&table, slot), c, any, s, ipl);
}

uint32_t shm_next(uint32_t from) { return ipc_next(&table, from); }

int shm_set(const struct ipc_caller *c, int id, uint32_t uid, uint32_t gid, uint32_t mode)
{
    return ipc_set(&table, c, id, uid, gid, mode);
}

int shm_remove(const struct ipc_caller *c, int id)
{
    ipl_t ipl = spin_lock(&table.lock);
    struct ipc_object *o = ipc_find_locked(&table, id);

    if (!o || !ipc_owns(o, c)) {
        spin_unlock(&table.lock, ipl);
        return o ? -EPERM : -EINVAL;
    }
    ipc_hold_locked(o);
    ipc_forget_key_locked(&table, o);
    o->mode |= SHM_DEST;
    if (segment_of(o)->nattch == 0)
        ipc_remove_locked(&table, o);
    ipc_drop_unlock(&table, o, ipl);
    section_reap();
    return 0;
}

/* No page of a segment is ever taken away, so only the mark is set. */
int shm_lock(const struct ipc_caller *c, int id, bool lock)
{
    ipl_t ipl = spin_lock(&table.lock);
    struct ipc_object *o = ipc_find_locked(&table, id);
    int err = !o ? -EINVAL : !ipc_owns(o, c) ? -EPERM : 0;

    if (!err)
        o->mode = lock ? o->mode | SHM_LOCKED : o->mode & ~SHM_LOCKED;
    spin_unlock(&table.lock, ipl);
    return err;
}

/* ---- figures and checks ---- */

void shm_totals(struct shm_totals *t)
{
    struct shm_status s;
    ipl_t ipl = spin_lock(&table.lock);

    *t = (struct shm_totals){.count = table.count,
                             .highest = ipc_highest_locked(&table),
                             .pages = __atomic_load_n(&all_pages, __ATOMIC_RELAXED)};
    spin_unlock(&table.lock, ipl);
    for (uint32_t n = shm_next(0); n < IPC_SLOTS; n = shm_next(n + 1))
        if (shm_stat_slot(NULL, n, true, &s) == 0)
            t->resident += s.resident;
}

void shm_validate(struct validate *v)
{
    for (uint32_t n = shm_next(0); n < IPC_SLOTS; n = shm_next(n + 1))
        if (segment_of(table.slot[n].object)->memory)
            validate_file_object(v, segment_of(table.slot[n].object)->memory);
}

static void explain(struct census *c)
{
    for (uint32_t n = shm_next(0); n < IPC_SLOTS; n = shm_next(n + 1)) {
        census_explain(c, CENSUS_NONPAGED, sizeof(struct segment), 1);
        if (segment_of(table.slot[n].object)->memory)
            object_census(c, segment_of(table.slot[n].object)->memory);
    }
}

void shm_boot(void)
{
    static const struct census_kind kinds[] = {
        {"shared memory segment", CENSUS_NONPAGED, sizeof(struct segment)},
    };

    census_register(explain, kinds, ARRAY_SIZE(kinds));
}
