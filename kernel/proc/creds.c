/* Identity and privileges of a process, and their changes; creds.h states the rules. */
#include "kernel/proc/creds.h"

#include "kernel/base/abi/prvdef.h"
#include "kernel/base/errno.h"
#include "kernel/fs/inode.h"
#include "kernel/proc/process.h"
#include "kernel/proc/signal.h"
#include "kernel/proc/threads.h"
#include "kernel/quota/quota.h"
#include "kernel/sched/group.h"

/* The masks are read without a lock (process_privileges, others), so each is stored as a word. */
static void set_masks(struct process *p, uint64_t current, uint64_t permanent, uint64_t authorised,
                      uint64_t rights)
{
    __atomic_store_n(&p->privileges, current, __ATOMIC_RELAXED);
    __atomic_store_n(&p->permanent, permanent, __ATOMIC_RELAXED);
    __atomic_store_n(&p->authorised, authorised, __ATOMIC_RELAXED);
    __atomic_store_n(&p->rights, rights, __ATOMIC_RELAXED);
}

void creds_grant_all(struct process *p)
{
    set_masks(p, PRV_ALL, PRV_ALL, PRV_ALL, MEGA_RIGHTS_ALL);
}

static void set_ids_locked(struct process *p, uint32_t uid, uint32_t gid)
{
    __atomic_store_n(&p->uid, uid, __ATOMIC_RELAXED);
    __atomic_store_n(&p->gid, gid, __ATOMIC_RELAXED);
    __atomic_store_n(&p->euid, uid, __ATOMIC_RELAXED);
    __atomic_store_n(&p->egid, gid, __ATOMIC_RELAXED);
    __atomic_store_n(&p->suid, uid, __ATOMIC_RELAXED);
    __atomic_store_n(&p->sgid, gid, __ATOMIC_RELAXED);
    __atomic_store_n(&p->fsuid, uid, __ATOMIC_RELAXED);
    __atomic_store_n(&p->fsgid, gid, __ATOMIC_RELAXED);
    io_groups_set(&p->groups, NULL, 0);
    __atomic_store_n(&p->uic_member, uid, __ATOMIC_RELAXED);
    __atomic_store_n(&p->uic_group, gid, __ATOMIC_RELAXED);
}

/* The scheduling group of each user, by the number of the user's account; initialised when it is
 * first used. Pointers to them: process table lock. */
static struct sched_group user_groups[ACCOUNTS_MAX];

struct sched_group *creds_group_locked(const struct account *a)
{
    struct sched_group *g = &user_groups[a - accounts];

    if (!g->nodes[0].queue)
        sched_group_init(g, NULL);
    return g;
}

struct account *creds_change_account_locked(struct process *p, struct account *a)
{
    struct account *was = p->account;

    account_charge_forced(a, QUOTA_PROCESSES, 1);
    account_release(was, QUOTA_PROCESSES, 1);
    p->account = a;
    thread_follow_account_locked(p, p == process_self() ? uthread_self()
                                                        : process_first_thread_locked(p));
    return was;
}

void creds_follow_locked(struct process *p, const uint32_t now[3])
{
    bool was_super = process_euid(p) == 0;

    if (now[0] != 0 && now[1] != 0 && now[2] != 0)
        set_masks(p, 0, 0, 0, 0);
    else if (was_super != (now[1] == 0))
        __atomic_store_n(&p->privileges, was_super ? 0 : p->permanent, __ATOMIC_RELAXED);
}

int creds_set(struct process *p, const struct mega_creds *c)
{
    struct account *a = account_get(c->uic_member);
    ipl_t ipl;

    if (!a)
        return -EAGAIN;
    ipl = spin_lock(&process_lock);
    set_ids_locked(p, c->uic_member, c->uic_group);
    a = creds_change_account_locked(p, a);
    set_masks(p, c->privileges, c->privileges, c->authorised, c->rights);
    __atomic_store_n(&p->personal.undumpable, true, __ATOMIC_RELAXED); /* until exec: ids.c */
    spin_unlock(&process_lock, ipl);
    threads_account_changed(p, a);
    account_unref(a);
    return 0;
}

static uint64_t changed(uint64_t word, bool enable, uint64_t mask)
{
    return enable ? word | mask : word & ~mask;
}

bool creds_set_privileges(struct process *p, bool enable, uint64_t mask, bool permanent)
{
    ipl_t ipl = spin_lock(&process_lock);
    uint64_t allowed = p->authorised & PRV_SETPRV ? PRV_ALL : p->authorised;
    bool all = !enable || !(mask & ~allowed);

    if (enable)
        mask &= allowed;
    set_masks(p, changed(p->privileges, enable, mask),
              permanent ? changed(p->permanent, enable, mask) : p->permanent, p->authorised,
              p->rights);
    spin_unlock(&process_lock, ipl);
    return all;
}

void creds_exec_locked(struct process *p)
{
    __atomic_store_n(&p->privileges, p->permanent, __ATOMIC_RELAXED);
}

bool creds_is_system(const struct process *p)
{
    return process_uic_group(p) <= CREDS_MAXSYSGROUP || (process_privileges(p) & PRV_SYSPRV) != 0;
}
