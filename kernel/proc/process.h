/*
 * Processes: an address space, descriptors, signals, kin, and for now one thread each (clone with CLONE_VM|CLONE_VFORK
 * shares the address space until exec or exit). The owner of this header (posix) extends it.
 */
#ifndef KERNEL_PROC_PROCESS_H
#define KERNEL_PROC_PROCESS_H

#include "kernel/sched/thread.h"
#include "mm/aspace.h"

struct file_table;
struct sighand;

#define PRV_SYSGBL 0x1ul
#define PRV_PRMGBL 0x2ul
#define PRV_PFNMAP 0x4ul
#define PRV_PSWAPM 0x8ul
#define PRV_CMKRNL 0x10ul
#define RIGHT_MEM_RESIDENT_USER 0x1ul /* VMS$MEM_RESIDENT_USER */

struct process {
    uint32_t pid;              /* constant */
    uint32_t state;            /* protected by the process table lock */
    struct process *parent;    /* protected by the process table lock */
    struct list children, sibling, all; /* likewise */
    struct thread *thread;
    struct aspace *aspace;     /* own thread; replaced by exec */
    struct file_table *files;
    struct sighand *sig;
    uint32_t uid, gid, euid, egid;
    uint32_t uic_group, uic_member; /* UIC: group is the POSIX gid, member the uid */
    uint64_t privileges, rights;    /* PRV_*, RIGHT_*; root holds all */
    uint32_t exit_status;           /* as wait4 gives it */
    char name[16];
    vaddr_t brk_start, brk;
    uint64_t faults_minor;
};

static inline struct process *process_self(void) { return thread_self()->process; }

/* Trap dispatch calls these. */
/* The faulting instruction of the current process cannot be resolved: signal sig with si_code and address, delivered on the way out. */
void signal_force(int sig, int code, vaddr_t addr);
/* Slow way out to user mode (hw.syscall_exit nonzero): delivers signals, ends the process, reschedules. Frame is full. */
void process_return_slow(void);
/* The process is out of memory on a fault: killed and named on the console. */
void process_kill_out_of_memory(void);
/* First process; argv NUL-separated. Never fails: a program that cannot be started is the result record (126/127). */
void process_start_first(const char *argv, size_t nbytes, bool command);

#endif
