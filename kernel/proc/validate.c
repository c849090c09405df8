/*
 * The self-check of the whole system. All threads are stopped, then all files, all pipes and the
 * address spaces of all processes are visited, and mm/check/validate.h checks what they
 * report. The process table lock is held during each pass over the processes; no other thread runs
 * that could wait for it.
 *
 * A stopped thread that waits for an event holds no page outside of structures: what it works on
 * belongs to its address space, its open files, an object or a pool. Exec waits for mutexes, and a
 * thread that waits for a mutex is not stopped; only while it waits until it is the only thread of
 * its process it may be, and then process.exec_wait shows its pages. A call that waits with other
 * pages must show them here too, or the check reports them as lost.
 */
#include "kernel/proc/validate.h"

#include "arch/alpha/hw/kseg.h"
#include "kernel/base/errno.h"
#include "kernel/base/panic.h"
#include "kernel/base/printk.h"
#include "kernel/ipc/shm.h"
#include "kernel/proc/exec.h"
#include "kernel/proc/page_file.h"
#include "kernel/proc/proc_private.h"
#include "kernel/proc/run_hook.h"

#define STOP_LIMIT_NS 10000000000u /* time for all to stop: a fork or exec takes milliseconds */
#define ROUNDS        5u           /* an interrupt that allocates memory during a check is rare */

static enum process_visit space_of(struct process *p, void *arg)
{
    if (p->aspace)
        validate_aspace(arg, p->aspace);
    if (p->exec_wait) {
        const struct exec_args *a = p->exec_wait->args;

        if (p->exec_wait->space)
            validate_aspace(arg, p->exec_wait->space);
        for (unsigned k = 0; k < a->npages; k++)
            validate_page(arg, paddr_to_pfn(kseg_paddr(a->page[k])), VALIDATE_PIPE);
    }
    return PROCESS_NEXT;
}

static enum process_visit one_reference(struct process *p, void *arg)
{
    if (p->aspace)
        validate_space_refs(arg, p->aspace);
    if (p->exec_wait && p->exec_wait->space)
        validate_space_refs(arg, p->exec_wait->space);
    return PROCESS_NEXT;
}

static void pagers_space(struct aspace *as, void *arg) { validate_aspace(arg, as); }
static void pagers_reference(struct aspace *as, void *arg) { validate_space_refs(arg, as); }

static int check(struct validate_result *r)
{
    struct validate *v = validate_begin();

    if (!v)
        return -ENOMEM;
    /* The reference that a file holds to its object must be counted before a map shows the object.
     */
    io_validate(v);
    shm_validate(v);
    process_for_each(space_of, v);
    page_out_spaces(pagers_space, v);
    process_for_each(one_reference, v);
    page_out_spaces(pagers_reference, v);
    validate_end(v, r);
    return 0;
}

int system_validate(const struct validate_damage *d, struct validate_result *r,
                    struct freeze_blocker *who)
{
    int err = sched_freeze(STOP_LIMIT_NS, who);
    unsigned round = 0;

    if (err)
        return err;
    if (d)
        err = d->damage(d->number);
    if (!err)
        do
            err = check(r);
        while (!err && r->moved && ++round < ROUNDS);
    if (d)
        d->repair();
    sched_thaw();
    return err;
}

static void at_end(void)
{
    struct freeze_blocker who;
    struct validate_result r;
    int err;

    err = system_validate(NULL, &r, &who);
    if (err == -ETIMEDOUT) { /* a call takes longer than STOP_LIMIT_NS: it ends by a signal only */
        printk("memory is checked without the other processes: thread %u (%s) %s\n", who.tid,
               who.name, who.why);
        run_kill_others();
        err = system_validate(NULL, &r, &who);
    }
    if (err == -ENOMEM) {
        /* The check needs a few pages, and the command may have used up all memory. It has ended,
         * so its address space can be released first. */
        aspace_unref(process_change_space(process_self(), NULL));
        err = system_validate(NULL, &r, &who);
    }
    if (err == -ETIMEDOUT)
        panic("memory cannot be checked: thread %u (%s) %s", who.tid, who.name, who.why);
    if (err)
        panic("memory cannot be checked: too little of it is free");
    if (r.errors)
        panic("memory is inconsistent: %lu errors, the first:\n%s", r.errors, r.text);
}

void system_validate_at_end(void)
{
    static struct run_hook hook = {.ends = at_end};

    run_hook_register(&hook);
}
