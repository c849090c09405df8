/*
 * The initrd's archive becomes the tree. Nothing is copied: a file's pages are filled from the
 * archive when they are first wanted, so the initrd's memory stays as it is.
 *
 * A hostile archive may name anything: names with .. and names through symbolic links are refused,
 * missing directories above a file are made, a name that comes twice keeps its first meaning. What
 * is refused is named on the console, at most REFUSALS_SHOWN times; the boot goes on.
 */
#include "kernel/base/cpio.h"
#include "kernel/base/errno.h"
#include "kernel/base/printk.h"
#include "kernel/base/string.h"
#include "kernel/io/io_private.h"
#include "kernel/io/open_flags.h"

#define REFUSALS_SHOWN 8
#define PARENT_MAX     512 /* longest path of a directory above a file */
#define LINK_MAX       255 /* longest target of a symbolic link in the archive */

static const struct io_cred superuser = {0, 0};
static unsigned refusals; /* boot only */

static void refuse(const char *name, const char *why)
{
    if (refusals++ < REFUSALS_SHOWN)
        printk("initrd: %s: %s, left out\n", name, why);
}

/* "a/b", "/a/b", "./a/b"; no empty, . or .. component. Returns the name without its prefix; NULL:
 * refused. */
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

/* Directories above path. A component that is there and no directory is an error, also a link to
 * one. */
static int make_parents(const char *path)
{
    char part[PARENT_MAX];
    int err = 0;

    if (strlen(path) >= sizeof(part))
        return -ENAMETOOLONG;
    for (const char *slash = strchr(path, '/'); slash && !err; slash = strchr(slash + 1, '/')) {
        struct inode *i;

        str_copy(part, path, (size_t)(slash - path) + 1);
        err = tree_lookup(&superuser, NULL, part, false, &i);
        if (err == -ENOENT)
            err = tree_create(&superuser, NULL, part, S_IFDIR | 0755, true, &i);
        if (err)
            break;
        if ((i->mode & S_IFMT) != S_IFDIR)
            err = -ENOTDIR;
        inode_unref(i);
    }
    return err;
}

static int add_entry(const struct cpio_entry *e, const char *path)
{
    uint32_t type = e->mode & S_IFMT;
    struct inode *i;
    int err = make_parents(path);

    if (err)
        return err;
    if (type == S_IFLNK) {
        char target[LINK_MAX + 1];

        if (e->nbytes >= sizeof(target) || memchr(e->data, '\0', e->nbytes))
            return -EINVAL;
        memcpy(target, e->data, e->nbytes);
        target[e->nbytes] = '\0';
        return tree_symlink(&superuser, NULL, path, target);
    }
    if (type != S_IFREG && type != S_IFDIR)
        return -EINVAL;
    err = tree_create(&superuser, NULL, path, type | (e->mode & 07777), true, &i);
    if (err == -EEXIST && type == S_IFDIR)
        return 0;
    if (err)
        return err;
    i->uid = e->uid;
    i->gid = e->gid;
    i->mtime_ns = (uint64_t)e->mtime * 1000000000;
    if (type == S_IFREG) {
        i->backing = e->data;
        i->backing_bytes = e->nbytes;
        inode_set_size_locked(i, e->nbytes);
    }
    inode_unref(i);
    return 0;
}

void initrd_boot(const void *archive, uint64_t nbytes)
{
    struct cpio c;
    struct cpio_entry e;
    unsigned files = 0;

    cpio_open(&c, archive, nbytes);
    while (cpio_next(&c, &e)) {
        const char *path = plain_name(e.name);
        int err;

        if (!strcmp(e.name, ".") || (path && !*path))
            continue; /* the root itself */
        err = path ? add_entry(&e, path) : -EINVAL;
        if (err)
            refuse(e.name, err == -EEXIST   ? "comes twice"
                           : err == -ENOMEM ? "no memory"
                                            : "no name or file that can be");
        else
            files++;
    }
    if (c.damaged)
        printk("initrd: the archive is damaged or cut short; %u files before that are there\n",
               files);
    if (refusals > REFUSALS_SHOWN)
        printk("initrd: %u entries left out\n", refusals);
}
