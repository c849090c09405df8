#include "kernel/proc/program_path.h"

#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/io/tree.h"
#include "mm/pool/pool.h"

static int copy_of(const char *text, struct program_path **to)
{
    size_t bytes = strlen(text) + 1;
    struct program_path *path = npp_alloc(sizeof(*path) + bytes);

    if (!path)
        return -ENOMEM;
    path->refs = 1;
    path->bytes = (uint32_t)bytes;
    memcpy(path->text, text, bytes);
    *to = path;
    return 0;
}

/* program_lookup() with the path in buf, of n bytes. -ENAMETOOLONG or -ERANGE: it may be too
   small. */
static int lookup_in(const struct io_cred *cred, struct inode *dir, const char *path,
                     struct inode **out, struct program_path **to, char *buf, size_t n)
{
    const char *text;
    int err = tree_lookup_path(cred, dir, path, out, &text, buf, n);

    if (!err) {
        err = copy_of(text, to);
        if (err)
            inode_unref(*out);
    }
    return err;
}

/* Most paths are short, and take no paged pool. */
int program_lookup(const struct io_cred *cred, struct inode *dir, const char *path,
                   struct inode **out, struct program_path **to)
{
    char few[96], *buf;
    int err = lookup_in(cred, dir, path, out, to, few, sizeof(few));

    if (likely(err != -ENAMETOOLONG && err != -ERANGE))
        return err;
    buf = pgd_alloc(PATH_MAX);
    if (!buf)
        return -ENOMEM;
    err = lookup_in(cred, dir, path, out, to, buf, PATH_MAX);
    pgd_free(buf, PATH_MAX);
    return err;
}

struct program_path *program_path_ref(struct program_path *path)
{
    if (path)
        __atomic_fetch_add(&path->refs, 1, __ATOMIC_RELAXED);
    return path;
}

void program_path_unref(struct program_path *path)
{
    if (path && __atomic_fetch_sub(&path->refs, 1, __ATOMIC_ACQ_REL) == 1)
        npp_free(path, sizeof(*path) + path->bytes);
}
