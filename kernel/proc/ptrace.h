/*
 * Tracing of threads by another process: ptrace, as Linux/Alpha has it.
 *
 * A thread that is traced has a struct tracee. It belongs to the thread while that lives, which
 * alone frees it, so the thread reads uthread.trace without a lock; others hold the table lock.
 * When the tracer lets go of it, `tracer` becomes NULL, and the thread frees the structure the next
 * time that it takes the slow path to user mode. When the thread ends first, the structure becomes
 * the tracer's, as the report of its end, until somebody waits for that.
 *
 * Everything that the tracer and the thread tell each other is under the table lock. A thread stops
 * where its frame is complete: at the entry and the exit of a system call, before a signal is
 * delivered, for a group stop, and at events. It puts a struct trace_stop, which lies on its kernel
 * stack, into tracee.stop, and sleeps until the tracer resumes it, lets go of it or ends, or
 * until it is killed. While it is there the tracer reads and changes the registers.
 *
 * The tracer is a process: any of its threads may make the requests. It is not the parent of the
 * thread's process, as a rule, so it has lists of its own to wait on. A process whose first thread
 * another process traces is kept from its parent when it has ended, until the tracer has been told.
 */
#ifndef KERNEL_PROC_PTRACE_H
#define KERNEL_PROC_PTRACE_H

#include "kernel/proc/process.h"
#include "kernel/proc/signal.h"

/* Bit of hw.syscall_exit: the thread has something to do for its tracer on its way out. */
#define EXIT_TRACE 16ul
/* System calls of the thread, or the instruction that it executes next, are traced. It is set for
 * long, so that every return to user mode takes the slow path, and lies in the upper half of the
 * word, where it does not keep the slow path from ending (arch/alpha/entry/entry.S). Own thread. */
#define EXIT_TRACED (1ul << 32)

#define PTRACE_EVENT_FORK       1u
#define PTRACE_EVENT_VFORK      2u
#define PTRACE_EVENT_CLONE      3u
#define PTRACE_EVENT_EXEC       4u
#define PTRACE_EVENT_VFORK_DONE 5u
#define PTRACE_EVENT_EXIT       6u
#define PTRACE_EVENT_STOP       128u

#define PTRACE_O_TRACESYSGOOD 1u
#define PTRACE_O_EVENT(event) (1u << (event)) /* of the events up to PTRACE_EVENT_EXIT */
#define PTRACE_O_EXITKILL     0x100000u
#define PTRACE_O_KNOWN        (0x7Fu | PTRACE_O_EXITKILL)

/* How a thread that has stopped goes on. */
enum trace_how { TRACE_CONT, TRACE_CALLS, TRACE_STEP, TRACE_LISTEN };

/* An element of a tracer's lists: a tracee's place, or that of a walk. */
struct tracee_place {
    struct list link;
    struct tracee *tracee; /* constant; NULL: a walk is here */
};

struct tracee { /* nonpaged pool */
    /* In tracer->tracing->quiet or ->reports. All fields: table lock, unless noted. */
    struct tracee_place place;
    struct process *tracer; /* NULL: nobody traces it any more; and signal lock; atomic */
    struct uthread *thread; /* NULL: it has ended */
    /* The first thread, which has ended before others; this waits for them. */
    struct uthread *parked;
    struct trace_stop *stop; /* where it has stopped; NULL: it runs, or listens */
    struct process *zombie;  /* its process, which is kept from its parent until this is gone */
    uint32_t tid, pgid, uid, options;
    uint32_t report;      /* status, as wait4 returns it, that was not asked for yet; 0: none */
    uint64_t message;     /* PTRACE_GETEVENTMSG */
    struct cpu_time used; /* of a thread that has ended */
    uint16_t account;     /* number of the account that is charged; constant */
    bool seized;          /* PTRACE_SEIZE */
    bool trap;            /* it is to stop with PTRACE_EVENT_STOP; atomic */
    bool let_go;          /* what a tracer asked for is over: that has let go of it; atomic */
    bool calls, steps;    /* own thread: TRACE_CALLS, TRACE_STEP */
    bool in_call;         /* own thread: its system call's entry was seen */
    bool listens;         /* own thread: PTRACE_LISTEN */
    bool planted;         /* own thread: there is a breakpoint for the step; and table lock */
    uint32_t instruction; /* own thread: what was there */
    vaddr_t planted_at;   /* own thread; and table lock */
    struct tracee *next_planted;  /* in process.planted; table lock */
    struct tracee **planted_from; /* what points to this one there; table lock */
    uint64_t stop_seen; /* own thread: the group stop from which the tracer has resumed it */
};

