/* Descriptor tables: fdtable.h describes the sharing. The work under a table's lock is bounded by
 * one pass over its FD_MAX slots. */
#include "kernel/proc/fdtable.h"

#include "kernel/base/bitops.h"
#include "kernel/base/string.h"
#include "mm/phys/failure.h"
#include "mm/pool/pool.h"

/* The state between hold and let_go: whether the lock was taken. */
struct hold {
    bool locked; /* kept, because other users may leave meanwhile and the count change */
    ipl_t ipl;
};

static __attribute__((noinline)) ipl_t lock_shared(struct file_table *t)
{
    ipl_t ipl = spin_lock(&t->lock);

    __atomic_store_n(&t->others, t->others - t->gone, __ATOMIC_RELAXED);
    t->gone = 0;
    return ipl;
}

static inline struct hold hold(struct file_table *t)
{
    if (fdtable_shared(t))
        return (struct hold){true, lock_shared(t)};
    return (struct hold){false, 0};
}

static inline void let_go(struct file_table *t, struct hold h)
{
    if (unlikely(h.locked))
        spin_unlock(&t->lock, h.ipl);
}

static inline void mark(uint64_t *map, unsigned fd, bool on)
{
    if (on)
        bitmap_set(map, fd);
    else
        bitmap_clear(map, fd);
}

struct file_table *fdtable_create(void)
{
    struct file_table *t = npp_alloc_zeroed(sizeof(*t));

    if (t) {
        t->lock = (struct spinlock)SPINLOCK_INIT("descriptors", RANK_FILE, IPL_ASTDEL);
        t->size = FD_FIRST;
        t->file = t->first;
    }
    return t;
}

/* Enlarge the table to FD_MAX slots at once. If another user has done so first, nothing is left to
 * do. */
static int grow(struct file_table *t)
{
    struct file **more = npp_alloc_zeroed(FD_MAX * sizeof(*more));
    struct hold h;

    if (!more)
        return -ENOMEM;
    h = hold(t);
    if (t->size < FD_MAX) {
        memcpy(more, t->file, t->size * sizeof(*more));
        t->file = more;
        t->size = FD_MAX;
        more = NULL;
    }
    let_go(t, h);
    if (unlikely(more))
        npp_free(more, FD_MAX * sizeof(*more));
    return 0;
}

struct file_table *fdtable_fork(struct file_table *from)
{
    struct file_table *t = fdtable_create();
    struct hold h;

    if (!t)
        return NULL;
    h = hold(from);
    while (from->size > t->size) {
        let_go(from, h);
        if (grow(t)) {
            npp_free(t, sizeof(*t));
            return NULL;
        }
        h = hold(from);
    }
    for (unsigned k = 0; k < ARRAY_SIZE(t->used); k++) {
        struct file **to = t->file + 64 * k, **old = from->file + 64 * k;
        uint64_t used = from->used[k];

        for (uint64_t left = used; left; left &= left - 1) {
            struct file *f = old[bit_lowest(left)];

            if (likely(f != NULL)) {
                to[bit_lowest(left)] = f;
                file_ref(f);
            } else { /* reserved by a call of another user, so not in the copy */
                used &= ~(left & -left);
            }
        }
        t->used[k] = used;
        t->cloexec[k] = from->cloexec[k];
    }
    let_go(from, h);
    return t;
}

void fdtable_share(struct file_table *t)
{
    ipl_t ipl = lock_shared(t);

    __atomic_store_n(&t->others, t->others + 1, __ATOMIC_RELAXED);
    spin_unlock(&t->lock, ipl);
}

void fdtable_release(struct file_table *t)
{
    if (fdtable_shared(t)) {
        ipl_t ipl = lock_shared(t);
        bool last = t->others == 0;

        t->gone = !last;
        spin_unlock(&t->lock, ipl);
        if (!last)
            return;
    }
    for (unsigned k = 0; k < ARRAY_SIZE(t->used); k++) {
        for (uint64_t left = t->used[k]; left; left &= left - 1)
            file_unref(t->file[64 * k + bit_lowest(left)]);
    }
    if (t->file != t->first)
        npp_free(t->file, FD_MAX * sizeof(*t->file));
    npp_free(t, sizeof(*t));
}

