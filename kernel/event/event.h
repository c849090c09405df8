/*
 * Event flags, ASTs, timers and hibernation of processes (kernel/event/README.md).
 *
 * A process that uses any of them has a struct event_owner. "Own threads" are threads of that
 * process. Unless a function says otherwise, its caller is a thread of the owner's process, or
 * holds a reference to the owner; IPL 0, no spinlock. Results are condition values. Rules of the
 * services: docs/openvms.md.
 */
#ifndef KERNEL_EVENT_EVENT_H
#define KERNEL_EVENT_EVENT_H

#include "kernel/base/cond.h"
#include "kernel/base/list.h"
#include "kernel/base/types.h"

struct event_owner;
struct thread;

#define EVENT_LOCAL_FLAGS  64u  /* flags 0 to 63 belong to one process */
#define EVENT_FLAGS        128u /* 64 to 127 are those of the common clusters 2 and 3 */
#define EVENT_NONE         128u /* EFN$C_ENF: no flag */
#define EVENT_CLUSTER_NAME 15u  /* most bytes of the name of a common cluster */

/* Boot: permanent clusters are explained to the check for leaks. After the pools. */
void event_boot(void);

/* ---- owners ---- */

/* A new owner with one reference, whose ASTs are delivered to `target`, a thread of its process.
 * account: the number of the account that its memory is charged to (pool_account). NULL: no memory.
 * Also at IPL_ASTDEL. */
struct event_owner *event_owner_create(struct thread *target, uint16_t account);
/* How many ASTs and timer requests a new owner may have, 0: as many as PQL_DASTLM and PQL_DTQELM
 * say at the time. */
void event_set_limits(struct event_owner *o, uint32_t asts, uint32_t timers);
void event_owner_ref(struct event_owner *o); /* any IPL */
/* Give up a reference. Any IPL up to IPL_CLOCK, spinlocks of ranks below RANK_POOL. */
void event_owner_unref(struct event_owner *o);
/* From now on deliver ASTs to `to`, because the thread `from` leaves: nothing if ASTs are not
 * delivered to that one. The process is in existence; locks of ranks below RANK_EVENTS. */
void event_retarget(struct event_owner *o, const struct thread *from, struct thread *to);
/* The program ends, and another begins in the same process: cancel timers and wake-ups, drop ASTs
 * and what has not completed yet, leave common clusters. Local flags and a pending wake-up stay.
 * The process's only thread. */
void event_rundown(struct event_owner *o);
/* The same as the process ends; gives up the process's reference. */
void event_end(struct event_owner *o);

/* ---- event flags ---- */

/* Set, clear or test a flag. SS$_WASSET or SS$_WASCLR: what it was; SS$_ILLEFC: there is no such
 * flag; SS$_UNASEFC: the process is not associated with its cluster. */
cond_t event_flag_set(struct event_owner *o, uint32_t efn);
cond_t event_flag_clear(struct event_owner *o, uint32_t efn);
/* The same, and the state of the 32 flags of its cluster goes to *state. */
cond_t event_flag_read(struct event_owner *o, uint32_t efn, uint32_t *state);

enum event_until { EVENT_ANY, EVENT_ALL };
/* Wait until any or all flags of a mask are set, in the cluster that efn is in. *interrupted: there
 * is something else to do first; the service is then to be repeated. SS$_NORMAL, SS$_ILLEFC,
 * SS$_UNASEFC. */
cond_t event_flags_wait(struct event_owner *o, uint32_t efn, uint32_t mask, enum event_until until,
                        bool *interrupted);
/* Wait until a request with the status block at iosb (0: none) and the flag efn, or EVENT_NONE, has
 * completed: the status is not 0, or without a block the flag is set. As event_flags_wait, and
 * SS$_ACCVIO: the block cannot be read. */
cond_t event_synch(struct event_owner *o, uint32_t efn, vaddr_t iosb, bool *interrupted);

/* ---- common clusters ---- */

/* Who asks for a common cluster. */
struct event_who {
    uint32_t uic_group, uic_member;
    bool prmceb;      /* may make and delete permanent clusters */
    uint16_t account; /* that pays for a cluster: pool_account() */
};

