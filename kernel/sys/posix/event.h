/* System calls of epoll, eventfd, timerfd, signalfd, inotify; the comments give the Linux/Alpha
   numbers. All return a result or a negative errno. IPL 0, no locks held; most may wait. */
#ifndef KERNEL_SYS_POSIX_EVENT_H
#define KERNEL_SYS_POSIX_EVENT_H

#include "kernel/base/types.h"

long sys_epoll_create(uint64_t size);                                            /* 407 */
long sys_epoll_ctl(uint64_t epfd, uint64_t op, uint64_t fd, uint64_t event);     /* 408 */
long sys_epoll_wait(uint64_t epfd, uint64_t events, uint64_t most, uint64_t ms); /* 409 */
long sys_epoll_pwait(uint64_t epfd, uint64_t events, uint64_t most, uint64_t ms, uint64_t mask,
                     uint64_t size);                                               /* 474 */
long sys_eventfd(uint64_t initial);                                                /* 478 */
long sys_timerfd_create(uint64_t clock, uint64_t flags);                           /* 481 */
long sys_timerfd_settime(uint64_t fd, uint64_t flags, uint64_t new, uint64_t old); /* 482 */
long sys_timerfd_gettime(uint64_t fd, uint64_t to);                                /* 483 */
long sys_eventfd2(uint64_t initial, uint64_t flags);                               /* 485 */
long sys_epoll_create1(uint64_t flags);                                            /* 486 */
long sys_epoll_pwait2(uint64_t epfd, uint64_t events, uint64_t most, uint64_t timeout,
                      uint64_t mask, uint64_t size); /* 551 */

long sys_signalfd(uint64_t fd, uint64_t mask, uint64_t size);                  /* 476 */
long sys_signalfd4(uint64_t fd, uint64_t mask, uint64_t size, uint64_t flags); /* 484 */

long sys_inotify_init(void);                                             /* 444 */
long sys_inotify_add_watch(uint64_t fd, uint64_t path, uint64_t events); /* 445 */
long sys_inotify_rm_watch(uint64_t fd, uint64_t number);                 /* 446 */
long sys_inotify_init1(uint64_t flags);                                  /* 489 */

#endif
