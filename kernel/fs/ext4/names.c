/* The operations of inodes, and those of them that look names up, list them and follow them. */
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/fs/ext4/private.h"
#include "mm/pool/pool.h"

static int ext4_lookup(struct inode *dir, const struct fs_name *name, struct inode **out)
{
    struct ext4_inode *d = ext4_inode_of(dir);
    struct ext4 *m = d->mount;
    uint32_t number;
    int err = mutex_lock_killable(&m->mutex);

    if (err)
        return err;
    err = ext4_find_name(m->volume, &d->node, name->text, name->len, &number);
    if (!err)
        err = ext4_found(m, dir, name, number, out);
    mutex_unlock(&m->mutex);
    return err;
}

static int ext4_readdir(struct inode *dir, uint64_t pos, struct fs_entry *to)
{
    struct ext4_inode *d = ext4_inode_of(dir);
    struct ext4 *m = d->mount;
    struct ext4_name found;
    int err = mutex_lock_killable(&m->mutex);

    if (err)
        return err;
    err = ext4_next_name(m->volume, &d->node, pos, &found);
    mutex_unlock(&m->mutex);
    if (err)
        return err;
    to->ino = found.number;
    to->cookie = found.place;
    to->mode = (uint32_t)found.type << 12;
    to->len = found.len;
    memcpy(to->text, found.text, found.len);
    to->text[found.len] = '\0';
    return 0;
}

/* The text of a link, of up to `most` bytes. -ENAMETOOLONG: it is longer. */
static long read_link(struct inode *in, char *buf, size_t most)
{
    struct ext4_inode *i = ext4_inode_of(in);
    long len = mutex_lock_killable(&i->mount->mutex);

    if (!len) {
        len = ext4_read_link(i->mount->volume, &i->node, buf, most);
        mutex_unlock(&i->mount->mutex);
    }
    return len;
}

static long ext4_readlink(struct inode *in, char *buf, size_t n)
{
    char *text;
    long len = read_link(in, buf, MIN(n, PATH_MAX - 1));

    if (len != -ENAMETOOLONG || n >= PATH_MAX - 1)
        return len;
    text = pgd_alloc(PATH_MAX);
    if (!text)
        return -ENOMEM;
    len = read_link(in, text, PATH_MAX - 1);
    if (len > 0) {
        len = (long)MIN((size_t)len, n);
        memcpy(buf, text, (size_t)len);
    }
    pgd_free(text, PATH_MAX);
    return len;
}

/* The root's name is where it is mounted (kernel/io/tree_path.c). */
static int ext4_name_of(struct inode *dir, struct fs_entry *to)
{
    const struct ext4_inode *i = ext4_inode_of(dir);

    if (!i->name)
        return -ENOENT;
    to->len = i->name_len;
    memcpy(to->text, i->name, i->name_len);
    to->text[i->name_len] = '\0';
    return 0;
}

/* Who made the disk's contents gives nobody access to devices of this machine. */
static int ext4_open(struct inode *i, bool write)
{
    uint32_t type = i->mode & S_IFMT;

    if (type == S_IFCHR || type == S_IFBLK)
        return -EACCES;
    if (type != S_IFREG)
        return 0;
    if (write && i->fs->read_only)
        return -EROFS;
    return i->size > INODE_MAX_BYTES ? -EFBIG : 0;
}

const struct inode_ops ext4_ops = {
    .lookup = ext4_lookup,
    .create = ext4_op_create,
    .link = ext4_op_link,
    .unlink = ext4_op_unlink,
    .rename = ext4_op_rename,
    .exchange = ext4_op_exchange,
    .create_unnamed = ext4_op_create_unnamed,
    .readdir = ext4_readdir,
    .name_of = ext4_name_of,
    .readlink = ext4_readlink,
    .open = ext4_open,
    .change = ext4_op_change,
    .will_read = ext4_will_read,
    .write = ext4_op_write,
    .resize = ext4_op_resize,
    .allocate = ext4_op_allocate,
    .discard = ext4_op_discard,
    .sync = ext4_op_sync,
    .end = ext4_end,
};