void fdtable_exec(struct file_table *t)
{
    for (unsigned k = 0; k < ARRAY_SIZE(t->cloexec); k++) {
        while (t->cloexec[k])
            fd_close(t, 64 * k + bit_lowest(t->cloexec[k]));
    }
}

struct file *fd_get_counted(struct file_table *t, uint64_t fd)
{
    ipl_t ipl = lock_shared(t);
    struct file *f = fd < t->size ? t->file[fd] : NULL;

    if (f)
        file_ref(f);
    spin_unlock(&t->lock, ipl);
    return f;
}

long fd_call_counted(struct file_table *t, uint64_t fd, fd_fn fn, uint64_t a, uint64_t b,
                     uint64_t c)
{
    struct file *f = fd_get_counted(t, fd);
    long r;

    if (!f)
        return -EBADF;
    r = fn(f, a, b, c);
    file_unref(f);
    return r;
}

int fd_cloexec(struct file_table *t, unsigned fd)
{
    struct hold h = hold(t);
    bool on = bitmap_test(t->cloexec, fd);

    let_go(t, h);
    return on;
}

int fd_set_cloexec(struct file_table *t, unsigned fd, bool on)
{
    struct hold h = hold(t);

    if (fd < t->size && t->file[fd])
        mark(t->cloexec, fd, on);
    let_go(t, h);
    return 0;
}

/* The lowest free number that is at least `from`; FD_MAX: there is none. */
static unsigned lowest_free(const struct file_table *t, unsigned from)
{
    uint64_t free = ~t->used[from / 64] & ~UINT64_C(0) << (from % 64);

    for (unsigned k = from / 64;;) {
        if (free)
            return 64 * k + bit_lowest(free);
        if (++k == ARRAY_SIZE(t->used))
            return FD_MAX;
        free = ~t->used[k];
    }
}

int fd_find(struct file_table *t, unsigned from)
{
    bool fails;

    if (from >= FD_MAX)
        return -EINVAL;
    fails = failure_inject(MEGA_ALLOC_FD);
    for (;;) {
        struct hold h = hold(t);
        unsigned fd = lowest_free(t, from);
        bool fits = fd < t->size;

        if (fails)
            fd = FD_MAX;
        else if (fits)
            bitmap_set(t->used, fd);
        let_go(t, h);
        if (fd >= FD_MAX)
            return -EMFILE;
        if (fits)
            return (int)fd;
        if (grow(t))
            return -ENOMEM;
    }
}

void fd_fill(struct file_table *t, struct file *f, unsigned fd, bool cloexec)
{
    struct hold h = hold(t);

    t->file[fd] = f;
    mark(t->cloexec, fd, cloexec);
    let_go(t, h);
}

void fd_cancel(struct file_table *t, unsigned fd)
{
    struct hold h = hold(t);

    bitmap_clear(t->used, fd);
    let_go(t, h);
}

int fd_add(struct file_table *t, struct file *f, unsigned from, bool cloexec)
{
    int fd = fd_find(t, from);

    if (fd >= 0)
        fd_fill(t, f, (unsigned)fd, cloexec);
    return fd;
}

int fd_replace(struct file_table *t, struct file *f, uint64_t fd, bool cloexec)
{
    struct file *old;
    struct hold h;

    if (fd >= FD_MAX)
        return -EBADF;
    if (fd >= t->size && grow(t))
        return -ENOMEM;
    h = hold(t);
    old = t->file[fd];
    if (unlikely(!old && bitmap_test(t->used, fd))) {
        let_go(t, h);
        return -EBUSY;
    }
    t->file[fd] = f;
    bitmap_set(t->used, fd);
    mark(t->cloexec, (unsigned)fd, cloexec);
    let_go(t, h);
    if (old)
        file_unref(old);
    return (int)fd;
}

int fd_close(struct file_table *t, uint64_t fd)
{
    struct hold h = hold(t);
    struct file *f = fd < t->size ? t->file[fd] : NULL;

    if (f) {
        t->file[fd] = NULL;
        bitmap_clear(t->used, fd);
        bitmap_clear(t->cloexec, fd);
    }
    let_go(t, h);
    if (!f)
        return -EBADF;
    file_unref(f);
    return 0;
}
