/* Open directories: getdents64 and the position. Records are made in the kernel's memory, several
 * at a time, and copied out together, so that user memory is never touched with a directory locked.
 */
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/fs/notify.h"
#include "kernel/io/open_flags.h"
#include "kernel/io/tree.h"
#include "kernel/sched/freeze.h"
#include "mm/pool/pool_charged.h"

struct dirent64 { /* layout of Linux */
    uint64_t ino;
    int64_t off;
    uint16_t reclen;
    uint8_t type;
    char name[];
} __attribute__((packed, aligned(8)));

#define DIRENT_HEAD 19 /* bytes before the name */
#define OLD_HEAD    18 /* the same in the older layout, where the type is the record's last byte */
#define FIRST_QUADS 72 /* two names of the greatest length, or eighteen of eight bytes */
#define BATCH_BYTES PAGE_SIZE

/* The name, its NUL, and in the older layout the type. */
static size_t record_bytes(size_t name_len, bool old)
{
    return ((old ? OLD_HEAD + 1 : DIRENT_HEAD) + name_len + 1 + 7) & ~(size_t)7;
}

typedef uint64_t text_quad __attribute__((may_alias));
_Static_assert(offsetof(struct fs_entry, text) % 8 == 0, "the text is read by quadwords");

/* Make the record of an entry, of so many bytes, all of which are set. The name begins within the
 * third quadword, behind the length and, in the newer layout, the type: it is shifted to its place
 * by quadwords. Bytes of e behind the name are not copied. */
