/* See fdtable.h. */
#include "kernel/proc/fdtable.h"

#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "mm/phys/failure.h"
#include "mm/pool/pool.h"

struct file_table *fdtable_create(void)
{
    struct file_table *t = npp_alloc_zeroed(sizeof(*t));

    if (t) {
        t->size = FD_FIRST;
        t->file = t->first;
    }
    return t;
}

/* All slots that there can be, so that a table grows once. */
static int grow(struct file_table *t)
{
    struct file **more = npp_alloc_zeroed(FD_MAX * sizeof(*more));

    if (!more)
        return -ENOMEM;
    memcpy(more, t->file, t->size * sizeof(*more));
    t->file = more;
    t->size = FD_MAX;
    return 0;
}

struct file_table *fdtable_fork(const struct file_table *from)
{
    struct file_table *t = fdtable_create();

    if (!t || (from->size > t->size && grow(t))) {
        if (t)
            npp_free(t, sizeof(*t));
        return NULL;
    }
    for (unsigned fd = 0, left = from->open; left; fd++) {
        if (!from->file[fd])
            continue;
        t->file[fd] = from->file[fd];
        file_ref(t->file[fd]);
        left--;
    }
    t->open = from->open;
    memcpy(t->cloexec, from->cloexec, sizeof(t->cloexec));
    return t;
}

void fdtable_free(struct file_table *t)
{
    for (unsigned fd = 0; t->open; fd++)
        fd_close(t, fd);
    if (t->file != t->first)
        npp_free(t->file, FD_MAX * sizeof(*t->file));
    npp_free(t, sizeof(*t));
}

void fdtable_exec(struct file_table *t)
{
    for (unsigned k = 0; k < ARRAY_SIZE(t->cloexec); k++) {
        while (t->cloexec[k])
            fd_close(t, 64 * k + (unsigned)__builtin_ctzl(t->cloexec[k]));
    }
}

void fd_set_cloexec(struct file_table *t, unsigned fd, bool on)
{
    uint64_t bit = UINT64_C(1) << (fd % 64);

    t->cloexec[fd / 64] = on ? t->cloexec[fd / 64] | bit : t->cloexec[fd / 64] & ~bit;
}

int fd_find(struct file_table *t, unsigned from)
{
    unsigned fd = from;

    if (from >= FD_MAX)
        return -EINVAL;
    while (fd < t->size && t->file[fd])
        fd++;
    if (failure_door(MEGA_ALLOC_FD) || fd >= FD_MAX)
        return -EMFILE;
    if (fd >= t->size && grow(t))
        return -ENOMEM;
    return (int)fd;
}

void fd_fill(struct file_table *t, struct file *f, unsigned fd, bool cloexec)
{
    t->file[fd] = f;
    t->open++;
    fd_set_cloexec(t, fd, cloexec);
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
    if (fd >= FD_MAX)
        return -EBADF;
    if (fd >= t->size && grow(t))
        return -ENOMEM;
    fd_close(t, fd);
    fd_fill(t, f, (unsigned)fd, cloexec);
    return (int)fd;
}

int fd_close(struct file_table *t, uint64_t fd)
{
    struct file *f = fd_get(t, fd);

    if (!f)
        return -EBADF;
    t->file[fd] = NULL;
    t->open--;
    fd_set_cloexec(t, (unsigned)fd, false);
    file_unref(f);
    return 0;
}
