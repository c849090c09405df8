/*
 * Process groups: of which session each is, and how many processes it has. A group has the number
 * of its first process, which may have ended, so neither can be found in the process table.
 *
 * All functions: process table lock held. They run for a bounded time.
 */
#ifndef KERNEL_PROC_GROUPS_H
#define KERNEL_PROC_GROUPS_H

#include "kernel/base/types.h"

struct group {
    uint32_t members, session;
};

/* Boot: table has an element, all zeroes, for each number (numbers_end), and stays. */
void groups_boot(struct group *table);
/* A process of session sid enters the group, which is of that session if it has any process. The
 * caller holds a use of the number (numbers.h). */
void group_enter(uint32_t pgid, uint32_t sid);
/* A process leaves it. */
void group_leave(uint32_t pgid);
/* The session of the group; 0: no process is in a group of that number. */
uint32_t group_session(uint32_t pgid);

#endif
