/*
 * Signals of a process, as Linux/Alpha has them: standard signals are not queued, delivery is on
 * the way out to user mode. Numbers and layouts are the ABI of statically linked glibc programs.
 */
#ifndef KERNEL_PROC_SIGNAL_H
#define KERNEL_PROC_SIGNAL_H

#include "arch/alpha/hw/trapframe.h"
#include "kernel/proc/signal_numbers.h"
#include "kernel/sched/thread.h"
#include "kernel/sched/wait.h"

struct process;

#define SI_USER       0
#define SI_KERNEL     0x80
#define SI_TKILL      (-6)
#define CLD_EXITED    1
#define CLD_KILLED    2
#define CLD_DUMPED    3
#define CLD_STOPPED   5
#define CLD_CONTINUED 6

/* Bit of hw.syscall_exit: there may be a signal to deliver. (Bit 0 is the scheduler's.) */
#define EXIT_SIGNAL EXIT_INTERRUPTED

typedef uint64_t sigset_t; /* bit n - 1 is signal n */
#define SIGBIT(n) (1ul << ((n) - 1))

struct signal_info {
    int32_t signo, code;
    uint32_t pid, uid;
    int32_t status;
    vaddr_t addr;
};

struct signal_action { /* as rt_sigaction has it in user memory; the restorer is an argument of its
                          own */
    vaddr_t handler;   /* SIG_DFL, SIG_IGN or an address */
    uint64_t flags;    /* SA_* */
    sigset_t mask;
    vaddr_t restorer;
};

struct sigpending {
    sigset_t set;                  /* atomic: changed under the signal lock, read without */
    struct signal_info info[NSIG]; /* of those in the set; under the lock */
};

/*
 * What POSIX gives each thread of a process. The first thread's lies in the process's struct
 * sighand. "Own thread" is true for any number of threads here: it means the one of the structure.
 */
struct uthread {
    struct list link;      /* process.threads */
    struct thread *thread; /* constant while it is in the list */
    uint32_t tid;          /* number that programs see: the first thread's is the pid; constant */
    bool restore_saved;    /* own thread */
    bool vfork_done;       /* atomic: the child it waits for has let go of the address space */
    uint32_t alt_flags;    /* own thread, with the next two: the alternate stack */
    vaddr_t alt_sp;
    uint64_t alt_size;
    sigset_t blocked; /* changed by the own thread under the signal lock; others read under it */
    sigset_t waiting; /* sigtimedwait: taken although blocked or ignored; as blocked */
    sigset_t saved;   /* mask to go back to after sigsuspend; own thread */
    uint64_t ieee_control; /* software half of FPCR as glibc sets it; own thread */
    vaddr_t clear_tid;     /* word to be zero when the thread has gone, 0: none; own thread */
    struct wait_queue vfork_queue; /* where it waits for that child */
    struct sigpending pending;     /* sent to this thread */
};

/* The signals of a process. `lock` protects also process.threads and the alarm; it is taken by the
 * alarm's timer, hence its IPL. */
struct sighand {            /* nonpaged pool */
    struct spinlock lock;   /* the signal lock: RANK_SIGNAL, IPL_CLOCK */
    uint8_t ends_by;        /* signal that the process ends by, once that is settled; lock */
    bool stopped;           /* atomic: changed under lock; a look without it is a hint */
    struct wait_queue cont; /* where stopped threads wait */
    struct uthread first;   /* the first thread's */
    struct signal_action actions[NSIG]; /* lock */
    struct sigpending pending;          /* sent to the process: any thread's to take */
};

static inline struct uthread *uthread_self(void) { return thread_self()->user; }

/* A new process's: default actions, nothing blocked. NULL when memory is short. */
struct sighand *sighand_create(void);
/* fork: actions as of the current process, mask (and without share_vm the alternate stack) as of
 * the current thread, nothing pending. NULL when memory is short. */
struct sighand *sighand_fork(bool share_vm);
/* exec: handlers are gone, ignored signals stay ignored, no alternate stack. By the process's only
 * thread. */
void sighand_exec(struct sighand *s);
void sighand_free(struct sighand *s);

/* Send a signal to the process: a thread that does not block it takes it. The caller makes sure
   that p and its threads stay (table lock, RANK_PROC, or p is the current one). Any IPL, locks
   below RANK_SIGNAL. */
void signal_send(struct process *p, const struct signal_info *info);
/* The same, with p->sig's lock held. */
void signal_send_locked(struct process *p, const struct signal_info *info);
/* Send it to one thread of p, which alone takes it. As signal_send. */
void signal_send_thread(struct process *p, struct uthread *u, const struct signal_info *info);
/* Is a signal waiting that is not blocked? Own thread. */
bool signal_is_pending(void);
/* A mask for the time of one call (ppoll, pselect, sigsuspend). If a signal interrupted the call,
   the way out puts the old one back behind the handler; otherwise it is put back at once. Own
   thread. */
void signal_mask_begin(sigset_t mask);
void signal_mask_end(bool interrupted);
/* Does the process ignore sig (SIGCHLD: children need no wait)? A look without its lock: what the
 * process changes at the same moment may or may not be seen. */
bool signal_is_ignored(const struct sighand *s, int sig);
/* Does it want SIGCHLD when a child stops or goes on? Likewise. */
bool signal_wants_stops(const struct sighand *s);
/* From process_return_slow: do what the pending signals want, restart or end the interrupted call.
   f is the full frame of the entry from user mode. Does not return when a signal ends the process.
   IPL 0. */
void signal_deliver(struct trapframe *f);

/* The current process ends by a signal: kernel/proc's exit. */
void process_exit_signal(int sig) __attribute__((noreturn));

/* sigframe.c. Push a frame for the handler of info->signo and aim f at it; old is the mask that
   sigreturn restores. 0, or -EFAULT when the stack cannot take it. */
int sigframe_push(struct trapframe *f, const struct signal_action *act,
                  const struct signal_info *info, sigset_t old);
/* A siginfo_t at user address va. 0 or -EFAULT. */
int siginfo_copyout(vaddr_t va, const struct signal_info *info);
/* Take the registers from the frame at user address va; rt: of a handler with SA_SIGINFO. 0 with
 * *mask, or -EFAULT. */
int sigframe_pop(struct trapframe *f, vaddr_t va, bool rt, sigset_t *mask);

/* System calls. Those marked need SYS_FULL_FRAME (and SYS_RAW). */
long sys_rt_sigaction(uint64_t sig, uint64_t act, uint64_t oact, uint64_t size, uint64_t restorer);
long sys_rt_sigprocmask(uint64_t how, uint64_t set, uint64_t oset, uint64_t size);
long sys_rt_sigpending(uint64_t set, uint64_t size);
long sys_rt_sigsuspend(uint64_t set, uint64_t size);
long sys_rt_sigtimedwait(uint64_t set, uint64_t info, uint64_t timeout, uint64_t size);
long sys_sigaltstack(uint64_t ss, uint64_t oss); /* FULL_FRAME */
long sys_sigreturn(uint64_t context);            /* FULL_FRAME, RAW */
long sys_rt_sigreturn(uint64_t frame);           /* FULL_FRAME, RAW */

#endif
