/*
 * Processes: an address space, descriptors, signals, kin, and threads. One thread each for now:
 * clone refuses CLONE_THREAD, and what is said here and in signal.h holds for any number.
 *
 * A process is reached by others only through the table, under its lock; so what an exit gives up
 * is taken out of the structure under that lock first and freed afterwards. A zombie has no thread,
 * address space, files or signal state, only what wait4 and `show` want of it.
 *
 * Several locks protect a process. Where a field names two, both are held to change it and either
 * is enough to read it. "Constant until the end" is set before the process enters the table and
 * changed by its last thread, when it has ended the others.
 */
#ifndef KERNEL_PROC_PROCESS_H
#define KERNEL_PROC_PROCESS_H

#include "kernel/base/abi/prvdef.h"
#include "kernel/io/file.h"
#include "kernel/proc/creds.h"
#include "kernel/proc/fs_context.h"
#include "kernel/sched/thread.h"
#include "kernel/sched/timer.h"
#include "kernel/sched/wait.h"
#include "mm/space/aspace.h"

struct file_table;
struct lnm_space;
struct sighand;
struct uthread;

/* Privileges, as masks of 64 bits: those of prvdef.h. */
#define PRV_CMKRNL ((uint64_t)PRV$M_CMKRNL)
#define PRV_SYSNAM ((uint64_t)PRV$M_SYSNAM)
#define PRV_GRPNAM ((uint64_t)PRV$M_GRPNAM)
#define PRV_GROUP  ((uint64_t)PRV$M_GROUP)
#define PRV_PSWAPM ((uint64_t)PRV$M_PSWAPM)
#define PRV_SETPRV ((uint64_t)PRV$M_SETPRV)
#define PRV_WORLD  ((uint64_t)PRV$M_WORLD)
#define PRV_PRMGBL ((uint64_t)PRV$M_PRMGBL)
#define PRV_SYSGBL ((uint64_t)PRV$M_SYSGBL)
#define PRV_PFNMAP ((uint64_t)PRV$M_PFNMAP)
#define PRV_SYSPRV ((uint64_t)PRV$M_SYSPRV)
#define PRV_BYPASS ((uint64_t)PRV$M_BYPASS)
#define PRV_ALL                                                                               \
    (PRV_CMKRNL | PRV_SYSNAM | PRV_GRPNAM | PRV_GROUP | PRV_PSWAPM | PRV_SETPRV | PRV_WORLD | \
     PRV_PRMGBL | PRV_SYSGBL | PRV_PFNMAP | PRV_SYSPRV | PRV_BYPASS)
#define RIGHT_MEM_RESIDENT_USER MEGA_RIGHT_MEM_RESIDENT_USER

enum process_state { PROCESS_LIVE, PROCESS_ZOMBIE };

