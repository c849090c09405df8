/*
 * POSIX system calls by Linux/Alpha number (asm/unistd.h). Any other number returns ENOSYS and is
 * reported once on the console. The table is constant.
 */
#include "arch/alpha/hw/trapframe.h"
#include "kernel/base/errno.h"
#include "kernel/base/printk.h"
#include "kernel/proc/process.h"
#include "kernel/proc/signal.h"
#include "kernel/sys/posix/file.h"
#include "kernel/sys/posix/misc.h"
#include "kernel/sys/posix/path.h"
#include "kernel/sys/posix/process.h"
#include "kernel/sys/posix/time.h"
#include "kernel/sys/syscall.h"

const struct syscall_entry posix_calls[POSIX_CALLS] = {
    [1] = {CALL(1, sys_exit)},
    [2] = {CALL(0, sys_fork), .flags = SYS_FULL_FRAME},
    [3] = {CALL(3, sys_read)},
    [4] = {CALL(3, sys_write)},
    [6] = {CALL(1, sys_close)},
    [7] = {CALL(4, sys_osf_wait4)},
    [9] = {CALL(2, sys_link)},
    [10] = {CALL(1, sys_unlink)},
    [12] = {CALL(1, sys_chdir)},
    [13] = {CALL(1, sys_fchdir)},
    [15] = {CALL(2, sys_chmod)},
    [16] = {CALL(3, sys_chown)},
    [17] = {CALL(1, sys_brk)},
    [19] = {CALL(3, sys_lseek)},
    [20] = {CALL(0, sys_getxpid)},
    [23] = {CALL(1, sys_setuid)},
    [24] = {CALL(0, sys_getxuid)},
    [33] = {CALL(2, sys_access)},
    [36] = {CALL(0, sys_sync)},
    [37] = {CALL(2, sys_kill)},
    [39] = {CALL(2, sys_setpgid)},
    [41] = {CALL(1, sys_dup)},
    [42] = {CALL(0, sys_pipe)},
    [45] = {CALL(3, sys_open)},
    [47] = {CALL(0, sys_getxgid)},
    [54] = {CALL(3, sys_ioctl)},
    [57] = {CALL(2, sys_symlink)},
    [58] = {CALL(3, sys_readlink)},
    [59] = {CALL(3, sys_execve), .flags = SYS_FULL_FRAME},
    [60] = {CALL(1, sys_umask)},
    [63] = {CALL(0, sys_getpgrp)},
    [64] = {CALL(0, sys_getpagesize)},
    [66] = {CALL(0, sys_vfork), .flags = SYS_FULL_FRAME},
    [71] = {CALL(6, sys_mmap)},
    [73] = {CALL(2, sys_munmap)},
    [74] = {CALL(3, sys_mprotect)},
    [75] = {CALL(3, sys_madvise)},
    [79] = {CALL(0, sys_getgroups)},
    [80] = {CALL(1, sys_setgroups)},
    [89] = {CALL(0, sys_getdtablesize)},
    [90] = {CALL(2, sys_dup2)},
    [92] = {CALL(3, sys_fcntl)},
    [94] = {CALL(3, sys_poll)},
    [95] = {CALL(1, sys_fsync)},
    [96] = {CALL(3, sys_setpriority)},
    [100] = {CALL(2, sys_getpriority), .flags = SYS_FULL_FRAME | SYS_RAW},
    [103] = {CALL(1, sys_sigreturn), .flags = SYS_FULL_FRAME | SYS_RAW},
    [120] = {CALL(3, sys_readv)},
    [121] = {CALL(3, sys_writev)},
    [123] = {CALL(3, sys_fchown)},
    [124] = {CALL(2, sys_fchmod)},
    [128] = {CALL(2, sys_rename)},
    [129] = {CALL(2, sys_truncate)},
    [130] = {CALL(2, sys_ftruncate)},
    [132] = {CALL(1, sys_setgid)},
    [136] = {CALL(2, sys_mkdir)},
    [137] = {CALL(1, sys_rmdir)},
    [144] = {CALL(2, sys_getrlimit)},
    [145] = {CALL(2, sys_setrlimit)},
    [147] = {CALL(0, sys_setsid)},
    [208] = {CALL(3, sys_lchown)},
    [217] = {CALL(2, sys_msync)},
    [233] = {CALL(1, sys_getpgid)},
    [234] = {CALL(1, sys_getsid)},
    [235] = {CALL(2, sys_sigaltstack), .flags = SYS_FULL_FRAME},
    [256] = {CALL(3, sys_osf_getsysinfo)},
    [257] = {CALL(2, sys_osf_setsysinfo)},
    [312] = {CALL(5, sys_clone), .flags = SYS_FULL_FRAME},
    [314] = {CALL(2, sys_mlock)},
    [315] = {CALL(2, sys_munlock)},
    [318] = {CALL(1, sys_sysinfo)},
    [323] = {CALL(1, sys_times)},
    [327] = {CALL(2, sys_ustat)},
    [328] = {CALL(2, sys_statfs)},
    [329] = {CALL(2, sys_fstatfs)},
    [334] = {CALL(0, sys_sched_yield)},
    [339] = {CALL(1, sys_uname)},
    [340] = {CALL(2, sys_nanosleep)},
    [343] = {CALL(3, sys_setresuid)},
    [344] = {CALL(3, sys_getresuid)},
    [349] = {CALL(4, sys_pread64)},
    [350] = {CALL(4, sys_pwrite64)},
    [351] = {CALL(1, sys_rt_sigreturn), .flags = SYS_FULL_FRAME | SYS_RAW},
    [352] = {CALL(5, sys_rt_sigaction)},
    [353] = {CALL(4, sys_rt_sigprocmask)},
    [354] = {CALL(2, sys_rt_sigpending)},
    [355] = {CALL(4, sys_rt_sigtimedwait)},
    [357] = {CALL(2, sys_rt_sigsuspend)},
    [358] = {CALL(5, sys_select)},
    [359] = {CALL(2, sys_gettimeofday)},
    [361] = {CALL(2, sys_getitimer)},
    [362] = {CALL(3, sys_setitimer)},
    [363] = {CALL(2, sys_utimes)},
    [364] = {CALL(2, sys_getrusage)},
    [365] = {CALL(4, sys_wait4)},
    [367] = {CALL(2, sys_getcwd)},
    [371] = {CALL(3, sys_setresgid)},
    [372] = {CALL(3, sys_getresgid)},
    [377] = {CALL(3, sys_getdents64)},
    [378] = {CALL(0, sys_gettid)},
    [379] = {CALL(1, sys_readahead)},
    [381] = {CALL(2, sys_tkill)},
    [394] = {CALL(4, sys_futex)},
    [395] = {CALL(3, sys_sched_setaffinity)},
    [396] = {CALL(3, sys_sched_getaffinity)},
    [405] = {CALL(1, sys_exit_group)},
    [411] = {CALL(1, sys_set_tid_address)},
    [413] = {CALL(4, sys_fadvise64)},
    [420] = {CALL(2, sys_clock_gettime)},
    [421] = {CALL(2, sys_clock_getres)},
    [422] = {CALL(4, sys_clock_nanosleep)},
    [424] = {CALL(3, sys_tgkill)},
    [425] = {CALL(2, sys_stat64)},
    [426] = {CALL(2, sys_lstat64)},
    [427] = {CALL(2, sys_fstat64)},
    [438] = {CALL(5, sys_waitid)},
    [447] = {CALL(1, sys_fsync)},
    [450] = {CALL(4, sys_openat)},
    [451] = {CALL(3, sys_mkdirat)},
    [454] = {CALL(3, sys_futimesat)},
    [455] = {CALL(4, sys_fstatat64)},
    [456] = {CALL(3, sys_unlinkat)},
    [457] = {CALL(4, sys_renameat)},
    [458] = {CALL(5, sys_linkat)},
    [459] = {CALL(3, sys_symlinkat)},
    [460] = {CALL(4, sys_readlinkat)},
    [461] = {CALL(3, sys_fchmodat)},
    [462] = {CALL(3, sys_faccessat)},
    [463] = {CALL(6, sys_pselect6)},
    [464] = {CALL(5, sys_ppoll)},
    [469] = {CALL(4, sys_sync_file_range)},
    [473] = {CALL(2, sys_getcpu)},
    [475] = {CALL(4, sys_utimensat)},
    [487] = {CALL(3, sys_dup3)},
    [488] = {CALL(2, sys_pipe2)},
    [496] = {CALL(4, sys_prlimit64)},
    [500] = {CALL(1, sys_syncfs)},
    [510] = {CALL(5, sys_renameat2)},
    [511] = {CALL(3, sys_getrandom)},
    [522] = {CALL(5, sys_statx)},
    [528] = {CALL(3, sys_statfs64)},
    [529] = {CALL(3, sys_fstatfs64)},
    [530] = {CALL(0, sys_getegid)},
    [531] = {CALL(0, sys_geteuid)},
    [532] = {CALL(0, sys_getppid)},
    [546] = {CALL(3, sys_close_range)},
    [549] = {CALL(4, sys_faccessat2)},
};

/* Calls that the C library tries at every program start and does not need. They are not reported,
   since that would be of no use. */
#define SET_ROBUST_LIST 466
#define RSEQ            527

long syscall_missing(void)
{
    uint64_t number = user_frame_of(current_hw)->orig_v0;
    static uint64_t
        named[POSIX_CALLS / 64 + 1]; /* atomic: a bit for each number, and one for all above */
    uint64_t k = number < POSIX_CALLS ? number : POSIX_CALLS, bit = UINT64_C(1) << k % 64;

    if (number == SET_ROBUST_LIST || number == RSEQ)
        return -ENOSYS;
    if (!(__atomic_fetch_or(&named[k / 64], bit, __ATOMIC_RELAXED) & bit))
        printk("%s: system call %lu is not there\n", process_self()->name, (unsigned long)number);
    return -ENOSYS;
}
