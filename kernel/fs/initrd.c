/*
 * The initrd: adds the names of a cpio archive to a memory file system. Nothing is copied: a file's
 * pages are filled from the archive at their first use, so the initrd's memory stays allocated.
 *
 * The archive may be hostile. Names with .. and names that lead through symbolic links are refused,
 * missing directories above a file are created, and of a name that occurs twice the first
 * occurrence counts. Refused entries are reported on the console, the first REFUSALS_SHOWN of them,
 * and the boot continues.
 */
#include "kernel/fs/initrd.h"

#include "kernel/base/cpio.h"
#include "kernel/base/errno.h"
#include "kernel/base/printk.h"
#include "kernel/base/string.h"
#include "kernel/fs/memfs.h"

#define REFUSALS_SHOWN 8
#define PATH_LONGEST   512 /* bytes of an entry's path; bounds the directories that it creates */
#define LINK_MAX       255 /* bytes of the longest target of a symbolic link in the archive */

static unsigned refusals; /* boot only */

static void refuse(const char *name, const char *why)
{
    if (refusals++ < REFUSALS_SHOWN)
        printk("initrd: %s: %s, left out\n", name, why);
}

/* Check a name such as "a/b", "/a/b" or "./a/b", which has no empty, . or .. component. Returns the
 * name without the prefix; NULL: refused. */
static const char *plain_name(const char *name)
{
    const char *p;

    while (*name == '/' || (name[0] == '.' && name[1] == '/'))
        name += *name == '/' ? 1 : 2;
    for (p = name; *p;) {
        const char *end = strchr(p, '/');
        size_t n = end ? (size_t)(end - p) : strlen(p);

        if (n == 0 || n > NAME_MAX || (n == 1 && p[0] == '.') ||
            (n == 2 && p[0] == '.' && p[1] == '.'))
            return NULL;
        p += n;
        if (*p == '/')
            p++;
    }
    return name;
}

/* Look up a name in dir, or create it as `what` describes if it does not exist (*made is then
 * true). *out gets a reference. */
static int look(struct inode *dir, const char *text, size_t len, const struct fs_new *what,
                struct inode **out, bool *made)
{
    struct fs_name name = fs_name(text, len);
    int err;

    mutex_lock(&dir->lock);
    err = dir->ops->lookup(dir, &name, out);
    *made = err == -ENOENT;
    if (*made)
        err = dir->ops->create(dir, &name, what, out);
    mutex_unlock(&dir->lock);
    return err;
}

/* Walk the directories above path, and create those that are missing. A component that exists and
 * is not a directory, for example a symbolic link to one, is an error. *path becomes the last
 * component, and *out its directory with a reference, also on error. */
static int parents(struct inode *root, const char **path, struct inode **out)
{
    const char *slash;
    int err = 0;

    inode_ref(root);
    *out = root;
    while (!err && (slash = strchr(*path, '/')) && slash[1]) {
        struct inode *next;
        bool made;

        err = look(*out, *path, (size_t)(slash - *path), &(struct fs_new){.mode = S_IFDIR | 0755},
                   &next, &made);
        *path = slash + 1;
        if (err)
            break;
        inode_unref(*out);
        *out = next;
        if (!inode_is_dir(next))
            err = -ENOTDIR;
    }
    return err;
}

static int add_to(struct inode *dir, const char *name, const struct cpio_entry *e)
{
    uint32_t type = e->mode & S_IFMT;
    char target[LINK_MAX + 1];
    struct fs_new what = {
        .mode = type | (e->mode & 07777), .uid = e->uid, .gid = e->gid, .target = target};
    size_t len = strlen(name);
    struct inode *i;
    bool made;
    int err;

    if (type == S_IFLNK) {
        if (e->nbytes == 0 || e->nbytes >= sizeof(target) || memchr(e->data, '\0', e->nbytes))
            return -EINVAL;
        memcpy(target, e->data, e->nbytes);
        target[e->nbytes] = '\0';
        what.mode = S_IFLNK | 0777;
    } else if (type != S_IFREG && type != S_IFDIR) {
        return -EINVAL;
    }
    if (name[len - 1] == '/') {
        if (type != S_IFDIR)
            return -EISDIR;
        len--;
    }
    err = look(dir, name, len, &what, &i, &made);
    if (err)
        return err;
    if (made) {
        inode_changed_at(i, (int64_t)e->mtime * 1000000000);
        if (type == S_IFREG)
            memfs_set_backing(i, e->data, e->nbytes);
    }
    inode_unref(i);
    return made || type == S_IFDIR ? 0 : -EEXIST;
}

static int add_entry(struct inode *root, const struct cpio_entry *e, const char *path)
{
    struct inode *dir;
    int err;

    if (strlen(path) >= PATH_LONGEST)
        return -ENAMETOOLONG;
    err = parents(root, &path, &dir);
    if (!err)
        err = add_to(dir, path, e);
    inode_unref(dir);
    return err;
}

void initrd_boot(struct inode *root, const void *archive, uint64_t nbytes)
{
    struct cpio c;
    struct cpio_entry e;
    unsigned files = 0;

    cpio_open(&c, archive, nbytes);
    while (cpio_next(&c, &e)) {
        const char *path = plain_name(e.name);
        int err;

        if (!strcmp(e.name, ".") || (path && !*path))
            continue; /* the entry is the root itself */
        err = path ? add_entry(root, &e, path) : -EINVAL;
        if (err)
            refuse(e.name, err == -EEXIST   ? "duplicate name"
                           : err == -ENOMEM ? "no memory"
                                            : "invalid name or unsupported type");
        else
            files++;
    }
    if (c.damaged)
        printk("initrd: the archive is damaged or truncated; %u entries before that were added\n",
               files);
    if (refusals > REFUSALS_SHOWN)
        printk("initrd: %u entries left out\n", refusals);
}
