/*
 * Scheduling groups: threads that share the CPUs as one, in the fair rule (fair.h). Each user has
 * one; a process with several threads may have one inside its user's. A group has a node and a
 * queue for each CPU. The groups of one user have equal shares of what it has of a CPU; those of
 * the users have shares of a CPU according to the part of their threads there (README.md).
 *
 * A group's memory belongs to whoever initialised it, who may free it when it has no member that
 * is alive. The groups of users are never freed (kernel/proc/creds.c).
 */
#ifndef KERNEL_SCHED_GROUP_H
#define KERNEL_SCHED_GROUP_H

#include "arch/alpha/hw/cpu.h"
#include "kernel/sched/fair.h"

struct thread;

struct sched_group {
    struct fair_node nodes[MAX_CPUS];   /* of a CPU: run queue's lock */
    struct fair_queue queues[MAX_CPUS]; /* as nodes */
    struct sched_group *top;            /* the user's: itself, or what it is inside; constant */
    /* Of a user's: the sum of the weights of those threads of PRIO_NORMAL that are ready or run on
       each CPU. Kept if there are several CPUs. Written under the run queue's lock; atomic: other
       CPUs read it as a hint. */
    uint64_t active[MAX_CPUS];
};

/* The group of the kernel's own threads. */
extern struct sched_group sched_kernel_group;

/* Initialise a group inside parent, NULL: beside the groups of users. */
void sched_group_init(struct sched_group *g, struct sched_group *parent);
/* Make t a member of g instead of its present group. IPL up to IPL_CLOCK, spinlocks below
   RANK_SCHED. */
void thread_set_group(struct thread *t, struct sched_group *g);
/* Set t's nice value, -20 to 19. IPL and locks as above. */
void thread_set_nice(struct thread *t, int nice);
/* Others wait for what t has: while `nice` is better than its own value, it has the weight of that
   one. NICE_WORST: nobody does any more. IPL and locks as above. */
#define NICE_WORST 19
void thread_lend_nice(struct thread *t, int nice);
/* The better of t's own nice value and the one that it is lent. Any IPL; a hint for others. */
int thread_lent_nice(const struct thread *t);

/* Where a thread stands in the fair rule: its weight, and how far its virtual time is above the
   floor of its queue, as time at FAIR_WEIGHT. */
struct thread_share {
    uint32_t weight;
    int64_t lead_ns;
};
/* The share of t, which does not end meanwhile. IPL and locks as above. */
struct thread_share thread_share(const struct thread *t);

#endif