/* A stop, on the kernel stack of the thread; table lock. */
struct trace_stop {
    struct wait_queue queue;
    bool done; /* it was resumed; atomic: the thread reads it without the lock */
    bool has_info;
    bool fp_changed, unique_changed;
    int signal; /* to be delivered; 0: none */
    enum trace_how how;
    uint64_t unique;
    struct signal_info info; /* of the signal */
    struct fp_state fp;
};

/* The tracees of a process, allocated with the first. */
struct tracing {
    struct list quiet, reports; /* of struct tracee_place: without, with a report */
    uint16_t account;
};

/* Is the current thread traced, or was it until now? Another process attaches to it under a lock,
 * and fills the structure in first. */
static inline struct tracee *ptrace_self(void)
{
    struct tracee *t = __atomic_load_n(&uthread_self()->trace, __ATOMIC_RELAXED);

    if (unlikely(t != NULL))
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return t;
}

/* Does anybody trace t still? Of the current thread. */
static inline bool ptrace_has_tracer(const struct tracee *t)
{
    return __atomic_load_n(&t->tracer, __ATOMIC_ACQUIRE) != NULL;
}

/* Is it the signal of a step? That is the tracer's alone: nobody else gets it if that ends. */
static inline bool ptrace_is_step(int sig, const struct signal_info *info)
{
    return sig == SIGTRAP && info->code == TRAP_TRACE;
}

/* ---- requests of the tracer, the current process (ptrace.c); 0 or a negative errno; IPL 0 ---- */

/* May the current process look into p? Table lock held. 0 or -EPERM. */
int ptrace_access_locked(const struct process *p);
/* The same for `self`. Table lock held, or the current thread is p's, in an interrupt. */
int ptrace_access_of(const struct process *self, const struct process *p);
/* PTRACE_TRACEME. -EPERM: it is traced, has no parent, or can do what that cannot. */
int ptrace_traceme(void);
/* PTRACE_ATTACH, or PTRACE_SEIZE with options. -ESRCH, -EPERM, -ENOMEM, -EINVAL. */
int ptrace_attach(uint32_t tid, bool seize, uint64_t options);
/* PTRACE_INTERRUPT and PTRACE_KILL, of a thread that need not have stopped. */
int ptrace_interrupt(uint32_t tid);
int ptrace_kill(uint32_t tid);
/* Resume; detach. -ESRCH: it is no tracee or has not stopped; -EIO: no such signal, or the thread
 * cannot listen. */
int ptrace_resume(uint32_t tid, enum trace_how how, uint64_t sig);
int ptrace_detach(uint32_t tid, uint64_t sig);
/* The tracee tid of the current process, which has stopped; NULL. Table lock held. */
struct tracee *ptrace_stopped_locked(uint32_t tid);

/* ---- registers and memory (ptrace_memory.c) ---- */

/* A register of t, which has stopped, by Linux's number; one that there is not reads as 0 and
 * cannot be changed. Table lock held. */
uint64_t ptrace_register_locked(const struct tracee *t, uint64_t reg);
void ptrace_set_register_locked(struct tracee *t, uint64_t reg, uint64_t v);
/* A reference to the address space of p; NULL: it has none any more. Table lock held. */
struct aspace *ptrace_space_locked(const struct process *p);
/* Copy n bytes between address `at` of another address space and `local` of this one. The number of
 * bytes, less than n after an error; or -EFAULT, -EIO ..., -EINTR: the caller is to end. IPL 0; may
 * wait. */
