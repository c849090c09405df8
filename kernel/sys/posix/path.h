/* System calls on paths; the comments give the Linux/Alpha numbers. All return a result or a
   negative errno. IPL 0, no locks held; all may wait. */
#ifndef KERNEL_SYS_POSIX_PATH_H
#define KERNEL_SYS_POSIX_PATH_H

#include "kernel/sys/posix/time.h"

long sys_link(uint64_t old, uint64_t new);                                       /* 9 */
long sys_unlink(uint64_t path);                                                  /* 10 */
long sys_execve(uint64_t path, uint64_t argv, uint64_t envp);                    /* 59 */
long sys_chdir(uint64_t path);                                                   /* 12 */
long sys_fchdir(uint64_t fd);                                                    /* 13 */
long sys_chroot(uint64_t path);                                                  /* 61 */
long sys_chmod(uint64_t path, uint64_t mode);                                    /* 15 */
long sys_chown(uint64_t path, uint64_t uid, uint64_t gid);                       /* 16 */
long sys_lchown(uint64_t path, uint64_t uid, uint64_t gid);                      /* 208 */
long sys_access(uint64_t path, uint64_t mode);                                   /* 33 */
long sys_open(uint64_t path, uint64_t flags, uint64_t mode);                     /* 45 */
long sys_symlink(uint64_t target, uint64_t path);                                /* 57 */
long sys_readlink(uint64_t path, uint64_t to, uint64_t n);                       /* 58 */
long sys_umask(uint64_t mask);                                                   /* 60 */
long sys_fchown(uint64_t fd, uint64_t uid, uint64_t gid);                        /* 123 */
long sys_fchmod(uint64_t fd, uint64_t mode);                                     /* 124 */
long sys_rename(uint64_t old, uint64_t new);                                     /* 128 */
long sys_truncate(uint64_t path, uint64_t size);                                 /* 129 */
long sys_mkdir(uint64_t path, uint64_t mode);                                    /* 136 */
long sys_rmdir(uint64_t path);                                                   /* 137 */
long sys_getcwd(uint64_t to, uint64_t n);                                        /* 367 */
long sys_stat64(uint64_t path, uint64_t to);                                     /* 425 */
long sys_lstat64(uint64_t path, uint64_t to);                                    /* 426 */
long sys_fstat64(uint64_t fd, uint64_t to);                                      /* 427 */
long sys_openat(uint64_t dirfd, uint64_t path, uint64_t flags, uint64_t mode);   /* 450 */
long sys_openat2(uint64_t dirfd, uint64_t path, uint64_t from, uint64_t nbytes); /* 547 */
long sys_mkdirat(uint64_t dirfd, uint64_t path, uint64_t mode);                  /* 451 */
long sys_fstatat64(uint64_t dirfd, uint64_t path, uint64_t to, uint64_t flags);  /* 455 */
long sys_unlinkat(uint64_t dirfd, uint64_t path, uint64_t flags);                /* 456 */
long sys_renameat(uint64_t olddir, uint64_t old, uint64_t newdir, uint64_t new); /* 457 */
long sys_renameat2(uint64_t olddir, uint64_t old, uint64_t newdir, uint64_t new,
                   uint64_t flags); /* 510 */
long sys_linkat(uint64_t olddir, uint64_t old, uint64_t newdir, uint64_t new,
                uint64_t flags);                                                   /* 458 */
long sys_symlinkat(uint64_t target, uint64_t dirfd, uint64_t path);                /* 459 */
long sys_readlinkat(uint64_t dirfd, uint64_t path, uint64_t to, uint64_t n);       /* 460 */
long sys_fchmodat(uint64_t dirfd, uint64_t path, uint64_t mode);                   /* 461 */
long sys_faccessat(uint64_t dirfd, uint64_t path, uint64_t mode);                  /* 462 */
long sys_faccessat2(uint64_t dirfd, uint64_t path, uint64_t mode, uint64_t flags); /* 549 */
long sys_utimensat(uint64_t dirfd, uint64_t path, uint64_t times, uint64_t flags); /* 475 */
long sys_futimesat(uint64_t dirfd, uint64_t path, uint64_t times);                 /* 454 */
long sys_utimes(uint64_t path, uint64_t times);                                    /* 363 */
long sys_mount(uint64_t device, uint64_t path, uint64_t type, uint64_t flags,
               uint64_t data);                   /* 302 */
long sys_umount2(uint64_t path, uint64_t flags); /* 22 */
long sys_oldumount(uint64_t path);               /* 321 */
long sys_swapon(uint64_t path, uint64_t flags);  /* 322 */
long sys_swapoff(uint64_t path);                 /* 304 */
long sys_execveat(uint64_t dirfd, uint64_t path, uint64_t argv, uint64_t envp,
                  uint64_t flags);                                                         /* 513 */
long sys_ustat(uint64_t dev, uint64_t to);                                                 /* 327 */
long sys_statfs(uint64_t path, uint64_t to);                                               /* 328 */
long sys_statfs64(uint64_t path, uint64_t n, uint64_t to);                                 /* 528 */
long sys_statx(uint64_t dirfd, uint64_t path, uint64_t flags, uint64_t mask, uint64_t to); /* 522 */
long sys_mknod(uint64_t path, uint64_t mode, uint64_t dev);                                /* 14 */
long sys_mknodat(uint64_t dirfd, uint64_t path, uint64_t mode, uint64_t dev);              /* 452 */
long sys_fchownat(uint64_t dirfd, uint64_t path, uint64_t uid, uint64_t gid,
                  uint64_t flags);                                                /* 453 */
long sys_fchmodat2(uint64_t dirfd, uint64_t path, uint64_t mode, uint64_t flags); /* 562 */
long sys_setxattr(uint64_t path, uint64_t name, uint64_t value, uint64_t n,
                  uint64_t flags); /* 382 */
long sys_lsetxattr(uint64_t path, uint64_t name, uint64_t value, uint64_t n,
                   uint64_t flags); /* 383 */
long sys_fsetxattr(uint64_t fd, uint64_t name, uint64_t value, uint64_t n,
                   uint64_t flags);               /* 384 */
long sys_getxattr(uint64_t path, uint64_t name);  /* 385, 391 */
long sys_lgetxattr(uint64_t path, uint64_t name); /* 386, 392 */
long sys_fgetxattr(uint64_t fd, uint64_t name);   /* 387, 393 */
long sys_listxattr(uint64_t path);                /* 388 */
long sys_llistxattr(uint64_t path);               /* 389 */
long sys_flistxattr(uint64_t fd);                 /* 390 */

#endif
