/*
 * Disks and partitions as block special files. Nothing is cached: a read or write is one of the
 * device, through pages of the request or, with O_DIRECT, those of the program, and what a write
 * has said to be written is with the device. It survives the machine's end after fsync(), or with
 * O_SYNC or O_DSYNC.
 *
 * A call has up to WINDOW requests under way. A killed process leaves them behind; writes among
 * them may still happen. Parts of sectors are read, changed and written back, which disk.parts
 * makes one step for all that write through device files.
 */
#include "arch/alpha/hw/kseg.h"
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/base/format.h"
#include "kernel/base/printk.h"
#include "kernel/base/string.h"
#include "kernel/block/block.h"
#include "kernel/io/io_private.h"
#include "kernel/io/open_flags.h"
#include "kernel/io/tree.h"
#include "kernel/sched/thread.h"

#define WINDOW   8u
#define CHUNK    (BLOCK_PAGES * PAGE_SIZE)
#define MODE     (S_IFBLK | 0600)
#define NO_SPACE (-ENOSPC)

/* Requests for information, with the values of Linux/Alpha. */
#define BLKROGET     0x2000125Eul
#define BLKGETSIZE   0x20001260ul
#define BLKFLSBUF    0x20001261ul
#define BLKSSZGET    0x20001268ul
#define BLKIOMIN     0x20001278ul
#define BLKIOOPT     0x20001279ul
#define BLKALIGNOFF  0x2000127Aul
#define BLKPBSZGET   0x2000127Bul
#define BLKGETSIZE64 0x40081272ul

static struct block_volume *volume_of(const struct file *f) { return f->priv; }

static uint64_t bytes_of(const struct block_volume *v)
{
    return v->sectors * v->disk->sector_bytes;
}

static int disk_open(struct file *f)
{
    uint32_t rdev = f->inode->rdev;

    f->priv = rdev >> 8 == BLOCK_DEVICE_MAJOR ? block_volume(rdev & 0xFF) : NULL;
    if (!f->priv)
        return -ENXIO;
    return volume_of(f)->disk->read_only && (f->flags & O_ACCMODE) != O_RDONLY ? -EROFS : 0;
}

struct block_volume *disk_file_volume(const struct file *f)
{
    return f->ops == &disk_ops ? volume_of(f) : NULL;
}

int tree_volume(const struct inode *i, struct block_volume **v)
{
    if ((i->mode & S_IFMT) != S_IFBLK)
        return -ENOTBLK;
    if (i->fs != inode_root->fs)
        return -EACCES; /* whoever serves another file system does not give access to disks */
    *v = i->rdev >> 8 == BLOCK_DEVICE_MAJOR ? block_volume(i->rdev & 0xFF) : NULL;
    return *v ? 0 : -ENXIO;
}

/* Copy n bytes between user memory and the pages of a request, from byte `at` of them on. */
static int copy_user(struct block_request *r, uint32_t at, vaddr_t ubuf, size_t n, bool in)
{
    for (size_t done = 0; done < n;) {
        char *p = (char *)kseg_page(r->page[at / PAGE_SIZE]) + at % PAGE_SIZE;
        size_t part = MIN(n - done, PAGE_SIZE - at % PAGE_SIZE);

        if (in ? copyin(p, ubuf + done, part) : copyout(ubuf + done, p, part))
            return -EFAULT;
        done += part;
        at += (uint32_t)part;
    }
    return 0;
}

/* One call's transfer, and its requests under way, in the order of their places. */
struct transfer {
    struct block_volume *v;
    bool write;
    bool direct; /* the device accesses the program's pages, where they can be pinned */
    vaddr_t ubuf;
    uint64_t at, end; /* bytes of the volume: where the next request begins, and the last ends */
    unsigned first, count;
    struct {
        struct block_request *r;
        vaddr_t ubuf;
        uint32_t skip, n; /* bytes of the pages before those that are wanted, and of these */
    } way[WINDOW];
};

