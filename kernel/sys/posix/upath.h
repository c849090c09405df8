/* Copies of paths from user memory, for system calls that take paths. IPL 0, no locks held. */
#ifndef KERNEL_SYS_POSIX_UPATH_H
#define KERNEL_SYS_POSIX_UPATH_H

#include "kernel/io/tree.h"
#include "kernel/proc/fdtable.h"

#define AT_FDCWD            (-100)
#define AT_SYMLINK_NOFOLLOW 0x100u
#define AT_EACCESS          0x200u
#define AT_REMOVEDIR        0x200u
#define AT_SYMLINK_FOLLOW   0x400u
#define AT_NO_AUTOMOUNT     0x800u
#define AT_EMPTY_PATH       0x1000u

#define CHECKED_FLAGS(flags, known) ((flags) & ~(uint64_t)(known))

/* A path from user memory and the directory at which it starts. Most paths are short: they are kept
   in the structure. Longer ones take paged pool: PATH_LONG bytes, or PATH_MAX. */
#define PATH_FEW 96u
struct upath {
    /* NULL: the root. The descriptor or working directory keeps it during the call. */
    struct inode *dir;
    /* Which of dir (1) and cred.root (2) has a reference of its own, since other threads may change
       descriptors, the working directory and the root. */
    unsigned counted;
    char *text;  /* in few, or `large` */
    char *large; /* nbytes of paged pool, or NULL */
    unsigned nbytes;
    struct io_cred cred;
    /* The path is as far from a multiple of 8 as it was in user memory: copied by quadwords. */
    char few[PATH_FEW + 8] __attribute__((aligned(8)));
};

/* Copy a path in and find the directory at which it starts: the root, or that of dirfd. 0: the
   caller must call path_end(). -EFAULT, -ENAMETOOLONG, -ENOMEM, -EBADF, -ENOTDIR: nothing is left
   allocated. May wait for paged pool. */
int path_begin(struct upath *u, uint64_t dirfd, vaddr_t upath);
/* The same; in_dir: an absolute path has a directory, too, which must be there (openat2). */
int path_begin_in(struct upath *u, uint64_t dirfd, vaddr_t upath, bool in_dir);
/* Free the copy, and drop the reference to the directory if there is one. */
void path_free(struct upath *u);
/* The same; most paths have neither. */
static inline void path_end(struct upath *u)
{
    if (unlikely(u->large || u->counted))
        path_free(u);
}
/* Resolve a path from user memory; *out has a reference, which the caller drops. `follow`: follow a
   symbolic link at its end. 0 or a negative errno. May wait. */
int path_lookup(uint64_t dirfd, vaddr_t upath, bool follow, struct inode **out);

/* The same with AT_SYMLINK_NOFOLLOW and AT_EMPTY_PATH: an empty path then stands for dirfd itself,
   and *file, which the caller puts back by fd_put(), is what was opened if it has no inode (a
   pipe); then *out is NULL. Otherwise *file is empty. */
int path_lookup_at(uint64_t dirfd, vaddr_t upath, uint64_t flags, struct inode **out,
                   struct fd_use *file);

#endif