struct process {            /* nonpaged pool */
    uint32_t pid;           /* constant */
    uint32_t state;         /* enum process_state; table lock */
    struct process *parent; /* table lock; NULL: nobody will wait */
    uint32_t ppid; /* parent's pid, 1 when it has gone, 0 for pid 1; atomic: written under the table
                      lock */
    uint32_t nthreads; /* in the list; table lock and signal lock. A thread that finds itself alone
                          stays so: only it could make another. */
    struct list threads; /* of struct uthread, the oldest first; table lock and signal lock */
    /* Table lock. A child is in one of its parent's two lists. */
    struct list children, zombies, sibling, all, hash;
    uint32_t pgid, sid;    /* table lock */
    struct aspace *aspace; /* table lock; changed by exec and the end only, which leave one thread,
                                 so that the own threads read it without; NULL while it ends */
    struct file_table *files; /* changed by exec and the end only, as aspace; others look at it when
                                 all threads stand (validate.c) */
    struct fs_context *fs; /* own_fs, or one that is shared; changed by its only user, in clone */
    struct fs_context own_fs;
    uint64_t io; /* reads and writes called for, for display; atomic, and two threads that count at
                    once may count one: no more than a statistic */
    struct sighand *sig; /* table lock; constant until the end, then NULL */
    /* Identity: kernel/proc/creds.h. Atomic words, changed under the table lock. */
    uint32_t uid, gid, euid, egid, suid, sgid;
    uint32_t uic_group, uic_member;
    uint64_t privileges, permanent, authorised, rights; /* PRV_*, RIGHT_* */
    struct lnm_space *names; /* logical names, which have a lock of their own; constant until the
                                end */
    uint32_t exit_status;    /* as wait4 gives it; table lock */
    uint32_t stop_report;    /* wait4 status of a stop or continuation not reported yet, 0: none;
                                table lock */
    uint32_t stops;          /* children that have such a report; table lock */
    bool child_changed;      /* atomic: kin changed since the last look of a waiting parent */
    char name[16];           /* table lock; a message of the own threads reads it without */
    char exe[64];            /* path of the program (cut), for /proc/self/exe; table lock */
    struct mutex brk_mutex;  /* MUTEX_PROCESS: one brk at a time, from the look to the change */
    vaddr_t brk_start, brk;  /* brk_mutex, unless process_alone */
    uint64_t run_ns;         /* CPU time of threads that have ended; table lock */
    uint64_t children_ns;    /* CPU time of children waited for; atomic: added to under the table
                                lock */
    struct wait_queue child_queue; /* threads wait here for children */
    struct uthread *vfork_parent;  /* who waits until this one execs or ends; table lock */
    /* ITIMER_REAL: signal lock. */
    struct timer alarm;
    uint64_t alarm_interval; /* ns */
    uint64_t alarm_deadline; /* ns, 0: off */
    bool alarm_armed;        /* the timer is pending or its function about to run */
};

static inline struct process *process_self(void) { return thread_self()->process; }
static inline struct io_cred process_cred(const struct process *p)
{
    return (struct io_cred){__atomic_load_n(&p->euid, __ATOMIC_RELAXED),
                            __atomic_load_n(&p->egid, __ATOMIC_RELAXED)};
}

/* ---- the table (process.c) ---- */

extern struct spinlock process_lock; /* RANK_PROC, IPL_ASTDEL: the process table lock */
/* Live or zombie, by pid; NULL. Table lock held. */
struct process *process_find_locked(uint32_t pid);
/* p's thread with that number, NULL; tid 0: the oldest, which stands for p where one is shown.
 * Table lock or signal lock held. */
struct uthread *process_thread_locked(const struct process *p, uint32_t tid);
/* The one behind p in the order of process_for_each; NULL: p is the last. Table lock held. */
struct process *process_next_locked(const struct process *p);
/* For each process, under the process table lock; p->aspace is valid (or NULL) during the call. fn
 * returns false to stop. */
void process_for_each(bool (*fn)(struct process *p, void *arg), void *arg);
void process_for_each_locked(bool (*fn)(struct process *p, void *arg), void *arg);
/* So many there can be, zombies included. */
#define PROCESSES_MAX 8192u
/* A structure for one more process, in the table and with a pid only after process_enter. NULL:
 * memory is short, or there are too many processes: *err says which. */
struct process *process_alloc(int *err);
void process_free(struct process *p);
/* t, which has not run, becomes the first thread of p, which has its p->sig and is not in the
 * table. */
void process_add_first(struct process *p, struct thread *t);
/* Has p, the current process, no thread but the caller? Then nobody else changes what is its own,
 * and only the caller could make another thread: no lock is needed for that. */
static inline bool process_alone(const struct process *p)
{
    return likely(__atomic_load_n(&p->nthreads, __ATOMIC_RELAXED) == 1);
}
/* CPU time of the threads of p, the current process, those that have ended included. */
uint64_t process_cpu_ns_of_all(const struct process *p);
static inline uint64_t process_cpu_ns(const struct process *p)
{
    return process_alone(p) ? p->run_ns + thread_cpu_ns(thread_self()) : process_cpu_ns_of_all(p);
}
/* Into the table as parent's child (NULL: nobody's). */
void process_enter(struct process *p, struct process *parent);

