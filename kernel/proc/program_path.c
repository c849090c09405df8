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

int program_lookup(const struct io_cred *cred, struct inode *dir, const char *path,
                   struct inode **out, struct program_path **to)
{
    char *buf = pgd_alloc(PATH_MAX);
    int err;

    if (!buf)
        return -ENOMEM;
    err = tree_lookup_path(cred, dir, path, out, buf, PATH_MAX);
    if (!err) {
        err = copy_of(buf, to);
        if (err)
            inode_unref(*out);
    }
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
