/*
 * The threads of a process: how they begin and end, and walks of their list.
 *
 * Work that grows with the number of threads is done by threads of the process itself, at IPL 0, in
 * portions, and never by who sends a signal or ends a stop: those deal with the first few threads
 * and leave a note (`seeking`, `ending` of struct sighand).
 */
#ifndef KERNEL_PROC_THREADS_H
#define KERNEL_PROC_THREADS_H

#include "kernel/proc/process.h"
#include "kernel/proc/signal.h"

/* clone with CLONE_THREAD: one more thread of the current process, which returns 0 from the same
 * system call with usp as its stack pointer. Its number, or a negative errno. IPL 0. */
long process_thread_create(uint64_t flags, vaddr_t usp, vaddr_t parent_tid, vaddr_t child_tid,
                           uint64_t tls);
/* End the current thread; if it is the last one, the process ends. status as wait4 returns it: the
 * process's, if this is the first thread and no thread ends the whole process. IPL 0, no locks. */
void process_thread_exit(uint32_t status) __attribute__((noreturn));
/* The current thread is marked fatal, or the process ends: end it accordingly. */
void threads_end_self(void) __attribute__((noreturn));
/* exec: end all other threads and wait until they have left; the caller takes the number of the
 * process. 0, or -EAGAIN: the caller itself is to end. IPL 0; waits. */
int threads_end_others(void);

/* The thread with that number, in any process; NULL: none. Table lock held. */
struct uthread *thread_find_locked(uint32_t tid);

/* Interrupt each other thread of p, the current process, that can take one of the signals sent to
 * the process. IPL 0. */
void threads_seek(struct process *p);
static inline void threads_seek_if_asked(struct process *p)
{
    if (unlikely(__atomic_load_n(&p->sig->seeking, __ATOMIC_RELAXED)))
        threads_seek(p);
}
/* Interrupt each other thread of p, the current process. IPL 0. */
void threads_interrupt_others(struct process *p);

/* The place after l in p's list, of a thread: l is p->threads or an element. NULL: the end. Table
 * lock or signal lock held. */
static inline struct uthread *uthread_next_locked(const struct process *p, const struct list *l)
{
    while ((l = list_next(&p->threads, l)) != NULL)
        if (likely(list_entry(l, struct uthread_place, link)->user != NULL))
            return list_entry(l, struct uthread_place, link)->user;
    return NULL;
}

/* What a process's threads have used and done together. */
struct thread_sums {
    struct cpu_time used;
    uint64_t switches, unaligned;
    uint64_t disk_requests; /* with those of ended threads, where the sum is */
};
/* Add what t has used and done. */
void thread_sums_add(struct thread_sums *sum, const struct thread *t);
/* Those of p, with its ended threads: of its THREADS_SUMMED oldest threads, *more (or NULL): there
 * are others. Table lock held. */
#define THREADS_SUMMED 24u
struct thread_sums threads_sums_locked(const struct process *p, bool *more);
/* Those of the current process; of the process with this pid and start, false: there is none. All
 * threads are counted. IPL 0, no lock. */
struct thread_sums threads_sums_self(void);
bool threads_sums_of(uint32_t pid, uint64_t start_ns, struct thread_sums *sum);

/* p, whose account was `was`, has another one: its other threads, who charge what they allocate to
 * `was`, are to follow. By a thread of p, which holds a reference to `was`. IPL 0, no lock. */
void threads_account_changed(struct process *p, struct account *was);
/* Thread u of p, which does not run or is the current one, charges p's account from now on. Table
 * lock held. */
void thread_follow_account_locked(struct process *p, struct uthread *u);
/* The same for the current thread, after a change by another one. IPL 0, no lock. */
void threads_follow_account(void);
/* The last thread of p leaves p's scheduling group, which is freed. */
void threads_end_group(struct process *p);

/* Free u, which has left its process, whose signal state is or was s. */
void thread_forget(struct uthread *u, const struct sighand *s);
/* In exit.c: the end of the process with its last thread, the caller. */
void process_end(struct process *p, uint32_t status) __attribute__((noreturn));
/* In fork.c: the registers of a new thread are the caller's, with 0 as the result. */
void fork_registers(struct thread *t, vaddr_t usp, uint64_t flags, uint64_t tls);
/* In fork.c: make p's fs_context one that can be shared. False: memory is short. */
bool process_fs_sharable(struct process *p);
/* In exit.c: tell programs of the end of the current thread of p: its robust futexes, its word. */
void process_tell_end(struct process *p);

#endif