/* ---- life ---- */

#define CLONE_VM             0x100u
#define CLONE_FS             0x200u
#define CLONE_FILES          0x400u
#define CLONE_SIGHAND        0x800u
#define CLONE_VFORK          0x4000u
#define CLONE_PARENT         0x8000u
#define CLONE_THREAD         0x10000u
#define CLONE_SYSVSEM        0x40000u
#define CLONE_SETTLS         0x80000u
#define CLONE_PARENT_SETTID  0x100000u
#define CLONE_CHILD_CLEARTID 0x200000u
#define CLONE_CHILD_SETTID   0x1000000u

/* A child of the current process that returns 0 from the call whose (full) frame the current thread
   stands on. usp 0: the same stack pointer. Its pid, or negative errno; with CLONE_VFORK it waits
   until the child has its own address space. */
long process_clone(uint64_t flags, vaddr_t usp, vaddr_t parent_tid, vaddr_t child_tid,
                   uint64_t tls);

/* execve of the current process. On success the frame at kstack_top is the new program's start.
   Negative errno: nothing has changed. */
int process_exec(const char *path, vaddr_t argv, vaddr_t envp);

/* End the current process; status as wait4 gives it. */
void process_exit(uint32_t status) __attribute__((noreturn));

struct wait_result {
    uint32_t pid, uid, status;
    uint64_t run_ns;
};
#define WNOHANG    1u
#define WUNTRACED  2u /* with waitid WSTOPPED */
#define WEXITED    4u
#define WCONTINUED 8u
#define WNOWAIT    0x1000000u
/* Wait for a child: pid > 0 that one, 0 of my group, -1 any, < -1 of group -pid. 1 with *r filled
   in; 0: none ready (WNOHANG); -ECHILD; -ERESTARTSYS. */
int process_wait(int32_t pid, unsigned options, struct wait_result *r);
/* The current process stopped (status of wait4) or goes on: tell the parent. */
void process_report_stop(uint32_t status);

/* ITIMER_REAL: first and interval in ns (0: off); what was set before goes to *left and
 * *old_interval. */
void process_alarm_set(uint64_t first, uint64_t interval, uint64_t *left, uint64_t *old_interval);
void process_alarm_get(uint64_t *left, uint64_t *interval);

/* kill: pid as kill(2) has it. 0 or negative errno. */
int process_kill(int32_t pid, int sig, int code);
/* tkill and tgkill: to the thread tid alone, which is one of process tgid (0: of any). 0, -EINVAL,
 * -EPERM, -ESRCH. */
int process_kill_thread(uint32_t tgid, uint32_t tid, int sig);
/* To every process of a group, from the kernel: group 1 too, which kill(2) has no number for. */
void process_kill_group(uint32_t pgid, int sig, int code);

/* Wake who waits for the futex at that address of the current process: kernel/sys fills it in at
 * boot, NULL until then. IPL 0. */
extern void (*futex_wake_hook)(vaddr_t word);

/* ---- trap dispatch calls these ---- */

/* The faulting instruction of the current process cannot be resolved: signal sig with si_code and
 * address, delivered on the way out. */
void signal_force(int sig, int code, vaddr_t addr);
/* Slow way out to user mode (hw.syscall_exit nonzero): delivers signals, ends the process,
 * reschedules. Frame is full. */
void process_return_slow(void);
/* The process is out of memory on a fault: killed and named on the console. */
void process_kill_out_of_memory(void);
/* First process; argv NUL-separated. Never fails: a program that cannot be started is the result
 * record (126/127). */
void process_start_first(const char *argv, size_t nbytes, bool command);

#endif
