/*
 * Signals of a process, as on Linux/Alpha. Standard signals are not queued, real-time signals are
 * (signal_queue.h). Signals are delivered on the return to user mode. Numbers and layouts are the
 * ABI of statically linked glibc programs.
 */
#ifndef KERNEL_PROC_SIGNAL_H
#define KERNEL_PROC_SIGNAL_H

#include "arch/alpha/hw/trapframe.h"
#include "kernel/io/poll.h"
#include "kernel/proc/signal_numbers.h"
#include "kernel/sched/thread.h"
#include "kernel/sched/wait.h"

struct account;
struct process;

#define SI_USER       0
#define SI_KERNEL     0x80
#define SI_QUEUE      (-1)
#define SI_TKILL      (-6)
#define CLD_EXITED    1
#define CLD_KILLED    2
#define CLD_DUMPED    3
#define CLD_TRAPPED   4
#define CLD_STOPPED   5
#define CLD_CONTINUED 6

/* Bit of hw.syscall_exit: there may be a signal to deliver. (Bit 0 belongs to the scheduler.) */
#define EXIT_SIGNAL EXIT_INTERRUPTED

#define SS_DISABLE 2u     /* in uthread.alt_flags: there is no alternate stack */
#define NO_CALL    (~0ul) /* orig_v0 of a frame that is not of a system call */

typedef uint64_t sigset_t; /* bit n - 1 stands for signal n */
#define SIGBIT(n) (1ul << ((n) - 1))

struct signal_info {
    int32_t signo, code;
    uint32_t pid, uid;
    int32_t status; /* of a child; of a fault: an errno, or 0 */
    union {
        vaddr_t addr;   /* of a fault */
        uint64_t value; /* code below 0: what the sender gave with it */
    };
};

/* As rt_sigaction lays it out in user memory, where the restorer is a separate argument. */
struct signal_action {
    vaddr_t handler; /* SIG_DFL, SIG_IGN or an address */
    uint64_t flags;  /* SA_* */
    sigset_t mask;
    vaddr_t restorer;
};

/* What the process does on each signal. Most signals of most processes have the default action, so
 * only the others have an entry. */
struct signal_actions {
    /* Signals that have an entry. Atomic: changed under the signal lock after the entry has been
     * written, read without it. */
    sigset_t set;
    struct signal_action of[NSIG]; /* of the signals in the set; signal lock */
};

struct sigpending {
    sigset_t set;                  /* atomic: changed under the signal lock, read without it */
    struct signal_queue *queue;    /* signal_queue.h; NULL: nothing was ever queued; signal lock */
    struct signal_info info[NSIG]; /* of the signals in the set; signal lock */
};

struct uthread;

/* An element of process.threads: a thread's place, or that of a walk (threads.h). */
struct uthread_place {
    struct list link;     /* first: debuggers follow it; table lock and signal lock */
    struct uthread *user; /* constant; NULL: a walk is here */
};

/*
 * The state that POSIX defines per thread. That of the first thread is part of the process's struct
 * sighand, the others' are allocated. "Own thread" in these comments means the thread that the
 * structure belongs to.
 */
struct pi_lock;
struct tracee;
struct uthread {
    struct uthread_place place; /* in process.threads */
    struct thread *thread;      /* constant while it is in the list */
    struct process *process;    /* constant */
    /* What its exec holds, which may wait, or NULL. Its own; others read it only while all threads
     * are stopped (validate.c). */
    struct exec_wait *exec_wait;
    struct account *charged; /* for this thread; NULL: it is the first one; constant */
    /* An account that it charges, although its process has another one now; NULL: none. Table lock
     * and signal lock. */
    struct account *held;
    struct list hash; /* of the table of threads, unless tid is the pid; table lock */
    /* Number that programs see, the pid for the first thread. Constant, but that exec by another
     * thread makes it the pid (threads.c); table lock. */
    uint32_t tid;
    bool restore_saved; /* sigsuspend: `saved` is to become the mask again; own thread */
    uint8_t again;    /* how often its system call was made again for want of memory; own thread */
    bool vfork_done;  /* atomic: its vfork child no longer uses the address space */
    uint8_t vms_wait; /* SCH$C_ state, while a service of OpenVMS waits, else 0; own thread;
                           atomic: $GETJPI shows it */
    uint32_t alt_flags; /* the alternate stack, with the next two fields; own thread */
    vaddr_t alt_sp;
    uint64_t alt_size;
    /* Both sets are changed by the own thread under the signal lock, and read by other threads
     * under that lock. `waiting`: what sigtimedwait waits for, even if blocked or ignored. */
    sigset_t blocked;
    sigset_t waiting;
    uint64_t discards_seen; /* sighand.discards when `pending` was last cleaned; lock */
    sigset_t saved;         /* mask to restore after sigsuspend; own thread */
    uint64_t ieee_control;  /* software part of the FPCR as glibc sets it; own thread */
    vaddr_t clear_tid;      /* word to clear when the thread ends, 0: none; own thread */
    vaddr_t robust_list;    /* its list of robust futexes, 0: none; own thread; atomic */
    /* Futexes with inheritance (kernel/sys/posix/futex_pi.c): the locks that it owns and others
     * wait for, and the one for which it waits itself. */
    struct pi_lock *pi_owned, *pi_waits;
    /* Whom it is traced by (ptrace.h), or NULL. Own thread reads it without a lock; others and
     * changes: table lock. */
    struct tracee *trace;
    struct wait_queue vfork_queue; /* where it waits for its vfork child */
    struct list timers;            /* posix_timer.c: those that signal it; signal lock */
    struct sigpending pending;     /* signals sent to this thread */
};

