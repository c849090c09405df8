/*
 * Scheduling groups: threads that share the CPUs as one, in the fair rule (fair.h). Each user has
 * one; a process with several threads may have one inside its user's. A group has a node and a
 * queue for each CPU; all groups below one parent have equal shares of each CPU on which they have
 * ready threads.
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

/* Where a thread stands in the fair rule: its weight, and how far its virtual time is above the
   floor of its queue, as time at FAIR_WEIGHT. */
struct thread_share {
    uint32_t weight;
    int64_t lead_ns;
};
/* The share of t, which does not end meanwhile. IPL and locks as above. */
struct thread_share thread_share(const struct thread *t);

#endif
