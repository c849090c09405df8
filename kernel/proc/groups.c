/* Process groups (groups.h): one entry for each number. Protected by the process table lock. */
#include "kernel/proc/groups.h"

#include "kernel/base/panic.h"
#include "kernel/proc/numbers.h"
#include "kernel/proc/walk.h"

static struct group *groups;

void groups_boot(struct group *table) { groups = table; }

void group_enter(uint32_t pgid, uint32_t sid, struct process_place *p, bool is_new)
{
    struct group *g = &groups[pgid];

    KASSERT(pgid < numbers_end, "a group has a number");
    KASSERT(!g->members || g->session == sid, "a group is of one session");
    if (!g->list.next)
        list_init(&g->list);
    if (is_new)
        list_add_tail(&g->list, &p->link);
    else
        list_add_head(&g->list, &p->link);
    g->members++;
    g->session = sid;
}

void group_leave(uint32_t pgid, struct process_place *p)
{
    KASSERT(pgid < numbers_end && groups[pgid].members, "the group has this process");
    list_remove(&p->link);
    groups[pgid].members--;
}

struct list *group_members(uint32_t pgid)
{
    return pgid < numbers_end && groups[pgid].list.next ? &groups[pgid].list : NULL;
}

uint32_t group_session(uint32_t pgid)
{
    return pgid < numbers_end && groups[pgid].members ? groups[pgid].session : 0;
}
