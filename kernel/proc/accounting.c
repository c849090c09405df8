/* Accounting: records of processes that have ended (accounting.h). */
#include "kernel/proc/accounting.h"

#include "kernel/base/string.h"
#include "kernel/proc/process.h"
#include "kernel/sched/timer.h"

/* 56 KiB in all. A power of two: the place of a record is its count modulo the length. */
#define RINGS   8u
#define RECORDS 64u

/* Table lock. `count` records were ever put in; the last RECORDS of them are there. */
static struct ring {
    uint64_t count;
    struct accounting_record record[RECORDS];
} rings[RINGS];
static uint64_t numbers;             /* the last one given; table lock */
static struct accounting_sums ended; /* table lock */

static void raise(uint64_t *peak, uint64_t value)
{
    if (value > *peak)
        __atomic_store_n(peak, value, __ATOMIC_RELAXED);
}

void accounting_leave_space(struct process *p, const struct aspace *as)
{
    struct accounting_spaces *s = &p->spaces;

    if (as == p->aspace) /* its end: nobody is to add the counts of the space once more */
        __atomic_store_n(&p->left_space, true, __ATOMIC_RELAXED);
    if (unlikely(p->borrows_space)) { /* its counts are those of the process that it is from */
        p->borrows_space = as == p->aspace;
        return;
    }
    __atomic_store_n(&s->faults, s->faults + __atomic_load_n(&as->counts.faults, __ATOMIC_RELAXED),
                     __ATOMIC_RELAXED);
    raise(&s->peak_bytes, __atomic_load_n(&as->counts.vsize_peak, __ATOMIC_RELAXED));
    raise(&s->peak_pages, page_table_rss_peak(&as->pt));
}

uint32_t accounting_owner_locked(const struct process *p)
{
    return p->kin.owner ? p->kin.owner->pid : p->parent ? p->parent->pid : 0;
}

uint32_t accounting_job_locked(const struct process *p)
{
    return p->kin.job ? p->kin.job->master : p->pid;
}

void accounting_note_locked(const struct process *p, uint32_t status, uint32_t exit_status,
                            struct cpu_time used, struct accounting_record *r)
{
    r->pid = p->pid;
    r->status = status;
    r->exit_status = exit_status;
    r->uid = process_uid(p);
    r->uic_group = process_uic_group(p);
    r->uic_member = process_uic_member(p);
    memcpy(r->name, p->name, sizeof(r->name));
    r->start_ns = p->start_ns;
    r->end_ns = clock_ns();
    r->used = used;
    r->spaces = p->spaces;
    r->buffered_io = p->io;
    r->direct_io = p->disk_requests;
}

void accounting_end_locked(const struct process *p)
{
    ended.faults += p->spaces.faults;
    ended.io += __atomic_load_n(&p->io, __ATOMIC_RELAXED);
    ended.processes++;
}

struct accounting_sums accounting_ended(void)
{
    ipl_t ipl = spin_lock(&process_lock);
    struct accounting_sums sums = ended;

    spin_unlock(&process_lock, ipl);
    return sums;
}

struct accounting_record *accounting_add_locked(const struct process *p)
{
    uint32_t uid = process_uid(p);
    struct ring *ring = &rings[uid ? 1 + uid % (RINGS - 1) : 0];
    struct accounting_record *r = &ring->record[ring->count++ % RECORDS];

    r->number = ++numbers;
    return r;
}

/* The oldest record of the ring whose number is at least this one, or NULL. They rise, so it is
 * found by halving. */
static const struct accounting_record *find_locked(const struct ring *ring, uint64_t number)
{
    uint64_t low = ring->count > RECORDS ? ring->count - RECORDS : 0, high = ring->count;

    while (low < high) {
        uint64_t middle = low + (high - low) / 2;

        if (ring->record[middle % RECORDS].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low < ring->count ? &ring->record[low % RECORDS] : NULL;
}

bool accounting_find(uint64_t number, struct accounting_record *r)
{
    const struct accounting_record *best = NULL, *one;
    ipl_t ipl = spin_lock(&process_lock);

    for (unsigned i = 0; i < RINGS; i++) {
        one = find_locked(&rings[i], number);
        if (one && (!best || one->number < best->number))
            best = one;
    }
    if (best)
        *r = *best;
    spin_unlock(&process_lock, ipl);
    return best != NULL;
}
