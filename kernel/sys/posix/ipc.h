/* System calls of System V IPC; the comments give the Linux/Alpha numbers. All return a result or a
   negative errno. IPL 0, no locks held. */
#ifndef KERNEL_SYS_POSIX_IPC_H
#define KERNEL_SYS_POSIX_IPC_H

#include "kernel/base/types.h"

long sys_shmat(uint64_t id, uint64_t va, uint64_t flags);   /* 209; returns the address */
long sys_shmctl(uint64_t id, uint64_t command, uint64_t b); /* 210 */
long sys_shmdt(uint64_t va);                                /* 211 */
long sys_shmget(uint64_t key, uint64_t n, uint64_t flags);  /* 212 */

/* Boot: tell kernel/ipc who the caller is. */
void posix_ipc_boot(void);

#endif
