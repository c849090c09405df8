/* Open directories: getdents64 and the position. Names are looked up and copied out one at a time,
 * so that user memory is never touched with a directory locked. */
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/io/open_flags.h"
#include "kernel/io/tree.h"
#include "kernel/sched/freeze.h"

struct dirent64 { /* layout of Linux */
    uint64_t ino;
    int64_t off;
    uint16_t reclen;
    uint8_t type;
    char name[];
} __attribute__((packed, aligned(8)));

#define DIRENT_HEAD 19 /* bytes before the name */
#define OLD_HEAD    18 /* the same in the older layout, where the type is the record's last byte */

/* The name, its NUL, and in the older layout the type. */
static size_t record_bytes(size_t name_len, bool old)
{
    return ((old ? OLD_HEAD + 1 : DIRENT_HEAD) + name_len + 1 + 7) & ~(size_t)7;
}

/* Make the record of an entry, of so many bytes, all of which are set. */
static void make_record(uint64_t *record, size_t bytes, const struct fs_entry *e, bool old)
{
    struct dirent64 *d = (struct dirent64 *)record;
    uint8_t type = (uint8_t)((e->mode & S_IFMT) >> 12);

    record[bytes / 8 - 1] = 0; /* zeroes for the bytes after the name */
    if (bytes >= 16)
        record[bytes / 8 - 2] = 0;
    d->ino = e->ino;
    d->off = (int64_t)e->cookie;
    d->reclen = (uint16_t)bytes;
    memcpy((char *)record + (old ? OLD_HEAD : DIRENT_HEAD), e->text, e->len + 1);
    if (old)
        ((uint8_t *)record)[bytes - 1] = type;
    else
        d->type = type;
}

static void dot(struct fs_entry *e, const struct inode *i, uint64_t cookie)
{
    e->ino = i->ino;
    e->cookie = cookie;
    e->mode = S_IFDIR;
    e->len = (uint32_t)cookie; /* "." is 1, ".." is 2 */
    memcpy(e->text, "..", cookie);
    e->text[cookie] = '\0';
}

/* The first entry after position pos. 0, -ENOENT at the end, or the file system's error. */
static int next_entry(struct inode *dir, uint64_t pos, struct fs_entry *e)
{
    int err = 0;

    mutex_lock_shared(&dir->lock);
    if (!dir->parent)
        err = -ENOENT; /* a removed directory has no entries */
    else if (pos < 1)
        dot(e, dir, 1);
    else if (pos < 2)
        dot(e, dir->parent, 2);
    else
        err = dir->ops->readdir(dir, pos, e);
    mutex_unlock_shared(&dir->lock);
    return err;
}

static bool is_removed(struct inode *dir)
{
    bool removed;

    mutex_lock_shared(&dir->lock);
    removed = !dir->parent;
    mutex_unlock_shared(&dir->lock);
    return removed;
}

/* The position is loaded and stored once each, atomically: two threads that read one open directory
 * at the same time may both get an entry, but never a torn position. */
static long directory_getdents(struct file *f, vaddr_t ubuf, size_t n, bool old)
{
    uint64_t pos = (uint64_t)__atomic_load_n(&f->pos, __ATOMIC_RELAXED);
    struct fs_entry e;
    size_t done = 0;
    long err;

    while ((err = next_entry(f->inode, pos, &e)) == 0) {
        size_t bytes = record_bytes(e.len, old);
        uint64_t record[(DIRENT_HEAD + NAME_MAX + 1 + 7) / 8];

        if (bytes > n - done) {
            err = -EINVAL;
            break;
        }
        if (sched_loop_point()) {
            err = -EINTR;
            break;
        }
        make_record(record, bytes, &e, old);
        err = copyout(ubuf + done, record, bytes);
        if (err)
            break;
        done += bytes;
        pos = e.cookie;
    }
    __atomic_store_n(&f->pos, (int64_t)pos, __ATOMIC_RELAXED);
    if (done)
        inode_accessed(f->inode);
    if (!done && err == -ENOENT && !is_removed(f->inode))
        err = 0;
    return done ? (long)done : err;
}

static int64_t directory_lseek(struct file *f, int64_t off, int whence)
{
    int64_t to = -EINVAL;

    mutex_lock(&f->inode->lock);
    if (whence == SEEK_SET && off >= 0)
        to = f->pos = off;
    else if (whence == SEEK_CUR && off == 0)
        to = f->pos;
    mutex_unlock(&f->inode->lock);
    return to;
}

static long directory_read(struct file *f, vaddr_t ubuf, size_t n)
{
    (void)f, (void)ubuf, (void)n;
    return -EISDIR;
}

static int directory_stat(struct file *f, struct file_stat *st)
{
    inode_stat(f->inode, st);
    return 0;
}

const struct file_ops directory_ops = {
    .name = "directory",
    .read = directory_read,
    .write = directory_read,
    .lseek = directory_lseek,
    .stat = directory_stat,
    .getdents = directory_getdents,
};
