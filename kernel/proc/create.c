/* Processes made from nothing (create.h). As in fork.c, all that can fail is done before the
 * process is in the table. */
#include "kernel/proc/create.h"

#include "arch/alpha/hw/switch.h"
#include "kernel/base/abi/ssdef.h"
#include "kernel/base/abi/statedef.h"
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/lnm/lnm.h"
#include "kernel/proc/ast.h"
#include "kernel/proc/fdtable.h"
#include "kernel/proc/proc_private.h"
#include "kernel/proc/rlimit.h"
#include "kernel/proc/signal.h"
#include "kernel/sched/group.h"

static void set_limits(struct process *c, const struct process_plan *n)
{
    struct rlimit *files = &c->limits[RLIMIT_NOFILE], *cpu = &c->limits[RLIMIT_CPU];

    if (n->files)
        files->soft = files->hard = MIN(n->files, files->hard);
    if (n->cpu_seconds) { /* a second later it ends even if it takes SIGXCPU */
        cpu->hard = MIN(n->cpu_seconds + 1, cpu->hard);
        cpu->soft = MIN(n->cpu_seconds, cpu->hard);
    }
    cpu_timers_limit_set(c);
    c->kin.limits = n->limits;
}

static uint8_t home_of(const struct process_plan *n)
{
    return n->home_rad ? (uint8_t)(n->home_rad - 1)
                       : __atomic_load_n(&thread_self()->home_rad, __ATOMIC_RELAXED);
}

/* A structure with everything but a thread; NULL: memory is short, or (*err -EAGAIN) there are too
 * many processes. */
static struct process *build(const struct process_plan *n, int *err)
{
    struct process *self = process_self(), *c = process_alloc(err);

    if (!c)
        return NULL;
    process_copy_identity(c, self);
    c->ast_hold = 0;
    c->ast_return = c->exit_routine = c->arg_start = c->arg_end = c->env_end = 0;
    c->brk_start = c->brk = 0;
    c->privileges = c->permanent = c->authorised = n->privileges;
    set_limits(c, n);
    c->kin.flags = n->flags;
    c->kin.told = n->told;
    c->kin.base = n->base;
    c->kin.named = n->name[0] != '\0';
    c->kin.completion = n->completion;
    str_copy(c->name, n->name, sizeof(c->name));
    c->fs = &c->own_fs;
    fs_fork(c->fs, self->fs);
    c->files = n->keep_files ? fdtable_fork(self->files) : fdtable_create();
    c->sig = sighand_create();
    c->names = n->detached ? lnm_space_create() : lnm_space_fork(self->names);
    if (c->files && c->sig && c->names && (!n->detached || kin_make_job(c, n->subprocesses)))
        c->aspace = aspace_create(home_of(n));
    if (c->aspace)
        return c;
    *err = -ENOMEM;
    process_abandon(c);
    return NULL;
}

cond_t process_create(const struct process_plan *n, struct process **p, struct thread **t)
{
    struct process *self = process_self(), *c;
    int err;

    c = build(n, &err);
    if (!c)
        return err == -EAGAIN ? SS$_NOSLOT : SS$_INSFMEM;
    *t = thread_create(self->name, n->start, n->arg, PRIO_NORMAL);
    if (!*t) {
        process_abandon(c);
        return SS$_INSFMEM;
    }
    (*t)->affinity = thread_self()->affinity;
    (*t)->home_rad = home_of(n);
    thread_set_root(*t, c->aspace->pt.root.n, &c->aspace->pt.loaded);
    process_add_first(c, *t);
    process_join_user_group(c, *t);
    process_enter_created(c, n->detached ? NULL : self);
    *p = c;
    return SS$_NORMAL;
}

/* Signals take effect meanwhile: none has a handler yet. Without memory for events there is nothing
 * that could wake it, and it goes on. */
static void wait_until_woken(void)
{
    struct event_owner *o = process_events();
    bool interrupted = o != NULL;

    while (interrupted) {
        interrupted = false;
        __atomic_store_n(&uthread_self()->vms_wait, SCH$C_HIB, __ATOMIC_RELAXED);
        (void)event_hibernate(o, &interrupted);
        __atomic_store_n(&uthread_self()->vms_wait, 0, __ATOMIC_RELAXED);
        if (interrupted)
            process_return_slow();
    }
}

void process_begin_user(bool hibernate)
{
    if (hibernate)
        wait_until_woken();
    user_enter();
}