struct event_cluster_name {
    char text[EVENT_CLUSTER_NAME];
    uint32_t length; /* 1 to EVENT_CLUSTER_NAME */
};

/* $ASCEFC: associate the cluster that efn is in with the named one, which is made if there is none.
 * owner_only: a new one may be used by the caller's UIC only. SS$_NORMAL, SS$_ILLEFC, SS$_NOPRIV,
 * SS$_EXQUOTA (the limit on timer requests and temporary clusters), SS$_INSFMEM. */
cond_t event_associate(struct event_owner *o, uint32_t efn, const struct event_cluster_name *name,
                       const struct event_who *who, bool owner_only, bool permanent);
/* $DACEFC: SS$_NORMAL, also if there was no association; SS$_ILLEFC. */
cond_t event_disassociate(struct event_owner *o, uint32_t efn);
/* $DLCEFC: a permanent cluster becomes a temporary one. SS$_NORMAL, also if there is none of that
 * name; SS$_NOPRIV. */
cond_t event_cluster_delete(const struct event_cluster_name *name, const struct event_who *who);

/* What an operator sees of a common cluster. */
struct event_cluster_state {
    struct event_cluster_name name;
    uint32_t uic_group, uic_member; /* of who has made it */
    bool owner_only, permanent;
    uint32_t associations;
};
/* Copy the state of the index-th cluster in the order of groups and names, counted from 0; it is
 * found by a walk from the first. false: there are no more. IPL 0; takes the directory's mutex. */
bool event_cluster_nth(uint64_t index, struct event_cluster_state *state);

/* ---- requests that complete later ---- */

/*
 * A request of a service: what is to happen when it completes. The structure is part of one of the
 * service's own, in nonpaged pool.
 *
 *   event_request_begin    the arguments are right: the flag is cleared, an AST charged
 *   event_post             it has completed, once, by anybody
 *   (finish)               a thread of the process completes it in its own address space
 *   status block, flag, AST in this order
 *   release                nobody refers to it any more
 *
 * A request that was begun and is not posted ends with event_request_cancel.
 */
struct event_request {
    struct list link;          /* owner's lock */
    struct event_owner *owner; /* holds a reference; constant */
    uint32_t efn;              /* or EVENT_NONE; constant */
    uint32_t image;            /* of the owner, when it began; constant */
    vaddr_t iosb;              /* of a quadword, 0: none; constant */
    uint64_t status;           /* for the block; written by event_post or `finish` */
    vaddr_t astadr;            /* 0: none; constant */
    uint64_t astprm;           /* constant */
    /* Called by a thread of the process at IPL 0 without locks, before the status block is written:
     * for copies to user memory. It may change `status`. False: the request is not complete after
     * all; who has begun it has it again, and posts it once more, or has done so already. NULL:
     * nothing. It is not called if the process or its program has ended. */
    bool (*finish)(struct event_request *r);
    /* Free the request. Called once, in any thread or interrupt, at an IPL up to IPL_CLOCK without
     * locks of this folder; event_post may call it, with the locks of its caller. */
    void (*release)(struct event_request *r);
};

/* Begin r, whose functions are set: clears the flag. SS$_NORMAL; SS$_ILLEFC; SS$_UNASEFC;
 * SS$_EXASTLM: the process has as many ASTs outstanding as it may have. After an error nothing has
 * been done. The arguments are those of the service; that iosb can be written the caller has
 * checked. */
cond_t event_request_begin(struct event_request *r, struct event_owner *o, uint32_t efn,
                           vaddr_t iosb, vaddr_t astadr, uint64_t astprm);
/* Take back what event_request_begin has done, but for the flag. The caller frees r. */
void event_request_cancel(struct event_request *r);
/* r has completed, with this quadword for its status block: sets the flag, writes the block, queues
 * the AST, as soon as a thread of the process can. r may be gone on return. Any IPL up to
 * IPL_CLOCK, any CPU; spinlocks of ranks below RANK_POOL. */
void event_post(struct event_request *r, uint64_t status);
/* The same by a thread of the process itself, at IPL 0 without locks: completes r on the spot. */
void event_post_self(struct event_request *r, uint64_t status);
/* Something that is waited for without an event flag (EVENT_NONE) has happened: the waiters look at
 * their status blocks. As event_post, but the caller knows that o stays. */
