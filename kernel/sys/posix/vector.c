/*
 * Reading and writing with vectors of buffers, and at an offset. The vector is copied in once and
 * checked as a whole, because others may change it meanwhile. Each buffer is one read or write, but
 * to a socket the vector is one message.
 */
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/io/open_flags.h"
#include "kernel/net/socket.h"
#include "kernel/proc/fdtable.h"
#include "kernel/proc/process.h"
#include "kernel/sys/posix/file.h"
#include "kernel/sys/posix/socket.h"
#include "mm/pool/pool.h"

#define IOV_MAX 1024u
#define IOV_FEW 16u /* buffers that need no allocation */

/* Flags of preadv2 and pwritev2. Files are in memory, so the first three ask for what is done
 * anyway. */
#define RWF_HIPRI   1u
#define RWF_DSYNC   2u
#define RWF_SYNC    4u
#define RWF_APPEND  0x10u
#define RWF_IGNORED (RWF_HIPRI | RWF_DSYNC | RWF_SYNC)

struct iovec {
    uint64_t base, nbytes;
};

/* What to do with each buffer: `one` at the file's position, or `at` at an offset. */
struct transfer {
    long (*one)(uint64_t fd, uint64_t buf, uint64_t n);
    long (*at)(uint64_t fd, uint64_t buf, uint64_t n, uint64_t offset);
    uint64_t offset;
};

/* Check a vector that was copied in: its length must not overflow. */
static long iov_check(const struct iovec *v, uint64_t count)
{
    uint64_t sum = 0;

    for (uint64_t k = 0; k < count; k++) {
        if (v[k].nbytes > INT64_MAX - sum)
            return -EINVAL;
        sum += v[k].nbytes;
    }
    return 0;
}

/* Make the transfer for each buffer of a vector. */
static long vector_each(uint64_t fd, const struct iovec *v, uint64_t count,
                        const struct transfer *how)
{
    long done = 0;

    for (uint64_t k = 0; k < count && done < (long)IO_MAX; k++) {
        uint64_t n = MIN(v[k].nbytes, IO_MAX - (uint64_t)done);
        long r;

        if (!v[k].nbytes)
            continue;
        r = how->one ? how->one(fd, v[k].base, n)
                     : how->at(fd, v[k].base, n, how->offset + (uint64_t)done);
        if (r < 0)
            return done ? done : r;
        done += r;
        if ((uint64_t)r < v[k].nbytes)
            break;
    }
    return done;
}

static long vector_call(uint64_t fd, vaddr_t iov, uint64_t count, const struct transfer *how)
{
    struct iovec few[IOV_FEW], *v = few;
    struct fd_use use;
    bool message;
    long r;

    if (count > IOV_MAX)
        return -EINVAL;
    use = fd_get(process_self()->files, fd);
    message = use.file && socket_of(use.file) && (how->one == sys_read || how->one == sys_write);
    fd_put(use);
    if (!use.file)
        return -EBADF;
    if (count > IOV_FEW && !(v = pgd_alloc(count * sizeof(*v))))
        return -ENOMEM;
    r = copyin(v, iov, count * sizeof(*v)) ? -EFAULT : iov_check(v, count);
    if (!r)
        r = message ? message_vector(fd, v, (uint32_t)count, how->one == sys_write)
                    : vector_each(fd, v, count, how);
    if (v != few)
        pgd_free(v, count * sizeof(*v));
    return r;
}

long sys_readv(uint64_t fd, uint64_t iov, uint64_t count)
{
    return vector_call(fd, iov, count, &(struct transfer){.one = sys_read});
}

long sys_writev(uint64_t fd, uint64_t iov, uint64_t count)
{
    return vector_call(fd, iov, count, &(struct transfer){.one = sys_write});
}

/* The offset is one word, the low one of two. The first byte of a vector without bytes is asked for
 * nothing, but the file must have a position. */
static long vector_at(uint64_t fd, vaddr_t iov, uint64_t count, uint64_t offset,
                      long (*at)(uint64_t, uint64_t, uint64_t, uint64_t))
{
    long r;

    if ((int64_t)offset < 0)
        return -EINVAL;
    r = at(fd, 0, 0, offset);
    return r < 0 ? r : vector_call(fd, iov, count, &(struct transfer){.at = at, .offset = offset});
}

long sys_preadv(uint64_t fd, uint64_t iov, uint64_t count, uint64_t offset)
{
    return vector_at(fd, iov, count, offset, sys_pread64);
}

long sys_pwritev(uint64_t fd, uint64_t iov, uint64_t count, uint64_t offset)
{
    return vector_at(fd, iov, count, offset, sys_pwrite64);
}

long sys_preadv2(uint64_t fd, uint64_t iov, uint64_t count, uint64_t offset, uint64_t high,
                 uint64_t flags)
{
    (void)high;
    if (flags & ~(uint64_t)RWF_IGNORED)
        return -EOPNOTSUPP;
    return (int64_t)offset == -1 ? sys_readv(fd, iov, count) : sys_preadv(fd, iov, count, offset);
}

long sys_pwritev2(uint64_t fd, uint64_t iov, uint64_t count, uint64_t offset, uint64_t high,
                  uint64_t flags)
{
    (void)high;
    if (flags & ~(uint64_t)(RWF_IGNORED | RWF_APPEND))
        return -EOPNOTSUPP;
    if (flags & RWF_APPEND)
        return vector_call(fd, iov, count, &(struct transfer){.one = file_write_at_end});
    return (int64_t)offset == -1 ? sys_writev(fd, iov, count) : sys_pwritev(fd, iov, count, offset);
}