/* Submit r, which moves n bytes behind the first `skip` of its pages. */
static void submit(struct transfer *t, struct block_request *r, uint32_t skip, uint32_t n)
{
    unsigned slot = (t->first + t->count) % WINDOW;

    block_submit(r);
    t->way[slot].r = r;
    t->way[slot].ubuf = t->ubuf;
    t->way[slot].skip = skip;
    t->way[slot].n = n;
    t->count++;
    t->ubuf += n;
    t->at += n;
}

/* Submit the request that comes next, of whole sectors, to pages of the program. 0; -EOPNOTSUPP:
 * they cannot be pinned; -EFAULT, -ENOMEM, -EINTR. */
static int push_direct(struct transfer *t)
{
    enum block_kind kind = t->write ? BLOCK_WRITE : BLOCK_READ;
    uint32_t within = (uint32_t)(t->ubuf & PAGE_MASK);
    uint32_t n = (uint32_t)MIN(t->end - t->at, CHUNK - within);
    struct block_request *r;
    int err = block_direct(t->v, kind, t->at >> t->v->disk->sector_shift, t->ubuf, n, &r);

    if (!err)
        submit(t, r, 0, n);
    return err;
}

/* Submit the request that comes next. */
static int push(struct transfer *t)
{
    uint32_t size = t->v->disk->sector_bytes;
    uint64_t from = t->at & ~(uint64_t)(size - 1);
    uint64_t to = MIN(from + CHUNK, (t->end + size - 1) & ~(uint64_t)(size - 1));
    uint32_t skip = (uint32_t)(t->at - from), n = (uint32_t)(MIN(to, t->end) - t->at);
    int err = t->direct ? push_direct(t) : -EOPNOTSUPP;
    struct block_request *r;

    if (err != -EOPNOTSUPP)
        return err;
    r = block_new(t->v, t->write ? BLOCK_WRITE : BLOCK_READ, from / size, (uint32_t)(to - from));

    if (!r)
        return -ENOMEM;
    if (t->write && copy_user(r, 0, t->ubuf, n, true)) {
        block_drop(r);
        return -EFAULT;
    }
    submit(t, r, skip, n);
    return 0;
}

/* Wait for the oldest request. The number of its bytes, or a negative errno. */
static long pop(struct transfer *t)
{
    unsigned slot = t->first;
    struct block_request *r = t->way[slot].r;
    int err = block_wait(r);

    if (!err && !t->write && !r->pinned)
        err = copy_user(r, t->way[slot].skip, t->way[slot].ubuf, t->way[slot].n, false);
    block_drop(r);
    t->first = (t->first + 1) % WINDOW;
    t->count--;
    return err ? err : (long)t->way[slot].n;
}

/* Read, or write whole sectors. Returns how many bytes from the first on were transferred, or why
 * there are none. After a failure no more requests are made, and the answers of those that are
 * under way are not wanted; without memory for a further one the transfer goes on with those there
 * are. */
static long transfer(struct transfer *t)
{
    long done = 0, r = 0;

    while (t->at < t->end || t->count) {
        long n;

        if (thread_killed()) {
            r = -EINTR;
            break;
        }
        while (!r && t->at < t->end && t->count < WINDOW)
            r = push(t);
        if (r == -ENOMEM && t->count)
            r = 0;
        if (!t->count)
            break;
        if (r < 0 && r != -EFAULT)
            break;
        n = pop(t);
        if (n < 0) {
            r = n;
            break;
        }
        done += n;
    }
    while (t->count) {
        block_drop(t->way[t->first].r);
        t->first = (t->first + 1) % WINDOW;
        t->count--;
    }
    return done ? done : r;
}

