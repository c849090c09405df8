/* Process groups (groups.h): one entry for each number. Protected by the process table lock. */
#include "kernel/proc/groups.h"

#include "kernel/base/panic.h"
#include "kernel/proc/numbers.h"

static struct group *groups;

void groups_boot(struct group *table) { groups = table; }

void group_enter(uint32_t pgid, uint32_t sid)
{
    KASSERT(pgid < numbers_end, "a group has a number");
    KASSERT(!groups[pgid].members || groups[pgid].session == sid, "a group is of one session");
    groups[pgid].members++;
    groups[pgid].session = sid;
}

void group_leave(uint32_t pgid)
{
    KASSERT(pgid < numbers_end && groups[pgid].members, "the group has this process");
    groups[pgid].members--;
}

uint32_t group_session(uint32_t pgid)
{
    return pgid < numbers_end && groups[pgid].members ? groups[pgid].session : 0;
}
