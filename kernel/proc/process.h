/*
 * Processes: an address space, file descriptors, signals, relatives and threads (threads.h).
 *
 * Other processes find a process only through the process table, under its lock. So exit first
 * removes what it releases from the structure under that lock, and frees it afterwards. A zombie
 * has no thread, address space, files or signal state: only what wait4 and `show` read.
 *
 * Several locks protect a process. Where a field names two locks, both are held to change it, and
 * either is enough to read it. "Constant until the end" means: set before the process enters the
 * table, and changed by its last thread when the others have ended.
 */
#ifndef KERNEL_PROC_PROCESS_H
#define KERNEL_PROC_PROCESS_H

#include "kernel/base/abi/prvdef.h"
#include "kernel/io/file.h"
#include "kernel/ipc/sem.h"
#include "kernel/proc/accounting.h"
#include "kernel/proc/cpu_timer.h"
#include "kernel/proc/creds.h"
#include "kernel/proc/fs_context.h"
#include "kernel/proc/kin.h"
#include "kernel/proc/walk.h"
#include "kernel/sched/thread.h"
#include "kernel/sched/timer.h"
#include "kernel/sched/wait.h"
#include "mm/space/aspace.h"

struct event_owner;
struct file_table;
struct lnm_space;
struct posix_timers;
struct program_path;
struct qio_channels;
struct qio_fast;
struct aio_table;
struct sched_group;
struct sighand;
struct signal_info;
struct tracee;
struct tracing;
struct uthread;

/* The privileges of prvdef.h as masks of 64 bits. */
#define PRV_CMKRNL               ((uint64_t)PRV$M_CMKRNL)
#define PRV_SYSNAM               ((uint64_t)PRV$M_SYSNAM)
#define PRV_GRPNAM               ((uint64_t)PRV$M_GRPNAM)
#define PRV_GROUP                ((uint64_t)PRV$M_GROUP)
#define PRV_NOACNT               ((uint64_t)PRV$M_NOACNT)
#define PRV_IMPERSONATE          ((uint64_t)PRV$M_IMPERSONATE)
#define PRV_PSWAPM               ((uint64_t)PRV$M_PSWAPM)
#define PRV_ALTPRI               ((uint64_t)PRV$M_ALTPRI)
#define PRV_SETPRV               ((uint64_t)PRV$M_SETPRV)
#define PRV_WORLD                ((uint64_t)PRV$M_WORLD)
#define PRV_TMPMBX               ((uint64_t)PRV$M_TMPMBX)
#define PRV_PRMMBX               ((uint64_t)PRV$M_PRMMBX)
#define PRV_PRMGBL               ((uint64_t)PRV$M_PRMGBL)
#define PRV_SYSGBL               ((uint64_t)PRV$M_SYSGBL)
#define PRV_PFNMAP               ((uint64_t)PRV$M_PFNMAP)
#define PRV_SYSPRV               ((uint64_t)PRV$M_SYSPRV)
#define PRV_BYPASS               ((uint64_t)PRV$M_BYPASS)
#define PRV_ALL                  ((1ul << PRV$K_NUMBER_OF_PRIVS) - 1)
#define RIGHT_MEM_RESIDENT_USER  MEGA_RIGHT_MEM_RESIDENT_USER
#define RIGHT_BUFFER_OBJECT_USER MEGA_RIGHT_BUFFER_OBJECT_USER

enum process_state { PROCESS_LIVE, PROCESS_ZOMBIE };

/* In nonpaged pool. "Table lock" is process_lock, "signal lock" is sig->lock (signal.h). */
#define RLIMITS 16
struct rlimit {
    uint64_t soft, hard; /* soft <= hard */
};

/* What prctl and personality set; atomic words. A child inherits all but the signal. */
struct personal {
    uint8_t death_signal; /* sent to the process when its parent ends, 0: none */
    bool undumpable, no_new_privs;
    uint8_t barriers; /* membarrier: what it has registered for; none after exec */
    uint32_t persona;
};

