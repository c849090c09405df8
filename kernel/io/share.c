/* Mounting a folder of the host, at boot. */
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/fs/ninep/ninep.h"
#include "kernel/io/tree.h"

/* Create the directories of an absolute path that are missing. */
static int make_directories(char *path)
{
    for (char *p = path + 1;; p++) {
        char c = *p;
        int err;

        if (c && c != '/')
            continue;
        *p = '\0';
        err = tree_create(&(struct io_cred){0}, NULL, path, S_IFDIR | 0755, true, NULL);
        *p = c;
        if (err && err != -EEXIST)
            return err;
        if (!c)
            return 0;
    }
}

int tree_mount_share(const char *tag, char *path)
{
    struct fs *fs;
    size_t n = strlen(path);
    const char *name;
    int err;

    while (n > 1 && path[n - 1] == '/')
        path[--n] = '\0';
    if (path[0] != '/' || n < 2)
        return -EINVAL;
    err = make_directories(path);
    if (err)
        return err;
    name = path + n;
    while (name[-1] != '/')
        name--;
    err = ninep_fs_create(tag, name, &fs);
    return err ? err : tree_mount(&(struct io_cred){0}, NULL, path, fs);
}
