/* Calls by which a process traces others (kernel/proc/ptrace.h), and their memory. */
#ifndef KERNEL_SYS_POSIX_PTRACE_H
#define KERNEL_SYS_POSIX_PTRACE_H

#include "kernel/base/types.h"

struct aspace;

long sys_ptrace(uint64_t request, uint64_t tid, uint64_t addr, uint64_t data);
long sys_process_vm_readv(uint64_t pid, uint64_t local, uint64_t nlocal, uint64_t remote,
                          uint64_t nremote, uint64_t flags);
long sys_process_vm_writev(uint64_t pid, uint64_t local, uint64_t nlocal, uint64_t remote,
                           uint64_t nremote, uint64_t flags);

#endif