/* The signals of a process. `lock` also protects process.threads and the alarm. The alarm's timer
 * function takes it in the clock interrupt, hence its IPL. */
struct sighand {               /* nonpaged pool */
    struct spinlock lock;      /* the signal lock: RANK_SIGNAL, IPL_CLOCK */
    bool ending;               /* the process ends, with status end_status; lock */
    bool closed;               /* how the process ends is decided for good; lock */
    bool marking;              /* a thread has undertaken to mark the others; lock */
    bool seeking;              /* a thread is to look for one that takes a signal; lock */
    bool stopped;              /* atomic: changed under lock; a hint when read without it */
    uint32_t ntraced;          /* threads that are traced; table lock and lock */
    uint32_t stop_signal;      /* of the last stop; atomic: written under lock */
    uint64_t stops;            /* number of stops so far; atomic: written under lock */
    uint32_t end_status;       /* as wait4 returns it; lock */
    uint32_t first_status;     /* of the first thread, if that has ended before others; lock */
    struct uthread *exec_by;   /* the thread whose exec waits until the others have left; lock */
    struct uthread *taker;     /* who took a signal to the process last, a hint; lock */
    sigset_t discarded;        /* signals for which discarded_at is valid; lock */
    uint64_t discards;         /* number of discards of pending signals; lock */
    struct wait_queue cont;    /* where the stopped threads wait */
    uint32_t refs;             /* atomic: the process, and entries on `polled` */
    struct poll_source polled; /* who is to be told of pending signals (signalfd.c) */
    struct uthread first;      /* state of the first thread */
    struct sigpending pending; /* signals sent to the process, for any thread to take */
    struct signal_actions actions;
    struct queued_signal *gone;  /* discarded records, to be freed; lock */
    uint64_t discarded_at[NSIG]; /* value of `discards` at the signal's last discard; lock */
};

static inline struct uthread *uthread_self(void) { return thread_self()->user; }

/* State of one more thread of the current process, with the caller's mask and nothing pending; NULL
 * when memory is short. */
struct uthread *uthread_create(void);
void uthread_free(struct uthread *u);
/* Signal state of a new process: default actions, nothing blocked. NULL when memory is short. */
struct sighand *sighand_create(void);
/* fork: a copy of the current process's actions and of the current thread's mask (and alternate
 * stack, unless share_vm), with nothing pending. NULL when memory is short. */
struct sighand *sighand_fork(bool share_vm);
/* exec: reset handlers to the default, leave ignored signals ignored, and drop the alternate stack.
 * Called by the process's only thread. */
void sighand_exec(struct sighand *s);
void sighand_free(struct sighand *s);
/* Keep s, without its process, for an entry on `polled`. */
static inline void sighand_get(struct sighand *s)
{
    __atomic_fetch_add(&s->refs, 1, __ATOMIC_RELAXED);
}
/* Take a pending signal of a set for the current thread, blocked or not. Its number; 0: none. */
int signal_take(sigset_t set, struct signal_info *info);
/* The signals that are pending for the current thread, blocked or not. */
sigset_t signal_pending(void);
/* Wait until one of the set is pending for the current thread, blocked or ignored even, and take
 * it. Its number; -EINTR: another signal is to be acted on; -EAGAIN: deadline (clock_ns). */
int signal_wait(sigset_t set, uint64_t deadline, struct signal_info *info);
/* Set the action of the current process on sig. What is pending and ignored from now on is
 * discarded. */
void signal_action_change(int sig, const struct signal_action *act);

