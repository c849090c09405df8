/*
 * The POSIX door: Linux/Alpha's numbers (asm/unistd.h). What is not here returns ENOSYS and is
 * named once.
 */
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
    [1] = {sys_exit, 0},
    [2] = {sys_fork, SYS_FULL_FRAME},
    [3] = {sys_read, 0},
    [4] = {sys_write, 0},
    [6] = {sys_close, 0},
    [7] = {sys_osf_wait4, 0},
    [9] = {sys_link, 0},
    [10] = {sys_unlink, 0},
    [12] = {sys_chdir, 0},
    [13] = {sys_fchdir, 0},
    [15] = {sys_chmod, 0},
    [16] = {sys_chown, 0},
    [17] = {sys_brk, 0},
    [19] = {sys_lseek, 0},
    [20] = {sys_getxpid, 0},
    [23] = {sys_setuid, 0},
    [24] = {sys_getxuid, 0},
    [33] = {sys_access, 0},
    [37] = {sys_kill, 0},
    [39] = {sys_setpgid, 0},
    [41] = {sys_dup, 0},
    [42] = {sys_pipe, 0},
    [45] = {sys_open, 0},
    [47] = {sys_getxgid, 0},
    [54] = {sys_ioctl, 0},
    [57] = {sys_symlink, 0},
    [58] = {sys_readlink, 0},
    [59] = {sys_execve, SYS_FULL_FRAME},
    [60] = {sys_umask, 0},
    [63] = {sys_getpgrp, 0},
    [64] = {sys_getpagesize, 0},
    [66] = {sys_vfork, SYS_FULL_FRAME},
    [71] = {sys_mmap, 0},
    [73] = {sys_munmap, 0},
    [74] = {sys_mprotect, 0},
    [75] = {sys_madvise, 0},
    [79] = {sys_getgroups, 0},
    [80] = {sys_setgroups, 0},
    [89] = {sys_getdtablesize, 0},
    [90] = {sys_dup2, 0},
    [92] = {sys_fcntl, 0},
    [94] = {sys_poll, 0},
    [95] = {sys_fsync, 0},
    [96] = {sys_setpriority, 0},
    [100] = {sys_getpriority, 0},
    [103] = {sys_sigreturn, SYS_FULL_FRAME | SYS_RAW},
    [120] = {sys_readv, 0},
    [121] = {sys_writev, 0},
    [123] = {sys_fchown, 0},
    [124] = {sys_fchmod, 0},
    [128] = {sys_rename, 0},
    [129] = {sys_truncate, 0},
    [130] = {sys_ftruncate, 0},
    [132] = {sys_setgid, 0},
    [136] = {sys_mkdir, 0},
    [137] = {sys_rmdir, 0},
    [144] = {sys_getrlimit, 0},
    [145] = {sys_setrlimit, 0},
    [147] = {sys_setsid, 0},
    [208] = {sys_lchown, 0},
    [217] = {sys_msync, 0},
    [233] = {sys_getpgid, 0},
    [234] = {sys_getsid, 0},
    [235] = {sys_sigaltstack, SYS_FULL_FRAME},
    [256] = {sys_osf_getsysinfo, 0},
    [257] = {sys_osf_setsysinfo, 0},
    [312] = {sys_clone, SYS_FULL_FRAME},
    [314] = {sys_mlock, 0},
    [315] = {sys_munlock, 0},
    [318] = {sys_sysinfo, 0},
    [323] = {sys_times, 0},
    [334] = {sys_sched_yield, 0},
    [339] = {sys_uname, 0},
    [340] = {sys_nanosleep, 0},
    [343] = {sys_setresuid, 0},
    [344] = {sys_getresuid, 0},
    [349] = {sys_pread64, 0},
    [350] = {sys_pwrite64, 0},
    [351] = {sys_rt_sigreturn, SYS_FULL_FRAME | SYS_RAW},
    [352] = {sys_rt_sigaction, 0},
    [353] = {sys_rt_sigprocmask, 0},
    [354] = {sys_rt_sigpending, 0},
    [355] = {sys_rt_sigtimedwait, 0},
    [357] = {sys_rt_sigsuspend, 0},
    [358] = {sys_select, 0},
    [359] = {sys_gettimeofday, 0},
    [361] = {sys_getitimer, 0},
    [362] = {sys_setitimer, 0},
    [364] = {sys_getrusage, 0},
    [365] = {sys_wait4, 0},
    [367] = {sys_getcwd, 0},
    [371] = {sys_setresgid, 0},
    [372] = {sys_getresgid, 0},
    [377] = {sys_getdents64, 0},
    [378] = {sys_gettid, 0},
    [381] = {sys_tkill, 0},
    [394] = {sys_futex, 0},
    [395] = {sys_sched_setaffinity, 0},
    [396] = {sys_sched_getaffinity, 0},
    [405] = {sys_exit, 0},
    [411] = {sys_set_tid_address, 0},
    [420] = {sys_clock_gettime, 0},
    [421] = {sys_clock_getres, 0},
    [422] = {sys_clock_nanosleep, 0},
    [424] = {sys_tgkill, 0},
    [425] = {sys_stat64, 0},
    [426] = {sys_lstat64, 0},
    [427] = {sys_fstat64, 0},
    [438] = {sys_waitid, 0},
    [447] = {sys_fsync, 0},
    [450] = {sys_openat, 0},
    [451] = {sys_mkdirat, 0},
    [455] = {sys_fstatat64, 0},
    [456] = {sys_unlinkat, 0},
    [457] = {sys_renameat, 0},
    [458] = {sys_linkat, 0},
    [459] = {sys_symlinkat, 0},
    [460] = {sys_readlinkat, 0},
    [461] = {sys_fchmodat, 0},
    [462] = {sys_faccessat, 0},
    [463] = {sys_pselect6, 0},
    [464] = {sys_ppoll, 0},
    [473] = {sys_getcpu, 0},
    [475] = {sys_utimensat, 0},
    [487] = {sys_dup3, 0},
    [488] = {sys_pipe2, 0},
    [496] = {sys_prlimit64, 0},
    [510] = {sys_renameat2, 0},
    [511] = {sys_getrandom, 0},
    [530] = {sys_getegid, 0},
    [531] = {sys_geteuid, 0},
    [532] = {sys_getppid, 0},
    [546] = {sys_close_range, 0},
    [549] = {sys_faccessat2, 0},
};

/* Calls that the C library tries at every start and does without: naming them would tell nobody
 * anything. */
#define SET_ROBUST_LIST 466
#define RSEQ            527
#define STATX           522

long syscall_missing(uint64_t number)
{
    static uint64_t named[POSIX_CALLS / 64 +
                          1]; /* atomic: a bit for each number; the last one for all others */
    uint64_t k = number < POSIX_CALLS ? number : POSIX_CALLS, bit = UINT64_C(1) << k % 64;

    if (number == SET_ROBUST_LIST || number == RSEQ || number == STATX)
        return -ENOSYS;
    if (!(__atomic_fetch_or(&named[k / 64], bit, __ATOMIC_RELAXED) & bit))
        printk("%s: system call %lu is not there\n", process_self()->name, (unsigned long)number);
    return -ENOSYS;
}