struct process {
    uint32_t pid;           /* constant */
    uint64_t start_ns;      /* when it entered the table; constant */
    uint32_t state;         /* enum process_state; table lock */
    struct process *parent; /* table lock; NULL: nobody will wait for this process */
    /* The parent's pid, 1 if the parent has ended, 0 for pid 1. Atomic: written under the table
     * lock, read without. */
    uint64_t ppid;
    /* Number of threads in `threads`, and how many of them have begun to leave. Table lock and
     * signal lock. */
    uint32_t nthreads, leaving;
    uint32_t walkers;    /* threads of other processes that walk `threads`; table lock */
    struct list threads; /* of struct uthread_place, the oldest first; table and signal lock */
    /* The only thread has found that it is the only one: process_alone(). Own threads. */
    bool alone;
    /* Where a thread waits for the others to leave; initialised with the second thread. */
    struct wait_queue left;
    /* Table lock. A child is in one of its parent's two lists. */
    struct list children, zombies;             /* of `sibling` */
    struct process_place sibling, all, fellow; /* fellow: in the list of its group */
    struct list hash;
    struct kin kin;     /* owner and subprocesses of OpenVMS */
    uint32_t pgid, sid; /* table lock */
    /* Number of the possession of the controlling terminal (terminal.c), 0: none. Table lock. */
    uint64_t terminal;
    /* Table lock. Only exec and exit change it, when one thread is left, so the process's own
     * threads read it without the lock. NULL from exit on. */
    struct aspace *aspace;
    /* Changed as aspace is, and by close_range; atomic. Others look into the table as fd_remote.c
     * does, or while all threads are stopped (validate.c). NULL from exit on. */
    struct file_table *files;
    struct fs_context *fs; /* &own_fs, or a shared one; changed by its only user, in clone */
    struct fs_context own_fs;
    /* Number of reads and writes, for display. Atomic; two threads that count at the same moment
     * may lose one, which a statistic can bear. */
    uint64_t io;
    uint64_t disk_requests;          /* of its threads that have ended; table lock */
    struct accounting_spaces spaces; /* address spaces that it has left */
    bool borrows_space; /* made with CLONE_VM, and had no exec since: the space is also its
                           maker's. Constant until then */
    bool left_space;    /* it ends, and what it used in `aspace` is in `spaces`; by its last thread,
                           atomic: read by others */
    struct sighand *sig; /* table lock; constant until the end, then NULL */
    /* Identity: kernel/proc/creds.h. Atomic words, changed under the table lock. */
    uint32_t uid, gid, euid, egid, suid, sgid, fsuid, fsgid;
    struct io_groups groups; /* changed under the table lock too (ids.c) */
    uint32_t uic_group, uic_member;
    uint64_t privileges, permanent, authorised, rights; /* PRV_*, RIGHT_* */
    struct account *account;   /* of `uid`, with a reference: creds.h; changed as uid is */
    struct sched_group *group; /* of its threads, if it has had several; own threads */
    struct lnm_space *names;   /* logical names, with a lock of their own; constant until the end */
    uint32_t exit_status;      /* as wait4 returns it; table lock */
    /* wait4 status of a stop or continuation that was not reported yet, 0: none. Table lock. */
    uint32_t stop_report;
    uint32_t stops;          /* number of children with such a report; table lock */
    uint32_t child_changes;  /* atomic: counts changes of children; raised under the table lock */
    struct tracing *tracing; /* what it traces (ptrace.h), or NULL; table lock */
    struct tracee *planted;  /* its threads that have planted a breakpoint; table lock */
    bool withheld;           /* a zombie that is kept from its parent for its tracer; table lock */
    char name[16];           /* table lock; its own threads read it without, for messages */
    struct program_path *program; /* holds a reference; NULL before the first exec. Table lock; its
                                     own threads read it without, because only exec changes it */
    vaddr_t arg_start, arg_end, env_end; /* strings of exec; table lock */
    struct mutex settings_mutex;   /* MUTEX_PROCESS: serialises calls that change the break, the
                                    alarm, or the table of timer_create */
    vaddr_t brk_start, brk;        /* settings_mutex, unless process_alone */
    struct cpu_time ended;         /* CPU time of threads that have ended; table lock */
    struct cpu_time waited;        /* of children waited for; atomic: written under table lock */
    struct wait_queue child_queue; /* threads that wait for children */
    /* The thread whose vfork waits until this process calls exec or ends; table lock. */
    struct uthread *vfork_parent;
    struct personal personal;
    struct sem_undos sem_undos; /* what its use of semaphores leaves to be undone */
    struct cpu_timers cpu_timers;
    /* Event flags, ASTs and timers of OpenVMS (kernel/event), from the first use on; NULL: none.
     * Set under the table lock; its own threads read it without. */
    struct event_owner *events;
    /* Its channels to devices (kernel/qio), from the first one on; NULL: none. As `events`. */
    struct qio_channels *channels;
    struct qio_fast *fast;       /* buffer objects and fandles, NULL: none yet; as `events` */
    struct aio_table *aio;       /* contexts of io_setup, NULL: none yet; as `events` */
    vaddr_t ast_return;          /* where AST routines return to, 0: unknown; atomic */
    uint64_t ast_hold;           /* where a thread's word is that puts its ASTs off (ast.c), as the
                                    distance from its unique value, 0: nowhere; atomic */
    vaddr_t exit_routine;        /* what $FORCEX calls, as an AST, 0: unknown; table lock */
    struct posix_timers *timers; /* posix_timer.c; NULL: it never had any; signal lock */
    struct timer alarm;          /* ITIMER_REAL; this and what follows for it: signal lock */
    uint64_t alarm_interval;     /* ns */
    uint64_t alarm_deadline;     /* ns, 0: off */
    /* Charged for a timer with an interval, or NULL; settings_mutex, unless process_alone. */
    struct account *alarm_account;
    bool alarm_armed; /* the timer is pending, or its function is about to run */
    bool alarm_rests; /* it has expired, and goes on when the signal is taken (alarm.c) */
    /* Faults in turn that got no page, and when the last was (oom.c). Own threads; a statistic. */
    uint32_t short_rounds, short_mapped;
    uint64_t short_ns, short_counted_ns;
    /* rlimit.h; atomic, changed under the table lock. Last: process_alloc() leaves them as they
     * are, for the caller to fill in. */
    struct rlimit limits[RLIMITS];
};

