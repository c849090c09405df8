/* Extended attributes: no file system here keeps any. The calls check their arguments as on Linux,
 * find the file, and say so; a list is empty. */
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/io/open_flags.h"
#include "kernel/io/tree.h"
#include "kernel/proc/process.h"
#include "kernel/sys/posix/path.h"
#include "kernel/sys/posix/upath.h"

#define XATTR_NAME_MAX 255u
#define XATTR_SIZE_MAX 65536u
#define XATTR_REPLACE  2u /* or XATTR_CREATE, which is 1 */

/* Is a name given, and of a length that a name can have? */
static int name_in(vaddr_t uname)
{
    char name[XATTR_NAME_MAX + 1];
    long n = copyin_str(name, uname, sizeof(name));

    if (n == -ENAMETOOLONG || n == 0)
        return -ERANGE;
    return n < 0 ? (int)n : 0;
}

static int set_args(vaddr_t name, vaddr_t value, uint64_t n, uint64_t flags)
{
    int err;
    char byte;

    if (flags > XATTR_REPLACE)
        return -EINVAL;
    err = name_in(name);
    if (err)
        return err;
    if (n > XATTR_SIZE_MAX)
        return -E2BIG;
    return n && copyin(&byte, value, 1) ? -EFAULT : 0;
}

static long of_path(vaddr_t path, bool follow, long answer)
{
    struct inode *i;
    int err = path_lookup((uint64_t)AT_FDCWD, path, follow, &i);

    if (err)
        return err;
    inode_unref(i);
    return answer;
}

static long of_file(uint64_t fd, long answer)
{
    struct fd_use u = fd_get(process_self()->files, fd);
    bool open = u.file && !(u.file->flags & O_PATH);

    fd_put(u);
    return open ? answer : -EBADF;
}

long sys_setxattr(uint64_t path, uint64_t name, uint64_t value, uint64_t n, uint64_t flags)
{
    int err = set_args(name, value, n, flags);

    return err ? err : of_path(path, true, -EOPNOTSUPP);
}

long sys_lsetxattr(uint64_t path, uint64_t name, uint64_t value, uint64_t n, uint64_t flags)
{
    int err = set_args(name, value, n, flags);

    return err ? err : of_path(path, false, -EOPNOTSUPP);
}

long sys_fsetxattr(uint64_t fd, uint64_t name, uint64_t value, uint64_t n, uint64_t flags)
{
    long err = of_file(fd, 0);

    if (!err)
        err = set_args(name, value, n, flags);
    return err ? err : -EOPNOTSUPP;
}

/* getxattr and removexattr have the same errors. */
long sys_getxattr(uint64_t path, uint64_t name)
{
    int err = name_in(name);

    return err ? err : of_path(path, true, -EOPNOTSUPP);
}

long sys_lgetxattr(uint64_t path, uint64_t name)
{
    int err = name_in(name);

    return err ? err : of_path(path, false, -EOPNOTSUPP);
}

long sys_fgetxattr(uint64_t fd, uint64_t name)
{
    long err = of_file(fd, 0);

    if (!err)
        err = name_in(name);
    return err ? err : -EOPNOTSUPP;
}

long sys_listxattr(uint64_t path) { return of_path(path, true, 0); }

long sys_llistxattr(uint64_t path) { return of_path(path, false, 0); }

long sys_flistxattr(uint64_t fd) { return of_file(fd, 0); }