#define PTRACE_COPY_WRITE  1u
#define PTRACE_COPY_FORCED 2u /* also where a private mapping may not be written */
long ptrace_copy(struct aspace *as, vaddr_t at, vaddr_t local, size_t n, unsigned flags);

/* ---- wait4 and waitid (exit.c), with the table lock held, which may be dropped ---- */

/* A tracee of self that pid selects, as process_wait() has it, with a report that options ask for;
 * *r is filled in. With `keep`, it stays. 1, or 0: there is none. In *dead a process for the caller
 * to free, or NULL. */
int ptrace_wait_locked(struct process *self, int32_t pid, unsigned options, struct wait_result *r,
                       struct process **dead, ipl_t *ipl);
/* Does self trace anything that pid selects? */
bool ptrace_any_locked(struct process *self, int32_t pid, ipl_t *ipl);

/* ---- a process and its threads ---- */

/* fork and clone: what a new thread needs that is to be traced too, or NULL. *event: of the current
 * thread's tracer, 0: none. False: memory is short. */
bool ptrace_fork_begin(uint64_t flags, struct tracee **child, unsigned *event);
/* Link it to u, which has its number and does not run yet; or give it back, which may be NULL. */
void ptrace_fork_end(struct tracee *child, struct uthread *u);
void ptrace_fork_cancel(struct tracee *child);
/* The current thread, which is in no list of threads any more or is about to leave it, has ended:
 * tell its tracer. */
void ptrace_thread_end(uint32_t status);
/* The same of the first thread of p, with its last one, the current thread. True: the process is
 * kept from its parent. Table lock held. */
bool ptrace_process_end_locked(struct process *p, uint32_t status);
/* exec by a thread that takes the number of its process: from the first thread, which is gone. */
void ptrace_exec_number(struct process *p);
/* The current process ends: let go of all that it traces. */
void ptrace_tracer_end(struct process *p);
/* In exit.c: p, which is a zombie, is kept from its parent no more. NULL, or p for the caller to
 * free. Table lock held. */
struct process *process_zombie_shown_locked(struct process *p);

/* ---- stops of the current thread, which has u->trace (ptrace_stop.c); IPL 0 ---- */

/* By entry code, for a system call of a thread with EXIT_TRACED: f is complete. On return the frame
 * has the number and the arguments of the call, which the tracer may have changed. */
void ptrace_call(void);
/* By the slow path of the return to user mode, for EXIT_TRACE. */
void ptrace_return(struct trapframe *f);
/* At the end of that path, for EXIT_TRACED: let the thread execute one instruction, if so asked. */
void ptrace_step(struct trapframe *f);
/* A signal was taken: the signal to deliver instead, or 0. */
int ptrace_signal(int sig, struct signal_info *info);
/* Stop if the tracer has asked for it. */
void ptrace_trap(void);
/* The process has stopped. True: the tracer has seen that, and resumed this thread; false: it is to
 * wait for SIGCONT. */
bool ptrace_group_stop(struct sighand *s);
/* An event (PTRACE_EVENT_FORK ...), if its tracer has asked for it. */
void ptrace_event(unsigned event, uint64_t message);
/* execve has succeeded; the thread had the number `was`. */
void ptrace_exec(uint32_t was);
/* The thread is about to end with this status. */
void ptrace_exit(uint32_t status);
/* A breakpoint was executed; f->pc is behind it. True: it was one of a step, and is dealt with. */
bool ptrace_breakpoint(struct trapframe *f);
/* The current thread executes no instruction of its program any more: end its step, while its
 * memory is still there. */
void ptrace_last_step(void);
/* In ptrace_step.c: remove the breakpoint of the current thread's step. */
void ptrace_unplant(struct tracee *t);

/* ---- for both files ---- */

/* Report a stop or the end of t, which has a tracer. Table lock held. */
void ptrace_report_locked(struct tracee *t, uint32_t status, int code);
/* t has no report any more. Table lock held. */
void ptrace_told_locked(struct tracee *t);
/* Free the current thread's structure, if nobody traces it any more. */
void ptrace_release(void);

#endif
