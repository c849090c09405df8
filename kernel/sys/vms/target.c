/* The process that a service is asked to act on: finding it, and the right to it. */
#include "kernel/sys/vms/target.h"

#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/abi/ssdef.h"
#include "kernel/base/string.h"
#include "kernel/proc/numbers.h"
#include "kernel/sys/vms/items.h"

static bool same_uic(const struct process *a, const struct process *b)
{
    return process_uic_group(a) == process_uic_group(b) &&
           process_uic_member(a) == process_uic_member(b);
}

bool vms_target_allowed(const struct process *self, const struct process *p)
{
    if (p == self || same_uic(p, self) || (process_privileges(self) & PRV_WORLD))
        return true;
    return process_uic_group(p) == process_uic_group(self) &&
           (process_privileges(self) & PRV_GROUP);
}

struct search {
    const struct vms_target *t;
    const struct process *self;
    uint32_t found; /* its number; 0: none */
};

/* Of the processes with the name, select the one with the lowest number. A zombie is not a process
   in the sense of OpenVMS, and one whose end was told has no name any more. */
static enum process_visit consider(struct process *p, void *arg)
{
    struct search *s = arg;
    bool fits = process_uic_group(p) == process_uic_group(s->self) &&
                strncmp(p->name, s->t->name, sizeof(p->name)) == 0;

    if (fits && p->state == PROCESS_LIVE && !p->kin.nameless && (!s->found || p->pid < s->found))
        s->found = p->pid;
    return PROCESS_NEXT;
}

/* Take the table lock and find the live process of the lowest number above pid. It is looked for by
   the bitmap of numbers in use, in steps, with the lock dropped after each: so a search over all
   processes takes a time in proportion to their number, not to its square. */
static ipl_t next_and_lock(uint32_t pid, struct process **p)
{
    for (;;) {
        ipl_t ipl = spin_lock(&process_lock);

        pid = pid < numbers_end ? number_next(pid + 1) : numbers_end;
        *p = process_find_locked(pid);
        if ((*p && (*p)->state == PROCESS_LIVE && (*p)->nthreads) || pid >= numbers_end ||
            thread_killed())
            return ipl;
        spin_unlock(&process_lock, ipl);
    }
}

/* A search for a name drops the lock, so what it has found may have ended since: then it searches
   again. */
ipl_t vms_target_lock(const struct vms_target *t, struct process **p)
{
    struct search s = {.t = t, .self = process_self(), .found = t->pid};
    ipl_t ipl;

    if (t->search)
        return next_and_lock(t->pid, p);
    for (;;) {
        if (t->by_name) {
            s.found = 0;
            process_search(0, consider, &s);
        }
        ipl = spin_lock(&process_lock);
        *p = s.found ? process_find_locked(s.found) : NULL;
        if (!t->by_name || !s.found || (*p && (*p)->state == PROCESS_LIVE) || thread_killed())
            return ipl;
        spin_unlock(&process_lock, ipl);
    }
}

cond_t vms_target_decode(vaddr_t pidadr, vaddr_t prcnam, struct vms_target *t)
{
    uint32_t pid = 0;

    memset(t, 0, sizeof(*t));
    if (pidadr && (copyin(&pid, pidadr, sizeof(pid)) != 0 || probe_write(pidadr, sizeof(pid)) != 0))
        return SS$_ACCVIO;
    t->pid = pid ? pid : process_self()->pid;
    t->search = (pid & VMS_SEARCH) != 0;
    if (t->search)
        t->pid = pid == VMS_SEARCH_START ? 0 : pid & ~VMS_SEARCH;
    if (pid || !prcnam)
        return SS$_NORMAL;
    t->by_name = true;
    return vms_short_name(prcnam, t->name, VMS_PROCESS_NAME_MAX);
}