static long disk_read_at(struct file *f, vaddr_t ubuf, size_t n, uint64_t offset)
{
    struct block_volume *v = volume_of(f);
    uint64_t size = bytes_of(v);
    struct transfer t = {.v = v, .direct = (f->flags & O_DIRECT) != 0, .ubuf = ubuf, .at = offset};

    if ((f->flags & O_DIRECT) && ((offset | n | ubuf) & (v->disk->sector_bytes - 1)))
        return -EINVAL;
    if (offset >= size || !n)
        return 0;
    t.end = offset + MIN(n, size - offset);
    return transfer(&t);
}

/* ---- writing ---- */

/* Read one sector of v into the pages of r, at byte `at` of them. */
static int read_sector(struct block_request *r, uint32_t at, const struct block_volume *v,
                       uint64_t sector)
{
    return block_read(v, sector, (char *)kseg_page(r->page[at / PAGE_SIZE]) + at % PAGE_SIZE,
                      v->disk->sector_bytes);
}

/* Write [at, at + n), up to CHUNK with the rest of its first sector, by reading the sectors of
 * which it changes a part. disk.parts is held exclusively. */
static long write_parts(struct block_volume *v, vaddr_t ubuf, uint32_t n, uint64_t at)
{
    uint32_t size = v->disk->sector_bytes;
    uint64_t from = at & ~(uint64_t)(size - 1), to = (at + n + size - 1) & ~(uint64_t)(size - 1);
    struct block_request *r = block_new(v, BLOCK_WRITE, from / size, (uint32_t)(to - from));
    int err = 0;

    if (!r)
        return -ENOMEM;
    if (at != from)
        err = read_sector(r, 0, v, from / size);
    if (!err && at + n != to && (at == from || to - from > size))
        err = read_sector(r, (uint32_t)(to - from) - size, v, to / size - 1);
    if (!err)
        err = copy_user(r, (uint32_t)(at - from), ubuf, n, true);
    if (!err) {
        block_submit(r);
        err = block_wait(r);
    }
    block_drop(r);
    return err ? err : (long)n;
}

static long write_unaligned(struct block_volume *v, vaddr_t ubuf, size_t n, uint64_t at)
{
    long err = block_settle(v), r;
    size_t done = 0;

    /* Writes that nobody waits for do not hold the mutex. However many there are, only this thread
     * waits for them; with the mutex held, for those that have come since. */
    if (!err)
        err = mutex_lock_killable(&v->disk->parts);
    if (err)
        return err;
    err = block_settle(v);
    while (!err && done < n && !(err = thread_killed() ? -EINTR : 0)) {
        uint64_t within = (at + done) & (v->disk->sector_bytes - 1);

        r = write_parts(v, ubuf + done, (uint32_t)MIN(n - done, CHUNK - within), at + done);
        if (r < 0) {
            err = r;
            break;
        }
        done += (size_t)r;
    }
    mutex_unlock(&v->disk->parts);
    return done ? (long)done : err;
}

static long write_whole(struct file *f, vaddr_t ubuf, size_t n, uint64_t at)
{
    struct block_volume *v = volume_of(f);
    struct transfer t = {.v = v,
                         .write = true,
                         .direct = (f->flags & O_DIRECT) != 0,
                         .ubuf = ubuf,
                         .at = at,
                         .end = at + n};
    long r = mutex_lock_shared_killable(&v->disk->parts);

    if (r)
        return r;
    r = transfer(&t);
    mutex_unlock_shared(&v->disk->parts);
    return r;
}

static int disk_sync(struct file *f) { return block_flush(volume_of(f)); }

static long disk_write_at(struct file *f, vaddr_t ubuf, size_t n, uint64_t offset)
{
    struct block_volume *v = volume_of(f);
    uint64_t size = bytes_of(v), mask = v->disk->sector_bytes - 1;
    long r;
    int err;

    if ((f->flags & O_DIRECT) && ((offset | n | ubuf) & mask))
        return -EINVAL;
    if (!n)
        return 0;
    if (offset >= size)
        return NO_SPACE;
    n = MIN(n, size - offset);
    r = (offset | n) & mask ? write_unaligned(v, ubuf, n, offset) : write_whole(f, ubuf, n, offset);
    if (r <= 0 || !(f->flags & O_DSYNC))
        return r;
    err = disk_sync(f);
    return err ? err : r;
}

