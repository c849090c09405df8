/* Signal numbers and codes of Linux/Alpha, used by trap dispatch and kernel/proc. */
#ifndef KERNEL_PROC_SIGNAL_NUMBERS_H
#define KERNEL_PROC_SIGNAL_NUMBERS_H

#define SIGHUP    1
#define SIGINT    2
#define SIGQUIT   3
#define SIGILL    4
#define SIGTRAP   5
#define SIGABRT   6
#define SIGEMT    7
#define SIGFPE    8
#define SIGKILL   9
#define SIGBUS    10
#define SIGSEGV   11
#define SIGSYS    12
#define SIGPIPE   13
#define SIGALRM   14
#define SIGTERM   15
#define SIGURG    16
#define SIGSTOP   17
#define SIGTSTP   18
#define SIGCONT   19
#define SIGCHLD   20
#define SIGTTIN   21
#define SIGTTOU   22
#define SIGIO     23
#define SIGXCPU   24
#define SIGXFSZ   25
#define SIGVTALRM 26
#define SIGPROF   27
#define SIGWINCH  28
#define SIGINFO   29
#define SIGUSR1   30
#define SIGUSR2   31
#define NSIG      64

#define ILL_ILLOPC  1
#define FPE_INTDIV  1
#define FPE_INTOVF  2
#define FPE_FLTDIV  3
#define FPE_FLTOVF  4
#define FPE_FLTUND  5
#define FPE_FLTRES  6
#define FPE_FLTINV  7
#define FPE_FLTSUB  8
#define SEGV_MAPERR 1
#define SEGV_ACCERR 2
#define TRAP_BRKPT  1
#define TRAP_TRACE  2
#define BUS_ADRALN  1
#define BUS_ADRERR  2
#define BUS_OBJERR  3

#endif
