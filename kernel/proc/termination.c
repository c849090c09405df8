/* The message about the end of a process (termination.h). */
#include "kernel/proc/termination.h"

#include "kernel/base/format.h"
#include "kernel/base/string.h"
#include "kernel/proc/accounting.h"
#include "kernel/proc/process.h"
#include "kernel/qio/mailbox.h"
#include "kernel/sched/timer.h"

#define DELPROC  3u                                  /* MSG$_DELPROC */
#define EPOCH    (40587ul * 24 * 60 * 60 * 10000000) /* 1970, in units of 100 ns */
#define PAGELETS (PAGE_SIZE / 512)

static void put_time(uint32_t to[2], uint64_t wall_ns)
{
    uint64_t t = EPOCH + wall_ns / 100;

    memcpy(to, &t, sizeof(t));
}

static void put_user(char to[12], uint32_t uid)
{
    char name[13] = "SYSTEM";
    size_t n = uid ? format(name, sizeof(name), "U%u", (unsigned)uid) : strlen(name);

    memset(to, ' ', 12);
    memcpy(to, name, n);
}

void termination_fill(struct termination *m, const struct accounting_record *r)
{
    uint64_t ended = clock_wall_ns() - (clock_ns() - r->end_ns);

    *m = (struct termination){
        .type = DELPROC,
        .size = sizeof(*m),
        .final_status = r->status,
        .pid = r->pid,
        .job = r->job,
        .owner = r->owner,
        .cpu_ticks = (uint32_t)((r->used.user_ns + r->used.system_ns) / 10000000),
        .faults = (uint32_t)r->spaces.faults,
        .peak_working_set = (uint32_t)(r->spaces.peak_pages * PAGELETS),
        .buffered_io = (uint32_t)r->buffered_io,
        .direct_io = (uint32_t)r->direct_io};
    put_time(m->time, ended);
    put_time(m->login, ended - (r->end_ns - r->start_ns));
    put_user(m->user, r->uid);
    memset(m->account, ' ', sizeof(m->account));
}

void termination_send(struct process *p, uint32_t status)
{
    struct cpu_time used = process_cpu_time(p);
    struct accounting_record r = {.number = 0};
    struct termination m;
    ipl_t ipl = spin_lock(&process_lock);

    accounting_note_locked(p, kin_final_status(p, status), status, used, &r);
    r.job = accounting_job_locked(p);
    r.owner = p->kin.owner ? p->kin.owner->pid : 0;
    p->kin.nameless = true;
    spin_unlock(&process_lock, ipl);
    termination_fill(&m, &r);
    /* Without a mailbox, or room in it, nobody is told. */
    (void)mailbox_post(&p->kin.told, &m, sizeof(m), p->pid);
}
