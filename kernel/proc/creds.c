/* Identity and privileges of a process, and their changes; creds.h states the rules. */
#include "kernel/proc/creds.h"

#include "kernel/base/abi/prvdef.h"
#include "kernel/base/errno.h"
#include "kernel/proc/process.h"
#include "kernel/proc/signal.h"
#include "kernel/quota/quota.h"

void creds_grant_all(struct process *p)
{
    p->privileges = p->permanent = p->authorised = PRV_ALL;
    p->rights = MEGA_RIGHTS_ALL;
}

static void set_ids_locked(struct process *p, uint32_t uid, uint32_t gid)
{
    __atomic_store_n(&p->uid, uid, __ATOMIC_RELAXED);
    __atomic_store_n(&p->gid, gid, __ATOMIC_RELAXED);
    __atomic_store_n(&p->euid, uid, __ATOMIC_RELAXED);
    __atomic_store_n(&p->egid, gid, __ATOMIC_RELAXED);
    __atomic_store_n(&p->suid, uid, __ATOMIC_RELAXED);
    __atomic_store_n(&p->sgid, gid, __ATOMIC_RELAXED);
    __atomic_store_n(&p->uic_member, uid, __ATOMIC_RELAXED);
    __atomic_store_n(&p->uic_group, gid, __ATOMIC_RELAXED);
}

/* Make p a process of account a, whose reference p takes over. The process counts there although a
 * user may then have more than the limit: a program that gives up its privileges must not fail to.
 * Everything else stays with the account that it was charged to. Returns the former account, for
 * the caller to drop. */
static struct account *change_account_locked(struct process *p, struct account *a)
{
    struct account *was = p->account;
    struct uthread *u;

    account_charge_forced(a, QUOTA_PROCESSES, 1);
    account_release(was, QUOTA_PROCESSES, 1);
    p->account = a;
    list_for_each_entry(u, &p->threads, link)
        u->thread->account = a;
    return was;
}

int process_set_ids(struct process *p, uint32_t uid, uint32_t gid)
{
    struct account *a = account_get(uid);
    ipl_t ipl;

    if (!a)
        return -EAGAIN;
    ipl = spin_lock(&process_lock);
    set_ids_locked(p, uid, gid);
    if (uid != 0)
        p->privileges = p->permanent = p->authorised = p->rights = 0;
    a = change_account_locked(p, a);
    spin_unlock(&process_lock, ipl);
    account_unref(a);
    return 0;
}

int creds_set(struct process *p, const struct mega_creds *c)
{
    struct account *a = account_get(c->uic_member);
    ipl_t ipl;

    if (!a)
        return -EAGAIN;
    ipl = spin_lock(&process_lock);
    set_ids_locked(p, c->uic_member, c->uic_group);
    a = change_account_locked(p, a);
    p->privileges = p->permanent = c->privileges;
    p->authorised = c->authorised;
    p->rights = c->rights;
    spin_unlock(&process_lock, ipl);
    account_unref(a);
    return 0;
}

bool creds_set_privileges(struct process *p, bool enable, uint64_t mask, bool permanent)
{
    ipl_t ipl = spin_lock(&process_lock);
    uint64_t allowed = p->authorised & PRV_SETPRV ? PRV_ALL : p->authorised;
    bool may = !enable || !(mask & ~allowed);

    if (!may)
        goto out;
    p->privileges = enable ? p->privileges | mask : p->privileges & ~mask;
    if (permanent)
        p->permanent = enable ? p->permanent | mask : p->permanent & ~mask;
out:
    spin_unlock(&process_lock, ipl);
    return may;
}

void creds_exec(struct process *p)
{
    ipl_t ipl = spin_lock(&process_lock);

    p->privileges = p->permanent;
    spin_unlock(&process_lock, ipl);
}

bool creds_is_system(const struct process *p)
{
    return p->uic_group <= CREDS_MAXSYSGROUP || (p->privileges & PRV_SYSPRV) != 0;
}
