/* System calls on signals. All return a result or a negative errno. IPL 0, no locks held. Those
   marked need SYS_FULL_FRAME and SYS_RAW in the system-call table. */
#ifndef KERNEL_SYS_POSIX_SIGNAL_H
#define KERNEL_SYS_POSIX_SIGNAL_H

#include "kernel/sys/posix/calls.h"

long sys_sigreturn(uint64_t context);            /* 103; SYS_FULL_FRAME, SYS_RAW */
long sys_sigaltstack(uint64_t ss, uint64_t oss); /* 235; SYS_FULL_FRAME */
long sys_rt_sigreturn(uint64_t frame);           /* 351; SYS_FULL_FRAME, SYS_RAW */
/* 352 to 357 */
long sys_rt_sigaction(uint64_t sig, uint64_t act, uint64_t oact, uint64_t size, uint64_t restorer);
long sys_rt_sigprocmask(uint64_t how, uint64_t set, uint64_t oset, uint64_t size);
long sys_rt_sigpending(uint64_t set, uint64_t size);
long sys_rt_sigtimedwait(uint64_t set, uint64_t info, uint64_t timeout, uint64_t size);
long sys_rt_sigsuspend(uint64_t set, uint64_t size);

#endif
