/* Where one side of a copy inside the kernel reads or writes: at an offset, or at its file's
 * position. For the calls of copy.c and splice.c. */
#ifndef KERNEL_SYS_POSIX_SIDE_H
#define KERNEL_SYS_POSIX_SIDE_H

#include "kernel/io/file.h"
#include "kernel/io/open_flags.h"

struct side {
    struct file *file;
    bool at;
    uint64_t offset;
};

static inline bool can_read(const struct file *f)
{
    return !(f->flags & O_PATH) && (f->flags & O_ACCMODE) != O_WRONLY;
}
static inline bool can_write(const struct file *f)
{
    return !(f->flags & O_PATH) && (f->flags & O_ACCMODE) != O_RDONLY;
}

/* The start of a side: from the user's word, or (offset 0) the file's position. 0, -EFAULT,
 * -EINVAL. */
long side_begin(struct side *s, struct file *f, vaddr_t offset);
/* Put the position after the bytes that were read or written at it. 0 or -EFAULT. */
int side_end(const struct side *s, vaddr_t offset);
/* Read from a regular file at s->offset, and advance it. */
long side_read(struct side *s, void *buf, size_t n);
/* Write at s->offset, or at the file's position. */
long side_write(struct side *s, const void *buf, size_t n);

#endif