/* Has the process p stopped, or is SIGSTOP pending? The same conditions. */
bool signal_is_stopping(struct process *p);
/* Send a signal to the process p: a thread that does not block it takes it. The caller keeps p and
 * its threads in existence (table lock, RANK_PROC, or p is the current process). Any IPL; locks
 * held are of ranks below RANK_SIGNAL. False: too late, the process is ending. */
bool signal_send(struct process *p, const struct signal_info *info);
/* The current process, whose last thread calls this, takes no more signals. Returns the status with
 * which it ends: that of a fatal signal that came before, else the one given. */
uint32_t signal_close(struct sighand *s, uint32_t status);
/* The same, with p->sig's lock held. */
void signal_send_locked(struct process *p, const struct signal_info *info);
/* The same of a timer (posix_timer.c), to the thread u alone unless it is NULL. */
void signal_send_timer_locked(struct process *p, struct uthread *u, const struct signal_info *info);
/* Decide that p ends with this status, unless it is decided already, and mark some threads. Signal
 * lock held. */
void signal_end_locked(struct process *p, uint32_t status);
/* End a stop. Signal lock held. */
void signal_continue_locked(struct sighand *s);
/* Send a signal to one thread u of p, the only one to take it. Otherwise as signal_send. */
void signal_send_thread(struct process *p, struct uthread *u, const struct signal_info *info);
/* Send what a user asks for, to p or only to its thread u (NULL: to p). A real-time signal that is
 * pending already is queued, which needs memory that is charged to the current user. 0; -EAGAIN: it
 * was not queued. Locks held are of ranks below RANK_POOL, otherwise as signal_send. */
int signal_send_user(struct process *p, struct uthread *u, const struct signal_info *info);
/* Is a signal pending for the current thread that it does not block? */
bool signal_is_pending(void);
#define UNBLOCKABLE (SIGBIT(SIGKILL) | SIGBIT(SIGSTOP))

/* Change the mask of the current thread, without UNBLOCKABLE. For signal_mask_set. */
void signal_mask_change(sigset_t mask);
/* Set the mask of the current thread; SIGKILL and SIGSTOP are never blocked. Signals that become
 * deliverable are seen on the return to user mode. Only the thread itself changes its mask, or its
 * tracer while it stands still, so the one look without the lock is enough. */
static inline void signal_mask_set(sigset_t mask)
{
    mask &= ~UNBLOCKABLE;
    if (mask != uthread_self()->blocked)
        signal_mask_change(mask);
}
/* Set a mask as below, and sleep until a signal is to be acted on. */
void signal_suspend(sigset_t mask);
/* Set a signal mask for the duration of one call (ppoll, pselect, sigsuspend), and end that. If a
 * signal interrupted the call, the return to user mode restores the old mask after the handler;
 * otherwise signal_mask_end restores it. For the current thread. */
void signal_mask_begin(sigset_t mask);
void signal_mask_end(bool interrupted);
/* Does the process ignore sig? (For SIGCHLD: are its children freed without a wait?) Read without
 * the lock: a change at the same moment may or may not be seen. */
bool signal_is_ignored(const struct sighand *s, int sig);
/* Does the process want SIGCHLD when a child stops or continues? Read as signal_is_ignored. */
bool signal_wants_stops(const struct sighand *s);
/* Called by process_return_slow: act on the pending signals, and restart or end the interrupted
 * call. f is the full trap frame of the entry from user mode. Does not return when a signal ends
 * the process. IPL 0. */
void signal_deliver(struct trapframe *f);

/* The current thread, which has a tracee, has executed the one instruction that its tracer let it
 * execute, and is at addr: send it SIGTRAP, if it has a tracer still, or it would end by that. IPL
 * 0. */
void signal_step(vaddr_t addr);
/* Drop that signal, if it is pending still. IPL 0. */
void signal_forget_step(void);
/* In sigframe.c. Push a frame for the handler of info->signo on the user stack and make f return to
 * the handler; old is the mask that sigreturn restores. 0, or -EFAULT when the stack cannot take
 * it. */
int sigframe_push(struct trapframe *f, const struct signal_action *act,
                  const struct signal_info *info, sigset_t old);
/* Write a siginfo_t to user address va. 0 or -EFAULT. */
int siginfo_copyout(vaddr_t va, const struct signal_info *info);
/* What the sender of the signal signo gave with it, from the siginfo at va. 0 or -EFAULT. */
int siginfo_copyin(vaddr_t va, int signo, struct signal_info *info);
/* Restore the registers from the frame at user address va; rt: that of a handler with SA_SIGINFO. 0
 * with the mask to restore in *mask, or -EFAULT. */
int sigframe_pop(struct trapframe *f, vaddr_t va, bool rt, sigset_t *mask);

#endif