static inline struct process *process_self(void) { return thread_self()->process; }

/* Words of a process's identity, each read as one atomic word (creds.h). */
/* One more read or write of p, the current process. Of those that several threads count at the same
 * moment one may be missed. */
static inline void process_count_io(struct process *p)
{
    __atomic_store_n(&p->io, __atomic_load_n(&p->io, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED);
}
static inline uint32_t process_uid(const struct process *p)
{
    return __atomic_load_n(&p->uid, __ATOMIC_RELAXED);
}
static inline uint32_t process_gid(const struct process *p)
{
    return __atomic_load_n(&p->gid, __ATOMIC_RELAXED);
}
static inline uint32_t process_euid(const struct process *p)
{
    return __atomic_load_n(&p->euid, __ATOMIC_RELAXED);
}
static inline uint32_t process_egid(const struct process *p)
{
    return __atomic_load_n(&p->egid, __ATOMIC_RELAXED);
}
static inline uint32_t process_uic_group(const struct process *p)
{
    return __atomic_load_n(&p->uic_group, __ATOMIC_RELAXED);
}
static inline uint32_t process_uic_member(const struct process *p)
{
    return __atomic_load_n(&p->uic_member, __ATOMIC_RELAXED);
}
/* The current mask of privileges, and the rights identifiers. */
static inline uint64_t process_privileges(const struct process *p)
{
    return __atomic_load_n(&p->privileges, __ATOMIC_RELAXED);
}
static inline uint64_t process_rights(const struct process *p)
{
    return __atomic_load_n(&p->rights, __ATOMIC_RELAXED);
}
/* What files are accessed with. p: the current process. */
static inline struct io_cred process_cred(const struct process *p)
{
    return (struct io_cred){.uid = __atomic_load_n(&p->fsuid, __ATOMIC_RELAXED),
                            .gid = __atomic_load_n(&p->fsgid, __ATOMIC_RELAXED),
                            .groups = &p->groups};
}

/* ---- the process table (process.c) ---- */

extern struct spinlock process_lock; /* RANK_PROC, IPL_ASTDEL: the process table lock */
/* The process with this pid, live or zombie; NULL: none. Table lock held. */
struct process *process_find_locked(uint32_t pid);
/* The oldest thread of p, which represents p where one thread is shown; NULL: p is a zombie. Table
 * lock or signal lock held. */
struct uthread *process_first_thread_locked(const struct process *p);
/* The process after p in the order of process_for_each; NULL: p is the last, or it is behind the
 * places of as many walks as are looked at in one hold. Table lock held. */
struct process *process_next_locked(const struct process *p);
/* p's name for a message of the kernel: its user chose it, so what is not printable is a question
 * mark. Returns text. Table lock held, or p is the current process. */
#define PROCESS_NAME_BYTES 16u
const char *process_name_text(const struct process *p, char text[PROCESS_NAME_BYTES]);
/* Call fn for each process under the table lock, which is dropped between portions (walk.h), until
 * fn returns PROCESS_STOP. p->aspace is valid or NULL during the call. After PROCESS_PAUSE the lock
 * is dropped at once, because fn has done much. */
enum process_visit { PROCESS_NEXT, PROCESS_PAUSE, PROCESS_STOP };
void process_for_each(enum process_visit (*fn)(struct process *p, void *arg), void *arg);
/* Begin a walk of all processes (walk.h), with the table lock held; ipl: what spin_lock() returned.
 */
void process_walk_all_locked(struct process_walk *w, ipl_t ipl);
/* The same for each process of a group, 0: of all. */
void process_for_group(uint32_t pgid, enum process_visit (*fn)(struct process *p, void *arg),
                       void *arg);
/* The same for calls whose result nobody sees once the caller is to end: then it stops, and
 * thread_killed() is true. */
void process_search(uint32_t pgid, enum process_visit (*fn)(struct process *p, void *arg),
                    void *arg);
/* Maximum number of processes, zombies included: MAXPROCESSCNT. Constant after boot. */
extern uint32_t process_limit;
/* Boot: set process_limit and allocate tables of that size, on a machine with npages of memory.
 * After the system parameters, before page_boot_done(). */
void process_table_boot(uint64_t npages);
/* Allocate the structure of one more process, charged to the current thread's account. It gets a
 * pid and enters the table in process_enter. NULL with *err: -ENOMEM, or -EAGAIN when there are
 * process_limit, or as many as the user may have. The limits are not filled in. */
struct process *process_alloc(int *err);
void process_free(struct process *p);
/* Make t, which has not run yet, the first thread of p, which has its p->sig and is not in the
 * table yet. */
void process_add_first(struct process *p, struct thread *t);
/* Charge p's account, and the system's limit, for one more process or thread: 0 or -EAGAIN. */
int process_number_charge(struct account *a);
void process_number_release(struct account *a);
/* Is the caller the only thread of p, the current process? Then no other thread changes what
 * belongs to p alone, and only the caller could create one, so such fields need no lock. A thread
 * that is left alone notices it when it next takes the slow path to user mode, under the signal
 * lock (signal_deliver.c): so it has seen all that the others did, and no load here needs a
 * barrier. */
static inline bool process_alone(const struct process *p) { return likely(p->alone); }
/* CPU time of the threads of p, with those that have ended; of the children that p has waited for,
 * with what they had waited for. p: the current process. */
struct cpu_time process_cpu_time(const struct process *p);
struct cpu_time process_children_time(const struct process *p);
static inline void cpu_time_add(struct cpu_time *sum, struct cpu_time t)
{
    sum->user_ns += t.user_ns;
    sum->system_ns += t.system_ns;
}
/* Give p a pid and enter it into the table as a child of `maker` (NULL: without a parent), or, if
 * sibling, of maker's parent, if that still lives. Takes the table lock. */
void process_enter(struct process *p, struct process *maker, bool sibling);
/* The same for a process of $CREPRC, which has no parent: a subprocess of owner, in its process
 * group, or (NULL) a detached process in a session of its own. */
void process_enter_created(struct process *p, struct process *owner);
/* Put p, live and in the table, into the group pgid, a number in use; make it the leader of a new
 * session and group. Table lock held. */
void process_set_group_locked(struct process *p, uint32_t pgid);
void process_set_session_locked(struct process *p);

/* ---- life ---- */

#define CLONE_VM             0x100u
#define CLONE_FS             0x200u
#define CLONE_FILES          0x400u
#define CLONE_SIGHAND        0x800u
#define CLONE_PIDFD          0x1000u
#define CLONE_PTRACE         0x2000u
#define CLONE_VFORK          0x4000u
#define CLONE_PARENT         0x8000u
#define CLONE_THREAD         0x10000u
#define CLONE_SYSVSEM        0x40000u
#define CLONE_SETTLS         0x80000u
#define CLONE_PARENT_SETTID  0x100000u
#define CLONE_CHILD_CLEARTID 0x200000u
#define CLONE_DETACHED       0x400000u
#define CLONE_UNTRACED       0x800000u
#define CLONE_CHILD_SETTID   0x1000000u
#define CLONE_IO             0x80000000u

/* Create a child of the current process, which returns 0 from the system call whose full trap frame
 * is at the top of the current thread's kernel stack. usp: its stack pointer, 0: the parent's.
 * parent_tid: where its number goes (CLONE_PARENT_SETTID), or a descriptor of it (CLONE_PIDFD).
 * Returns its pid or a negative errno; with CLONE_VFORK it waits until the child has called exec or
 * ended. IPL 0. */
long process_clone(uint64_t flags, vaddr_t usp, vaddr_t parent_tid, vaddr_t child_tid,
                   uint64_t tls);

/* Replace the table of files of the current process (NULL: none). Returns the old one, with its
 * reference, which no other process finds from now on. The caller is the only thread. Takes the
 * table lock. */
struct file_table *process_change_files(struct process *p, struct file_table *files);
/* execve of the current process; argv and envp are user addresses. On success the frame at
 * kstack_top starts the new program. On error, a negative errno, nothing has changed. IPL 0;
 * waits. */
int process_exec(const char *path, vaddr_t argv, vaddr_t envp);

/* End the current process with all its threads; status as wait4 returns it. The status of whoever
 * asks first counts. IPL 0, no locks. */
void process_exit(uint32_t status) __attribute__((noreturn));

struct wait_result {
    uint32_t pid, uid, status;
    bool trapped;         /* a stop of a thread that the caller traces */
    struct cpu_time used; /* with that of the children it had waited for */
};
#define WNOHANG    1u
#define WUNTRACED  2u /* with waitid WSTOPPED */
#define WEXITED    4u
#define WCONTINUED 8u
#define WNOWAIT    0x1000000u
/* Wait for a child: with this pid if pid > 0, of the caller's process group if 0, any if -1, of
 * group -pid if < -1. 1 with *r filled in; 0: none is ready (WNOHANG); -ECHILD; -ERESTARTSYS. IPL
 * 0. */
int process_wait(int32_t pid, unsigned options, struct wait_result *r);
/* Report to the parent that the current process stopped or continued; status as wait4 returns it.
 * Takes the table lock. */
void process_report_stop(uint32_t status);

/* Set ITIMER_REAL: first and interval in ns, first 0: off. The previous setting goes to *left and
 * *old_interval. 0; -EAGAIN: the user may have no more timers with an interval. IPL 0; waits. */
int process_alarm_set(uint64_t first, uint64_t interval, uint64_t *left, uint64_t *old_interval);
void process_alarm_get(uint64_t *left, uint64_t *interval);

/* kill(2): pid has the same meaning; as on Linux, the number of a thread names its process. 0 or a
 * negative errno. Takes the table lock. */
int process_kill(int32_t pid, int sig, int code);
/* tkill and tgkill: send sig to the thread tid of process tgid (0: of any). 0, -EINVAL, -EPERM,
 * -ESRCH. Takes the table lock. */
int process_kill_thread(uint32_t tgid, uint32_t tid, int sig);
/* Send a signal with what its sender gave (info->signo is not checked yet) to the process pid, or
 * to its thread tid (0: to any). 0; -ESRCH; -EINVAL; -EPERM; -EAGAIN: it could not be queued. Takes
 * the table lock. */
int process_queue_signal(uint32_t pid, uint32_t tid, const struct signal_info *info);
/* The same to the process that has this pid and start_ns. */
int process_signal_started(uint32_t pid, uint64_t start_ns, const struct signal_info *info);
/* Send sig to every process of a group on behalf of the kernel. This reaches group 1 too, for which
 * kill(2) has no number. False: all processes of the group have ended, or are ending and took no
 * notice. Takes the table lock. */
bool process_kill_group(uint32_t pgid, int sig, int code);

/* The current thread, of p, ends or calls exec: release its robust futexes, clear the word that
 * clone or set_tid_address named, and wake who waits for it. NULL until kernel/sys sets it at boot.
 * IPL 0. */
extern void (*futex_end_hook)(struct process *p, struct uthread *u);

/* ---- called by trap dispatch ---- */

/* A fault of the current process cannot be resolved: send it sig with this si_code and address, to
 * be delivered on the return to user mode. */
void signal_force(int sig, int code, vaddr_t addr);
/* The same with an errno (a positive number) for si_errno: why the address cannot be accessed. */
void signal_force_error(int sig, int code, vaddr_t addr, int error);
/* The slow path of the return to user mode, taken when hw.syscall_exit is not 0: parks for a
 * freeze, reschedules, delivers signals, and so may end the process. The trap frame is full. IPL
 * 0. */
void process_return_slow(void);
/* A fault of the current process got no page: end a process, chosen as oom.c says, or wait a tick
 * for one that is ending. The caller then returns to user mode, which faults again. IPL 0;
 * waits. */
void process_no_memory(void);
/* A system call of the current thread failed with -ENOMEM, and has done nothing. 0: memory was
 * short, and now there is some: it is to be made again. ERESTARTNOINTR: the same, after a signal
 * that is pending; ENOMEM: it has failed. IPL 0, no lock; waits for the pager. */
int process_call_again(void);
/* If the call that the current thread is in returns -ENOMEM, it has done something: it is not to be
 * made again. Own thread. */
void process_call_not_again(void);
/* By process_return_slow, for EXIT_AGAIN: the call is over. */
#define EXIT_AGAIN 32ul /* bit of hw.syscall_exit */
void process_call_over(void);
/* Start the first process; argv is nbytes of words, each but perhaps the last ended by a NUL. A
 * program that cannot be started ends the run with status 126 or 127 in the result record. Boot
 * only. */
void process_start_first(const char *argv, size_t nbytes, bool command);

#endif
