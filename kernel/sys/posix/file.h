/* System calls on descriptors; the comments give the Linux/Alpha numbers. All return a result or a
   negative errno. IPL 0, no locks held; most may wait. */
#ifndef KERNEL_SYS_POSIX_FILE_H
#define KERNEL_SYS_POSIX_FILE_H

#include "kernel/sys/posix/time.h"

long sys_read(uint64_t fd, uint64_t buf, uint64_t n);       /* 3 */
long sys_write(uint64_t fd, uint64_t buf, uint64_t n);      /* 4 */
long sys_close(uint64_t fd);                                /* 6 */
long sys_lseek(uint64_t fd, uint64_t off, uint64_t whence); /* 19 */
long sys_dup(uint64_t fd);                                  /* 41 */
long sys_ioctl(uint64_t fd, uint64_t req, uint64_t arg);    /* 54 */
long sys_getdtablesize(void);                               /* 89 */
long sys_dup2(uint64_t fd, uint64_t to);                    /* 90 */
long sys_fcntl(uint64_t fd, uint64_t cmd, uint64_t arg);    /* 92 */
long sys_fdatasync(uint64_t fd);                            /* 447 */
long sys_fsync(uint64_t fd);                                /* 95 */
struct file;

#define IO_MAX 0x7FFFE000ul /* most bytes of one call, as on Linux: fits into an int */

/* The pipe or socket has no reader: send SIGPIPE to the calling thread, and return -EPIPE. */
long broken_pipe(void);
/* As write with O_APPEND set. */
long file_write_at_end(uint64_t fd, uint64_t buf, uint64_t n);

long sys_sync(void);                                                                /* 36 */
long sys_fstatfs(uint64_t fd, uint64_t to);                                         /* 329 */
long sys_fstatfs64(uint64_t fd, uint64_t n, uint64_t to);                           /* 529 */
long sys_readahead(uint64_t fd);                                                    /* 379 */
long sys_fadvise64(uint64_t fd, uint64_t offset, uint64_t n, uint64_t advice);      /* 413 */
long sys_sync_file_range(uint64_t fd, uint64_t offset, uint64_t n, uint64_t flags); /* 469 */
long sys_syncfs(uint64_t fd);                                                       /* 500 */
long sys_readv(uint64_t fd, uint64_t iov, uint64_t count);                          /* 120 */
long sys_writev(uint64_t fd, uint64_t iov, uint64_t count);                         /* 121 */
long sys_ftruncate(uint64_t fd, uint64_t size);                                     /* 130 */
long sys_pread64(uint64_t fd, uint64_t buf, uint64_t n, uint64_t offset);           /* 349 */
long sys_pwrite64(uint64_t fd, uint64_t buf, uint64_t n, uint64_t offset);          /* 350 */
long sys_getdents64(uint64_t fd, uint64_t buf, uint64_t n);                         /* 377 */
long sys_dup3(uint64_t fd, uint64_t to, uint64_t flags);                            /* 487 */
long sys_pipe(void);                                                 /* 42: second one in a4 */
long sys_pipe2(uint64_t to, uint64_t flags);                         /* 488 */
long sys_close_range(uint64_t first, uint64_t last, uint64_t flags); /* 546 */
long sys_poll(uint64_t fds, uint64_t count, uint64_t timeout_ms);    /* 94 */
long sys_ppoll(uint64_t fds, uint64_t count, uint64_t timeout, uint64_t mask,
               uint64_t size);                                                             /* 464 */
long sys_select(uint64_t n, uint64_t in, uint64_t out, uint64_t except, uint64_t timeout); /* 358 */
long sys_pselect6(uint64_t n, uint64_t in, uint64_t out, uint64_t except, uint64_t timeout,
                  uint64_t mask); /* 463 */

long sys_getdents(uint64_t fd, uint64_t buf, uint64_t n); /* 305 */
long sys_splice(uint64_t in_fd, uint64_t in_offset, uint64_t out_fd, uint64_t out_offset,
                uint64_t n, uint64_t flags);                                     /* 468 */
long sys_tee(uint64_t in_fd, uint64_t out_fd, uint64_t n, uint64_t flags);       /* 470 */
long sys_vmsplice(uint64_t fd, uint64_t iov, uint64_t count, uint64_t flags);    /* 471 */
long sys_sendfile(uint64_t out_fd, uint64_t in_fd, uint64_t offset, uint64_t n); /* 370 */
long sys_fallocate(uint64_t fd, uint64_t mode, uint64_t offset, uint64_t n);     /* 480 */
long sys_preadv(uint64_t fd, uint64_t iov, uint64_t count, uint64_t offset);     /* 490 */
long sys_pwritev(uint64_t fd, uint64_t iov, uint64_t count, uint64_t offset);    /* 491 */
long sys_copy_file_range(uint64_t in_fd, uint64_t in_offset, uint64_t out_fd, uint64_t out_offset,
                         uint64_t n, uint64_t flags); /* 519 */
long sys_preadv2(uint64_t fd, uint64_t iov, uint64_t count, uint64_t offset, uint64_t high,
                 uint64_t flags); /* 520 */
long sys_pwritev2(uint64_t fd, uint64_t iov, uint64_t count, uint64_t offset, uint64_t high,
                  uint64_t flags);         /* 521 */
long sys_flock(uint64_t fd, uint64_t how); /* 131 */
/* fcntl's requests on locks; arg: a struct flock. open_file: the open file description is the
   owner, not the process. wait: until the lock can be granted. */
long lock_get(struct file *f, vaddr_t arg, bool open_file);
long lock_change(struct file *f, uint64_t fd, vaddr_t arg, bool open_file, bool wait);
long sys_memfd_create(uint64_t name, uint64_t flags); /* 512 */
#endif
