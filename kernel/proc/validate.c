/*
 * The self-check of the whole system. All threads are stopped, then all files, all pipes and the
 * address spaces of all processes are visited, and mm/check/validate.h checks what they
 * report. The process table lock is held during each pass over the processes; no other thread runs
 * that could wait for it.
 *
 * A stopped thread that waits for an event holds no page outside of structures: what it works on
 * belongs to its address space, its open files, an object or a pool. What an exec has shows
 * uthread.exec_wait, and a space whose memory another process reads aspace_visits(). A call that
 * waits with other pages must show them here too, or the check reports them as lost.
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
#include "kernel/proc/signal.h"
#include "mm/space/aspace_page.h"
#include "mm/space/aspace_read.h"

#define STOP_LIMIT_NS 10000000000u /* time for all to stop: a fork or exec takes milliseconds */
#define ROUNDS        5u           /* an interrupt that allocates memory during a check is rare */

static void exec_of(struct validate *v, const struct exec_wait *w)
{
    if (w->space)
        validate_aspace(v, w->space);
    for (unsigned k = 0; k < w->args->npages; k++)
        validate_page(v, paddr_to_pfn(kseg_paddr(w->args->page[k])), VALIDATE_PIPE);
}

static enum process_visit space_of(struct process *p, void *arg)
{
    struct uthread_place *place;

    if (p->aspace)
        validate_aspace(arg, p->aspace);
    if (!p->sig) /* its threads are gone */
        return PROCESS_NEXT;
    list_for_each_entry(place, &p->threads, link)
        if (place->user && place->user->exec_wait)
            exec_of(arg, place->user->exec_wait);
    return PROCESS_NEXT;
}

static enum process_visit one_reference(struct process *p, void *arg)
{
    struct uthread_place *place;

    if (p->aspace)
        validate_space_refs(arg, p->aspace);
    if (!p->sig) /* its threads are gone */
        return PROCESS_NEXT;
    list_for_each_entry(place, &p->threads, link)
        if (place->user && place->user->exec_wait && place->user->exec_wait->space)
            validate_space_refs(arg, place->user->exec_wait->space);
    return PROCESS_NEXT;
}

static void visited_space(void *arg, struct aspace *as) { validate_visited_space(arg, as); }
static void written_page(void *arg, pfn_t pfn) { validate_pin(arg, pfn); }
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
    aspace_visits(visited_space, v);
    process_for_each(one_reference, v);
    page_out_spaces(pagers_reference, v);
    written_pages(written_page, v);
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
