/* Paths of user memory, for the calls that take them. */
#ifndef KERNEL_SYS_POSIX_UPATH_H
#define KERNEL_SYS_POSIX_UPATH_H

#include "kernel/io/tree.h"

#define AT_FDCWD            (-100)
#define AT_SYMLINK_NOFOLLOW 0x100u

/* A path of user memory and where it begins. */
struct upath {
    struct inode
        *dir;     /* NULL: the root. The descriptor or working directory holds it for the call */
    bool counted; /* it has a reference for the call, as others may change these */
    char *text;   /* PATH_MAX bytes of paged pool */
    struct io_cred cred;
};

/* Copy it in; relative to dirfd. On success path_end is the caller's to call; on an error nothing
 * is left. */
int path_begin(struct upath *u, uint64_t dirfd, vaddr_t upath);
void path_end(struct upath *u);
/* The inode that it names, with a reference. */
int path_lookup(uint64_t dirfd, vaddr_t upath, bool follow, struct inode **out);

#endif
