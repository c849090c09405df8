/*
 * The first process: COMMAND or the shell. It is pid 1, and the system runs until it ends: its exit
 * status is the result that scripts/run passes on.
 */
#include "arch/alpha/clipper/power.h"
#include "arch/alpha/hw/fp.h"
#include "arch/alpha/hw/switch.h"
#include "kernel/base/errno.h"
#include "kernel/base/error_text.h"
#include "kernel/base/panic.h"
#include "kernel/base/printk.h"
#include "kernel/base/string.h"
#include "kernel/io/tree.h"
#include "kernel/lnm/lnm.h"
#include "kernel/proc/exec.h"
#include "kernel/proc/fdtable.h"
#include "kernel/proc/pidfd.h"
#include "kernel/proc/proc_private.h"
#include "kernel/proc/rlimit.h"
#include "kernel/proc/run_hook.h"
#include "kernel/proc/signal.h"
#include "kernel/proc/terminal.h"
#include "kernel/quota/quota.h"
#include "kernel/sched/group.h"
#include "kernel/sched/perturb.h"
#include "mm/check/census.h"
#include "mm/pool/pool.h"
#include "mm/space/pin.h"

#define STATUS_NOT_FOUND 127 /* as shells report it */
#define STATUS_NOT_RUN   126

enum result_kind { RESULT_EXIT, RESULT_SIGNAL, RESULT_PANIC, RESULT_SHUTDOWN };

/* ENV: what a shell at a terminal reads first (userland/etc/shrc). */
static const char *const environment[] = {
    "PATH=/bin:/tests:/bench", "HOME=/", "TERM=vt100", "USER=root", "ENV=/etc/shrc", "PWD=/"};

static struct aspace *own_space(void) { return process_self()->aspace; }

static struct { /* constant once the first process runs */
    const char *argv;
    size_t nbytes;
    bool command;
} first;

void process_first_ended(uint32_t status)
{
    uint8_t record[5];
    uint32_t value = status & 0x7F ? status & 0x7F : status >> 8 & 0xFF;

    if (perturb_on())
        perturb_report();
    record[0] = status & 0x7F ? RESULT_SIGNAL : first.command ? RESULT_EXIT : RESULT_SHUTDOWN;
    memcpy(record + 1, &value, sizeof(value));
    tree_sync();
    stream_send_result(record, sizeof(record));
    power_off();
}

static void __attribute__((noreturn)) cannot_start(int err)
{
    const char *text = error_text(-err);

    if (text)
        printk("%s: cannot be started: %s\n", first.argv, text);
    else
        printk("%s: cannot be started: error %d\n", first.argv, -err);
    process_first_ended(err == -ENOENT ? STATUS_NOT_FOUND << 8 : STATUS_NOT_RUN << 8);
}

static int first_arguments(struct exec_args *a)
{
    int err = 0;

    for (size_t at = 0; at < first.nbytes && !err; at += strlen(first.argv + at) + 1, a->argc++)
        err = exec_args_add(a, first.argv + at);
    for (unsigned k = 0; k < ARRAY_SIZE(environment) && !err; k++, a->envc++)
        err = exec_args_add(a, environment[k]);
    return err;
}

static int first_files(struct process *p)
{
    struct file *f[3];
    int err = console_open(&f[0], &f[1], &f[2], first.command);

    for (unsigned k = 0; k < 3 && !err; k++)
        fd_add(p->files, f[k], k, false);
    return err;
}

static void first_start(void *arg)
{
    struct process *p = process_self();
    struct exec_args a;
    int err = first_files(p);

    (void)arg;
    exec_args_init(&a);
    if (!err)
        err = first_arguments(&a);
    if (!err)
        err = exec_program(first.argv, &a);
    if (err)
        cannot_start(err);
    exec_args_free(&a);
    user_enter();
}

static void explain_arguments(struct census *c)
{
    if (first.argv)
        census_explain(c, CENSUS_NONPAGED, first.nbytes + 1, 1);
}

void process_start_first(const char *argv, size_t nbytes, bool command)
{
    struct process *p;
    struct thread *t;
    int alloc_err;
    char *text;

    census_register(explain_arguments, NULL, 0);
    quota_boot_total(QUOTA_PROCESSES, process_limit);
    run_begins();
    p = process_alloc(&alloc_err);
    text = npp_alloc(nbytes + 1);
    if (!p || !text)
        panic("no memory for the first process");
    memcpy(text, argv, nbytes);
    text[nbytes] = '\0'; /* argv may end without a NUL */
    first.argv = text;
    first.nbytes = nbytes;
    first.command = command;
    p->files = fdtable_create();
    rlimit_boot(p);
    aspace_self = own_space;
    p->fs = &p->own_fs;
    fs_init(p->fs, 022);
    p->sig = sighand_create();
    p->names = lnm_space_create();
    t = thread_create("init", first_start, NULL, PRIO_NORMAL);
    if (!p->files || !p->sig || !p->names || !t)
        panic("no memory for the first process");
    creds_grant_all(p); /* the ids are 0 already, as the structure is zeroed */
    process_add_first(p, t);
    process_enter(p, NULL, false);
    terminal_boot(p);
    pidfd_boot();
    thread_set_group(t, creds_group_locked(p->account)); /* nobody else uses groups yet */
    thread_start(t);
}
