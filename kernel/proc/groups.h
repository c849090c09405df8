/*
 * Process groups: of which session each is, and which processes it has. A group has the number of
 * its first process, which may have ended, so its session cannot be found in the process table; and
 * a signal to a group should not look at all processes.
 *
 * All functions: process table lock held. They run for a bounded time.
 */
#ifndef KERNEL_PROC_GROUPS_H
#define KERNEL_PROC_GROUPS_H

#include "kernel/base/list.h"

struct process_place;

struct group {
    struct list list; /* of struct process_place: the members, and walks; zero: never used */
    uint32_t members, session;
};

/* Boot: table has an element, all zeroes, for each number (numbers_end), and stays. */
void groups_boot(struct group *table);
/* A process of session sid enters the group, which is of that session if it has any process. The
 * caller holds a use of the number (numbers.h). A new process becomes the last member, so that a
 * walk meets it; one that comes from another group becomes the first, because two that go to and
 * fro would be before a walk for ever. */
void group_enter(uint32_t pgid, uint32_t sid, struct process_place *p, bool is_new);
/* A process leaves it. */
void group_leave(uint32_t pgid, struct process_place *p);
/* The list of its members, for a walk (walk.h); NULL: there has never been a group of the number.
 * It may be used for a later group of that number. */
struct list *group_members(uint32_t pgid);
/* The session of the group; 0: no process is in a group of that number. */
uint32_t group_session(uint32_t pgid);

#endif