void event_wake_none(struct event_owner *o);
/* Complete what was posted to the owner. Own threads. */
void event_absorb(struct event_owner *o);

/* ---- ASTs ---- */

struct event_ast {
    vaddr_t routine;
    uint64_t parameter;
};

/* $DCLAST: queue an AST. SS$_NORMAL, SS$_EXQUOTA (ASTLM), SS$_INSFMEM. */
cond_t event_declare_ast(struct event_owner *o, const struct event_ast *ast, uint16_t account);
/* $FORCEX: queue the one AST that an owner has for this, outside of ASTLM. Nothing if it is queued
 * already, or the process ends. Locks of ranks below RANK_EVENTS. */
void event_force_ast(struct event_owner *o, const struct event_ast *ast);
/* $SETAST: SS$_WASSET or SS$_WASCLR: what it was. */
cond_t event_enable_asts(struct event_owner *o, bool enable);
/* Is there something that the current thread, one of the process, is to do on its way to user mode?
 * Any IPL. */
bool event_is_asked(const struct event_owner *o);
/* Take the first AST, if one is to be delivered to the current thread: it is active until
 * event_ast_over. */
bool event_take_ast(struct event_owner *o, struct event_ast *ast);
/* The current thread, if ASTs are delivered to it, takes none until it says so again. Own
 * threads. */
void event_hold_asts(struct event_owner *o, bool hold);
/* The routine of the active AST has ended, or (from_any) is to be seen as ended. Own threads. */
void event_ast_over(struct event_owner *o, bool from_any);
/* ASTs outstanding, and the limit; likewise timer requests. For display. */
struct event_counts {
    uint32_t asts, ast_limit, timers, timer_limit;
    uint32_t flags[2];    /* local event flags 0 to 31, 32 to 63 */
    bool active, enabled; /* an AST routine runs; ASTs are delivered */
};
void event_counts(const struct event_owner *o, struct event_counts *c);
/* Those of a process that has no owner yet, and is to get these limits (event_set_limits). */
void event_limits(uint32_t asts, uint32_t timers, struct event_counts *c);

/* ---- timers ---- */

struct event_timer {
    uint64_t id;       /* reqidt */
    uint64_t deadline; /* of clock_ns(), or (cpu) of the process's CPU time, not 0 */
    bool cpu;
    uint32_t efn;
    vaddr_t astadr;
};

/* $SETIMR: SS$_NORMAL, SS$_ILLEFC, SS$_UNASEFC, SS$_EXQUOTA (TQELM, or ASTLM), SS$_INSFMEM. */
cond_t event_timer_set(struct event_owner *o, const struct event_timer *t, uint16_t account);
/* $CANTIM: cancel the timers with that identification, 0: all. */
void event_timer_cancel(struct event_owner *o, uint64_t id);
/* The process has used so much CPU time: complete its timers of CPU time that have expired. By one
 * of its threads, at IPL 0. Returns whether there may be others. */
bool event_cpu_timers_expire(struct event_owner *o, uint64_t used_ns);
/* May there be timers of CPU time? Any IPL. */
bool event_has_cpu_timers(const struct event_owner *o);

/* ---- hibernation ---- */

/* $HIBER: SS$_NORMAL; *interrupted as event_flags_wait. */
cond_t event_hibernate(struct event_owner *o, bool *interrupted);
/* $WAKE. Any IPL up to IPL_CLOCK; spinlocks of ranks below RANK_EVENTS. */
void event_wake(struct event_owner *o);
/* $SCHDWK: wake o when clock_ns() reaches the deadline and, unless interval is 0, every so many ns
 * from then on, but not more often than EVENT_INTERVAL_NS. `by`: the owner whose limits are
 * charged. SS$_NORMAL, SS$_EXQUOTA, SS$_INSFMEM; SS$_NONEXPR: its process has ended. */
#define EVENT_INTERVAL_NS 10000000u
cond_t event_schedule_wake(struct event_owner *o, struct event_owner *by, uint64_t deadline,
                           uint64_t interval, uint16_t account);
/* $CANWAK: cancel all of them. */
void event_cancel_wakes(struct event_owner *o);

#endif