static void make_record(uint64_t *record, size_t bytes, const struct fs_entry *e, bool old)
{
    const text_quad *text = (const text_quad *)e->text;
    const text_quad *last = text + e->len / 8;
    unsigned shift = (old ? OLD_HEAD : DIRENT_HEAD) % 8 * 8;
    uint64_t type = (e->mode & S_IFMT) >> 12, end = *last & ~(~UINT64_C(0) << e->len % 8 * 8);
    uint64_t *to = record, before = bytes | (old ? 0 : type << 16);

    *to++ = e->ino;
    *to++ = e->cookie;
    for (; text < last; text++) {
        *to++ = before | *text << shift;
        before = *text >> (64 - shift);
    }
    *to++ = before | end << shift;
    if (to < record + bytes / 8)
        *to = end >> (64 - shift);
    if (old)
        ((uint8_t *)record)[bytes - 1] = (uint8_t)type;
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

/* The first entry after position pos. 0, -ENOENT at the end, or the file system's error. dir->lock
 * is held, at least shared. */
static int next_entry(struct inode *dir, uint64_t pos, struct fs_entry *e)
{
    if (!dir->parent)
        return -ENOENT; /* a removed directory has no entries */
    if (pos < 1)
        dot(e, dir, 1);
    else if (pos < 2)
        dot(e, dir->parent, 2);
    else
        return dir->ops->readdir(dir, pos, e);
    return 0;
}

/* Records of successive entries, made while the directory was locked once. Who reads a directory in
 * which others create names waits for these at each lock: at one lock for each entry, a directory
 * of 80,000 names took 80,000 such waits, and at two names of 200 characters 40,000. So what does
 * not fit on the stack is put into a buffer of the pool, if there is one to be had; a hold is of
 * 340 of the shortest names then. */
struct batch {
    size_t bytes;  /* of all records */
    uint64_t last; /* position after the last of them */
    uint64_t *quads;
    size_t room;      /* bytes there */
    uint16_t account; /* charged for them, if they are in nonpaged pool */
    bool ahead;       /* `next` has been read, and is to be the first record of the next batch */
    struct fs_entry next;
    uint64_t first[FIRST_QUADS];
};

static void batch_init(struct batch *b)
{
    b->quads = b->first;
    b->room = sizeof(b->first);
    b->ahead = false;
}

/* Make room for the records of many entries, `n` bytes of which can be used. */
static void batch_grow(struct batch *b, size_t n)
{
    uint64_t *quads;

    if (b->quads != b->first || n <= sizeof(b->first))
        return;
    b->account = pool_account();
    quads = npp_alloc_charged(BATCH_BYTES, b->account);
    if (!quads)
        return;
    b->quads = quads;
    b->room = BATCH_BYTES;
}

static void batch_end(struct batch *b)
{
    if (b->quads != b->first)
        npp_free_charged(b->quads, BATCH_BYTES, b->account);
}

/* Make records of b->next, if it is ahead, and of the entries after pos: at most n bytes. 0: there
 * may be more; -ENOENT: there are none after these; -EINVAL: n is less than the next record alone
 * takes; -EINTR; or the file system's error. */
static int read_batch(struct inode *dir, uint64_t pos, struct batch *b, size_t n, bool old)
{
    size_t room = MIN(n, b->room);
    int err = mutex_lock_shared_killable(&dir->lock);

    b->bytes = 0;
    if (err)
        return err;
    while (b->ahead || (err = next_entry(dir, pos, &b->next)) == 0) {
        size_t bytes = record_bytes(b->next.len, old);

        b->ahead = bytes > room - b->bytes;
        if (b->ahead) {
            err = b->bytes ? 0 : -EINVAL;
            break;
        }
        make_record(&b->quads[b->bytes / 8], bytes, &b->next, old);
        b->bytes += bytes;
        pos = b->last = b->next.cookie;
    }
    mutex_unlock_shared(&dir->lock);
    return err;
}

/* 0; -ENOENT: the directory was removed; -EINTR. */
static int check_kept(struct inode *dir)
{
    int err = mutex_lock_shared_killable(&dir->lock);

    if (err)
        return err;
    err = dir->parent ? 0 : -ENOENT;
    mutex_unlock_shared(&dir->lock);
    return err;
}

/* Copy the records of b to ubuf + *done, and count them there and in *pos. 0; -EFAULT: *done and
 * *pos tell of those that were copied. */
static long copy_batch(const struct batch *b, vaddr_t ubuf, size_t *done, uint64_t *pos)
{
    vaddr_t to = ubuf + *done;

    if (b->bytes == 0)
        return 0;
    if (likely(copyout(to, b->quads, b->bytes) == 0)) {
        *done += b->bytes;
        *pos = b->last;
        return 0;
    }
    for (size_t at = 0; at < b->bytes;) { /* those before the page that is not there */
        const struct dirent64 *d = (const struct dirent64 *)&b->quads[at / 8];
        long err = copyout(ubuf + *done, d, d->reclen);

        if (err)
            return err;
        at += d->reclen;
        *done += d->reclen;
        *pos = (uint64_t)d->off;
    }
    return 0;
}

/* The position is loaded and stored once each, atomically: two threads that read one open directory
 * at the same time may both get an entry, but never a torn position. */
static long directory_getdents(struct file *f, vaddr_t ubuf, size_t n, bool old)
{
    uint64_t pos = (uint64_t)__atomic_load_n(&f->pos, __ATOMIC_RELAXED);
    struct batch b;
    size_t done = 0;
    long err = 0;

    batch_init(&b);
    while (!err) {
        long end = read_batch(f->inode, pos, &b, n - done, old);

        err = copy_batch(&b, ubuf, &done, &pos);
        if (!err)
            err = end ? end : sched_loop_point() ? -EINTR : 0;
        if (!err)
            batch_grow(&b, n - done);
    }
    batch_end(&b);
    __atomic_store_n(&f->pos, (int64_t)pos, __ATOMIC_RELAXED);
    if (done)
        inode_accessed(f->inode);
    if (!done && err == -ENOENT)
        err = check_kept(f->inode);
    if (done || !err)
        notify(f->inode, IN_ACCESS);
    return done ? (long)done : err;
}

static int64_t directory_lseek(struct file *f, int64_t off, int whence)
{
    int64_t to = mutex_lock_killable(&f->inode->lock);

    if (to)
        return to;
    to = -EINVAL;
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
