/*
 * Locks of files: ranges locked by processes (fcntl) and by open files (open-file-description
 * locks), and whole files locked by open files (flock). The first two see each other, the third is
 * apart. They are advisory: reading and writing ask nobody.
 *
 * An owner is an address: of the descriptor table for a process's locks, of the open file
 * otherwise. All functions: IPL 0, no mutex held.
 */
#ifndef KERNEL_IO_LOCK_H
#define KERNEL_IO_LOCK_H

#include "kernel/fs/inode.h"
#include "kernel/io/lock_range.h"

enum lock_family { LOCK_POSIX, LOCK_OPEN_FILE, LOCK_FLOCK };

/* Set or, with LOCK_NONE, remove a lock. With `wait`, wait until it can be granted. 0; -EAGAIN:
 * another owner has it; -EDEADLK: that owner waits, directly or through others, for the caller
 * (only LOCK_POSIX); -ENOLCK: no memory, or as many as USER_LOCKS allows; -ERESTARTSYS. Nothing
 * has changed on an error, but that flock loses the lock that it was to convert, and that who is to
 * end may have lost a part of the ranges that it had there. */
int lock_set(struct inode *i, enum lock_family family, const struct lock_range *want, bool wait);
/* The lock that prevents `want`, copied to *found. False: there is none. */
bool lock_test(struct inode *i, const struct lock_range *want, struct lock_range *found);
/* Does anybody hold or want a lock of i? Cheap; for the callers of the next. */
static inline bool lock_any(const struct inode *i)
{
    return unlikely(__atomic_load_n(&i->locks, __ATOMIC_ACQUIRE) != NULL);
}
/* Remove all locks of an owner that ends: of a process that closes a descriptor of the file, of an
 * open file that is closed for the last time. */
void lock_release(struct inode *i, const void *owner);

#endif
