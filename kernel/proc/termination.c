/* The message about the end of a process (termination.h). */
#include "kernel/proc/termination.h"

#include "kernel/base/format.h"
#include "kernel/base/string.h"
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

void termination_send(const struct process *p, uint32_t status)
{
    uint64_t now = clock_wall_ns();
    struct cpu_time used = process_cpu_time(p);
    struct termination m = {
        .type = DELPROC,
        .size = sizeof(m),
        .final_status = kin_final_status(p, status),
        .pid = p->pid,
        .job = p->kin.job ? p->kin.job->master : p->pid,
        .cpu_ticks = (uint32_t)((used.user_ns + used.system_ns) / 10000000),
        .faults = (uint32_t)__atomic_load_n(&p->aspace->counts.faults, __ATOMIC_RELAXED),
        .peak_working_set = (uint32_t)(page_table_rss_peak(&p->aspace->pt) * PAGELETS),
        .buffered_io = (uint32_t)p->io};
    ipl_t ipl;

    put_time(m.time, now);
    put_time(m.login, now - (clock_ns() - p->start_ns));
    put_user(m.user, process_uid(p));
    memset(m.account, ' ', sizeof(m.account));
    ipl = spin_lock(&process_lock);
    m.owner = p->kin.owner ? p->kin.owner->pid : 0;
    spin_unlock(&process_lock, ipl);
    /* Without a mailbox, or room in it, nobody is told. */
    (void)mailbox_post(&p->kin.told, &m, sizeof(m), p->pid);
}
