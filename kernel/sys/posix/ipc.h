/* System calls of System V IPC; the comments give the Linux/Alpha numbers. All return a result or a
   negative errno. IPL 0, no locks held. */
#ifndef KERNEL_SYS_POSIX_IPC_H
#define KERNEL_SYS_POSIX_IPC_H

#include "kernel/base/types.h"

long sys_msgctl(uint64_t id, uint64_t command, uint64_t b);                             /* 200 */
long sys_msgget(uint64_t key, uint64_t flags);                                          /* 201 */
long sys_msgrcv(uint64_t id, uint64_t to, uint64_t max, uint64_t type, uint64_t flags); /* 202 */
long sys_msgsnd(uint64_t id, uint64_t from, uint64_t n, uint64_t flags);                /* 203 */
long sys_semctl(uint64_t id, uint64_t number, uint64_t command, uint64_t arg);          /* 204 */
long sys_semget(uint64_t key, uint64_t n, uint64_t flags);                              /* 205 */
long sys_semop(uint64_t id, uint64_t ops, uint64_t n);                                  /* 206 */
long sys_shmat(uint64_t id, uint64_t va, uint64_t flags);   /* 209; returns the address */
long sys_shmctl(uint64_t id, uint64_t command, uint64_t b); /* 210 */
long sys_shmdt(uint64_t va);                                /* 211 */
long sys_shmget(uint64_t key, uint64_t n, uint64_t flags);  /* 212 */

long sys_semtimedop(uint64_t id, uint64_t ops, uint64_t n, uint64_t timeout); /* 423 */

/* Boot: tell kernel/ipc who the caller is. */
void posix_ipc_boot(void);

/* mqueue.c: message queues of POSIX. */
long sys_mq_open(uint64_t name, uint64_t flags, uint64_t mode, uint64_t attr); /* 432 */
long sys_mq_unlink(uint64_t name);                                             /* 433 */
long sys_mq_timedsend(uint64_t fd, uint64_t text, uint64_t nbytes, uint64_t priority,
                      uint64_t timeout); /* 434 */
long sys_mq_timedreceive(uint64_t fd, uint64_t text, uint64_t nbytes, uint64_t priority,
                         uint64_t timeout);                      /* 435 */
long sys_mq_notify(uint64_t fd, uint64_t event);                 /* 436 */
long sys_mq_getsetattr(uint64_t fd, uint64_t new, uint64_t old); /* 437 */
void posix_mqueue_boot(void);

#endif
