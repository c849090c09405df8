/* Owners, subprocesses and jobs (kin.h). */
#include "kernel/proc/kin.h"

#include "kernel/base/abi/ssdef.h"
#include "kernel/proc/process.h"
#include "kernel/proc/signal.h"
#include "mm/pool/pool_charged.h"
#include "sysman/params.h"

/* Signals that are sent in one hold of the table lock, each in some 500 instructions. */
#define DELETE_AT_ONCE 3u

void kin_init(struct kin *k)
{
    list_init(&k->subprocesses);
    list_init(&k->owned);
}

static struct job *job_alloc(uint32_t master, uint32_t limit)
{
    uint16_t account = pool_account();
    struct job *j = npp_alloc_charged(sizeof(*j), account);

    if (j)
        *j = (struct job){.refs = 1,
                          .limit = limit ? limit - 1 : (uint32_t)sysparam(SYSPARAM_PQL_DPRCLM),
                          .master = master,
                          .account = account};
    return j;
}

void kin_job_free(struct job *j)
{
    if (j)
        npp_free_charged(j, sizeof(*j), j->account);
}

uint32_t kin_subprocess_limit(const struct process *p)
{
    return p->kin.job ? p->kin.job->limit + 1 : p->kin.limits.subprocesses;
}

/* p leaves its job. Returns it if p was the last member, for the caller to free without the
 * lock. */
static struct job *leave_job_locked(struct process *p)
{
    struct job *j = p->kin.job;

    p->kin.job = NULL;
    if (!j)
        return NULL;
    if (p->kin.is_subprocess)
        j->count--;
    return --j->refs == 0 ? j : NULL;
}

cond_t kin_charge(void)
{
    struct process *self = process_self();
    struct job *made = NULL;
    cond_t status = SS$_NORMAL;
    ipl_t ipl = spin_lock(&process_lock);

    if (unlikely(!self->kin.job)) {
        spin_unlock(&process_lock, ipl);
        if (!(made = job_alloc(self->pid, self->kin.limits.subprocesses)))
            return SS$_INSFMEM;
        ipl = spin_lock(&process_lock);
        if (!self->kin.job) { /* no other thread has made one meanwhile */
            self->kin.job = made;
            made = NULL;
        }
    }
    if (self->kin.job->count < self->kin.job->limit)
        self->kin.job->count++;
    else
        status = SS$_EXPRCLM;
    spin_unlock(&process_lock, ipl);
    kin_job_free(made);
    return status;
}

void kin_discharge(void)
{
    ipl_t ipl = spin_lock(&process_lock);

    process_self()->kin.job->count--;
    spin_unlock(&process_lock, ipl);
}

bool kin_make_job(struct process *p, uint32_t limit)
{
    p->kin.job = job_alloc(0, limit);
    return p->kin.job != NULL;
}

void kin_enter_locked(struct process *p, struct process *owner)
{
    if (!owner) {
        p->kin.job->master = p->pid;
        return;
    }
    p->kin.is_subprocess = true;
    p->kin.owner = owner;
    p->kin.job = owner->kin.job;
    p->kin.job->refs++;
    list_add_tail(&owner->kin.subprocesses, &p->kin.owned);
    owner->kin.count++;
}

void kin_abandon(struct process *p)
{
    kin_job_free(p->kin.job);
    p->kin.job = NULL;
}

/* Delete some subprocesses, which then have no owner any more. False: there were none. */
static bool delete_some(struct process *p)
{
    const struct signal_info kill = {.signo = SIGKILL, .code = SI_KERNEL};
    ipl_t ipl = spin_lock(&process_lock);
    struct list *l = NULL;

    for (unsigned n = 0; n < DELETE_AT_ONCE && (l = list_pop_head(&p->kin.subprocesses)); n++) {
        struct process *c = container_of(l, struct process, kin.owned);

        list_init(&c->kin.owned);
        c->kin.owner = NULL;
        signal_send(c, &kill);
    }
    spin_unlock(&process_lock, ipl);
    return l != NULL;
}

void kin_delete_subprocesses(struct process *p)
{
    while (delete_some(p))
        ;
}

struct event_request *kin_end_locked(struct process *p, struct job **last)
{
    struct event_request *completion = p->kin.completion;

    if (p->kin.owner) {
        list_remove(&p->kin.owned);
        p->kin.owner->kin.count--;
        p->kin.owner = NULL;
    }
    *last = leave_job_locked(p);
    p->kin.completion = NULL;
    return completion;
}

uint32_t kin_final_status(const struct process *p, uint32_t status)
{
    uint64_t told = __atomic_load_n(&p->kin.final_status, __ATOMIC_RELAXED);

    switch (status & 0x7F) {
    case 0:
        if (told & KIN_STATUS_GIVEN)
            return (uint32_t)told;
        return cond_value(status >> 8 & 0xFF ? SS$_ABORT : SS$_NORMAL);
    case SIGSEGV:
    case SIGBUS:
        return cond_value(SS$_ACCVIO);
    case SIGILL:
        return cond_value(SS$_OPCDEC);
    case SIGFPE:
        return cond_value(SS$_HPARITH);
    case SIGXCPU:
        return cond_value(SS$_EXCPUTIM);
    default:
        return cond_value(p->cpu_timers.exceeded ? SS$_EXCPUTIM : SS$_ABORT);
    }
}
