/*
 * What binds processes that $CREPRC has made to others: a subprocess has an owner, with which it
 * ends, and both are members of a job, whose limit of subprocesses they share. A detached process
 * is the master of a job of its own. fork makes neither: its children have a parent (process.h),
 * and when they make subprocesses, a job of their own with the limit of their parent's.
 *
 * Part of struct process. Everything here is protected by the table lock, except where it says
 * otherwise.
 */
#ifndef KERNEL_PROC_KIN_H
#define KERNEL_PROC_KIN_H

#include "kernel/base/cond.h"
#include "kernel/base/list.h"
#include "kernel/base/types.h"
#include "kernel/qio/qio.h"

struct event_request;
struct process;

/* A process and its subprocesses, theirs included. In nonpaged pool. */
struct job {
    uint32_t refs;    /* members */
    uint32_t count;   /* subprocesses; at most `limit` */
    uint32_t limit;   /* PRCLM */
    uint32_t master;  /* the process at the top; constant */
    uint16_t account; /* charged for this structure; constant */
};

/* Limits that $CREPRC has given to a process; 0: those of the system parameters. Constant. */
struct kin_limits {
    uint32_t asts, timers; /* ASTLM, TQELM */
    struct qio_limits io;  /* BIOLM, BYTLM */
    uint32_t subprocesses; /* PRCLM + 1 of the job that it makes when it needs one: a child of fork
                              has that of its parent's job */
};

struct kin {
    struct process *owner;    /* NULL: it has none, or that has ended */
    struct list subprocesses; /* of `owned` */
    struct list owned;
    uint32_t count;            /* of subprocesses */
    struct job *job;           /* NULL: it never had a subprocess, and is none */
    bool is_subprocess, named; /* constant; named: exec leaves its name alone */
    bool nameless;       /* it ends, and its name is free for others; what it has used is recorded
                            with the name all the same */
    bool resume_pending; /* $RESUME when it was not suspended: the next $SUSPND has no effect */
    uint8_t base;        /* base priority + 1; 0: as its nice value says */
    uint32_t flags;      /* PRC$M_*; constant */
    struct mailbox_number told; /* the mailbox that is told of its end; constant once it runs */
    struct kin_limits limits;   /* constant */
    uint64_t final_status; /* KIN_STATUS_GIVEN and the condition value of its program, which may be
                              0; 0: it has given none. Atomic */
    struct event_request *completion; /* of the owner, completed when it has ended; or NULL */
};

#define KIN_STATUS_GIVEN (1ul << 32)

/* The number of subprocesses that the job of p may have, PRCLM, + 1; 0: as the parameter says. Own
 * threads if they are alone, or table lock held. */
uint32_t kin_subprocess_limit(const struct process *p);
/* A new structure, which is zero so far. */
void kin_init(struct kin *k);
/* Charge the current process's job, which is made if there is none, for one subprocess more.
 * SS$_NORMAL, SS$_EXPRCLM, SS$_INSFMEM. IPL 0; takes the table lock. */
cond_t kin_charge(void);
void kin_discharge(void);
/* A job of its own for p, which nobody else knows yet. limit: PRCLM + 1, 0: the parameter's.
 * False: no memory. */
bool kin_make_job(struct process *p, uint32_t limit);
/* p, with a number, enters the table as a subprocess of owner, who has called kin_charge, or (NULL)
 * as the master of the job that kin_make_job has made. */
void kin_enter_locked(struct process *p, struct process *owner);
/* p, which never entered the table, is freed. */
void kin_abandon(struct process *p);
/* p ends: delete its subprocesses, which then have no owner. By its last thread. IPL 0; takes the
 * table lock. */
void kin_delete_subprocesses(struct process *p);
/* p, which has none any more, leaves its owner and its job. Returns what is to be posted once it
 * has ended, or NULL. *last: the job if p was its last member, for kin_job_free; else NULL. By its
 * last thread. Table lock held. */
struct event_request *kin_end_locked(struct process *p, struct job **last);
/* j: NULL, or a job that no process knows. */
void kin_job_free(struct job *j);
/* The condition value that p ends with; status as wait4 returns it. By its last thread. */
uint32_t kin_final_status(const struct process *p, uint32_t status);

#endif