/* ---- the file position ---- */

/* With one reference, which is the caller's, nobody else uses the position. */
static int lock_position(struct file *f, bool *locked)
{
    *locked = __atomic_load_n(&f->refs, __ATOMIC_RELAXED) != 1;
    return *locked ? mutex_lock_killable(&f->inode->lock) : 0;
}

static void unlock_position(struct file *f, bool locked)
{
    if (locked)
        mutex_unlock(&f->inode->lock);
}

typedef long (*at_fn)(struct file *f, vaddr_t ubuf, size_t n, uint64_t offset);

static long at_position(struct file *f, vaddr_t ubuf, size_t n, at_fn fn)
{
    bool locked;
    long r = lock_position(f, &locked);

    if (r)
        return r;
    r = fn(f, ubuf, n, (uint64_t)f->pos);
    if (r > 0)
        f->pos += r;
    unlock_position(f, locked);
    return r;
}

static long disk_read(struct file *f, vaddr_t ubuf, size_t n)
{
    return at_position(f, ubuf, n, disk_read_at);
}

static long disk_write(struct file *f, vaddr_t ubuf, size_t n)
{
    return at_position(f, ubuf, n, disk_write_at);
}

static int64_t disk_lseek(struct file *f, int64_t off, int whence)
{
    int64_t size = (int64_t)bytes_of(volume_of(f)), base, to;
    bool locked;
    int err = lock_position(f, &locked);

    if (err)
        return err;
    base = whence == SEEK_CUR ? f->pos : whence == SEEK_END ? size : 0;
    if ((unsigned)whence > SEEK_END || __builtin_add_overflow(base, off, &to) || to < 0 ||
        to > size)
        to = -EINVAL;
    else
        f->pos = to;
    unlock_position(f, locked);
    return to;
}

/* ---- the rest ---- */

static int disk_stat(struct file *f, struct file_stat *st)
{
    inode_stat(f->inode, st);
    return 0;
}

static long disk_ioctl(struct file *f, unsigned long req, vaddr_t arg)
{
    const struct block_volume *v = volume_of(f);

    switch (req) {
    case BLKGETSIZE64:
        return copyout_u64(arg, bytes_of(v));
    case BLKGETSIZE:
        return copyout_u64(arg, bytes_of(v) / BLOCK_SECTOR);
    case BLKSSZGET:
    case BLKPBSZGET:
    case BLKIOMIN:
        return copyout_u32(arg, v->disk->sector_bytes);
    case BLKIOOPT:
        return copyout_u32(arg, CHUNK);
    case BLKALIGNOFF:
        return copyout_u32(arg, 0);
    case BLKROGET:
        return copyout_u32(arg, v->disk->read_only);
    case BLKFLSBUF: /* the open files of a disk are root's, who may do this */
        return block_flush(v);
    default:
        return -ENOTTY;
    }
}

const struct file_ops disk_ops = {.name = "disk",
                                  .open = disk_open,
                                  .read = disk_read,
                                  .write = disk_write,
                                  .read_at = disk_read_at,
                                  .write_at = disk_write_at,
                                  .lseek = disk_lseek,
                                  .stat = disk_stat,
                                  .ioctl = disk_ioctl,
                                  .sync = disk_sync};

void disk_files_boot(void)
{
    char path[8 + BLOCK_NAME];

    for (unsigned minor = 0; minor < BLOCK_DISKS * BLOCK_VOLUMES; minor++) {
        const struct block_volume *v = block_volume(minor);
        int err;

        if (!v)
            continue;
        format(path, sizeof(path), "/dev/%s", v->name);
        err = tree_device(path, MODE, RDEV(BLOCK_DEVICE_MAJOR, minor));
        if (err)
            printk("%s: cannot be created (error %d)\n", path, err);
    }
}
