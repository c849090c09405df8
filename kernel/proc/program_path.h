/* The absolute path of the program that a process runs: one copy, which a process shares with the
 * children that it forks. */
#ifndef KERNEL_PROC_PROGRAM_PATH_H
#define KERNEL_PROC_PROGRAM_PATH_H

#include "kernel/base/types.h"

struct inode;
struct io_cred;

struct program_path { /* nonpaged pool, because samples are taken in interrupts */
    uint32_t refs;    /* atomic */
    uint32_t bytes;   /* of text, with its NUL; constant */
    char text[];      /* constant */
};

/* Look up the program at path, relative to dir (NULL: the root), with symbolic links followed. 0
 * with a reference to the inode in *out and one to the path under which it was found in *to; or a
 * negative errno. IPL 0; waits for directories. */
int program_lookup(const struct io_cred *cred, struct inode *dir, const char *path,
                   struct inode **out, struct program_path **to);
static inline const char *program_path_text(const struct program_path *path)
{
    return path ? path->text : "";
}
/* NULL is allowed, for a process that runs no program yet. Any IPL up to IPL_ASTDEL. */
struct program_path *program_path_ref(struct program_path *path);
void program_path_unref(struct program_path *path);

#endif
