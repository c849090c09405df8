/*
 * Reading a file of /proc. Its text is produced a few records at a time, as it is read: an open
 * file keeps the records at its position in one block of paged pool. A read at another position
 * starts from the first record again. So a file of any length takes constant memory, and nothing is
 * locked between two records; the text is that of one moment only within a record.
 */
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/base/format.h"
#include "kernel/base/string.h"
#include "kernel/io/open_flags.h"
#include "kernel/sys/procfs/procfs_private.h"
#include "mm/pool/pool.h"

/* Protected by the mutex of the file's inode, which only this open file uses. */
struct reader {
    uint64_t cursor; /* of the record after those in `text` */
    int64_t start;   /* position of the first byte of `text` */
    size_t n;
    bool end; /* there are no more records */
    char text[PROC_TEXT_BYTES];
};

struct sink {
    struct proc_text *t;
};

void proc_put(struct proc_text *t, const char *s, size_t n)
{
    n = MIN(n, PROC_TEXT_BYTES - t->n);
    memcpy(t->at + t->n, s, n);
    t->n += n;
}

static void put(void *arg, const char *s, size_t n) { proc_put(arg, s, n); }

void proc_print(struct proc_text *t, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    format_to(put, t, fmt, ap);
    va_end(ap);
}

static void rewind(struct reader *r)
{
    r->cursor = 0;
    r->start = 0;
    r->n = 0;
    r->end = false;
}

/* Make `text` the records after those that it holds. 1, 0 at the end, or a negative errno. */
static int advance(const struct proc_inode *i, struct reader *r)
{
    struct proc_text t = {.at = r->text};
    int more;

    if (r->end)
        return 0;
    more = i->entry->record ? i->entry->record(i, &t) : i->entry->show(&i->who, &r->cursor, &t);
    if (more < 0)
        return more;
    r->start += (int64_t)r->n;
    r->n = t.n;
    r->end = !more;
    return 1;
}

static struct reader *reader_of(struct file *f)
{
    struct reader *r = f->priv;

    if (!r) {
        r = pgd_alloc(sizeof(*r));
        if (!r)
            return NULL;
        rewind(r);
        f->priv = r;
    }
    return r;
}

/* Copy to or from *pos of a file without a text, and advance it. The inode's mutex is held. */
static long copy_memory_locked(struct file *f, int64_t *pos, vaddr_t ubuf, size_t n, bool write)
{
    const struct proc_inode *i = proc_inode_of(f->inode);
    long done = i->entry->memory(&i->who, (uint64_t)*pos, ubuf, n, write);

    if (done > 0)
        *pos += done;
    return done;
}

/* Read at *pos and advance it. The inode's mutex is held. */
static long read_locked(struct file *f, int64_t *pos, vaddr_t ubuf, size_t n)
{
    const struct proc_inode *i = proc_inode_of(f->inode);
    struct reader *r;
    size_t done = 0;
    int more = 1;

    if (i->entry->memory)
        return copy_memory_locked(f, pos, ubuf, n, false);
    r = reader_of(f);
    if (!r)
        return -ENOMEM;
    if (*pos == 0 ||
        *pos < r->start) /* who reads from the start wants to know how things are now */
        rewind(r);
    while (done < n && more > 0) {
        uint64_t within = (uint64_t)(*pos - r->start);

        if (within < r->n) {
            size_t some = MIN(n - done, r->n - within);

            if (copyout(ubuf + done, r->text + within, some))
                return done ? (long)done : -EFAULT;
            done += some;
            *pos += (int64_t)some;
        } else {
            more = advance(proc_inode_of(f->inode), r);
        }
    }
    return done || more >= 0 ? (long)done : more;
}

static long proc_read(struct file *f, vaddr_t ubuf, size_t n)
{
    long done = mutex_lock_killable(&f->inode->lock);

    if (done)
        return done;
    done = read_locked(f, &f->pos, ubuf, n);
    mutex_unlock(&f->inode->lock);
    return done;
}

static long proc_read_at(struct file *f, vaddr_t ubuf, size_t n, uint64_t offset)
{
    int64_t pos = (int64_t)offset;
    long done = mutex_lock_killable(&f->inode->lock);

    if (done)
        return done;
    done = read_locked(f, &pos, ubuf, n);
    mutex_unlock(&f->inode->lock);
    return done;
}

static long write_from(struct file *f, vaddr_t ubuf, size_t n, int64_t *pos)
{
    long done;

    if (!proc_inode_of(f->inode)->entry->memory)
        return -EACCES;
    done = mutex_lock_killable(&f->inode->lock);
    if (done)
        return done;
    done = copy_memory_locked(f, pos, ubuf, n, true);
    mutex_unlock(&f->inode->lock);
    return done;
}

static long proc_write(struct file *f, vaddr_t ubuf, size_t n)
{
    return write_from(f, ubuf, n, &f->pos);
}

static long proc_write_at(struct file *f, vaddr_t ubuf, size_t n, uint64_t offset)
{
    return write_from(f, ubuf, n, &(int64_t){(int64_t)offset});
}

static int64_t proc_lseek(struct file *f, int64_t off, int whence)
{
    int64_t to = mutex_lock_killable(&f->inode->lock);

    if (to)
        return to;
    to = -EINVAL;
    if (whence == SEEK_CUR && __builtin_add_overflow(f->pos, off, &off))
        off = -1;
    if ((whence == SEEK_SET || whence == SEEK_CUR) && off >= 0)
        to = f->pos = off;
    mutex_unlock(&f->inode->lock);
    return to;
}

static int proc_stat(struct file *f, struct file_stat *st)
{
    inode_stat(f->inode, st);
    return 0;
}

static void proc_close(struct file *f)
{
    if (f->priv)
        pgd_free(f->priv, sizeof(struct reader));
}

const struct file_ops proc_file_ops = {
    .name = "proc",
    .read = proc_read,
    .read_at = proc_read_at,
    .write = proc_write,
    .write_at = proc_write_at,
    .lseek = proc_lseek,
    .stat = proc_stat,
    .close = proc_close,
};
