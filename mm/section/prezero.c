/*
 * Zeroing of reservations at boot.
 *
 * Two instructions for each quadword take about a second for 8 GiB, so all CPUs share the work. The
 * frames are divided into batches, which an atomic counter hands out. The caller takes batches like
 * the helper threads, and then waits for the last helper to finish; only then may the job be
 * changed. Helpers are ordinary threads at IPL 0 and can be preempted and interrupted.
 *
 * For 1 GiB or more the caller reports the progress of all CPUs on the console, in eighths.
 *
 * There is no lock: the fields of the job are constant while helpers exist, or atomic. If a helper
 * cannot be created, fewer CPUs do the work.
 */
#include "mm/section/prezero.h"

#include "kernel/base/printk.h"
#include "kernel/sched/ipi.h"
#include "kernel/sched/thread.h"
#include "kernel/sched/wait.h"
#include "mm/phys/page.h"

#define BATCH_PAGES  512u /* 4 MiB, about a millisecond */
#define PAGES_PER_MB (1048576 / PAGE_SIZE)
#define LONG         (1024 * PAGES_PER_MB) /* pages from which on progress is reported */
#define PARTS        8                     /* progress is reported after each of so many parts */

static struct {
    pfn_t first;      /* constant while there are helpers */
    uint64_t npages;  /* constant while there are helpers */
    uint64_t next;    /* atomic: first page of the next batch */
    uint64_t helpers; /* atomic: helpers that have not finished */
    struct wait_queue idle;
} job = {.idle = WAIT_QUEUE_INIT("prezero", job.idle)};

/* Take a batch and zero it. False: no batch was left. */
static bool work_batch(void)
{
    uint64_t at = __atomic_fetch_add(&job.next, BATCH_PAGES, __ATOMIC_RELAXED);

    for (uint64_t i = at; i < MIN(at + BATCH_PAGES, job.npages); i++)
        page_zero_if_needed(pfn_add(job.first, i));
    return at < job.npages;
}

/* Zero batches until none is left, reporting the progress of all CPUs. */
static void work_and_tell(void)
{
    uint64_t told = 0;

    while (work_batch()) {
        uint64_t done = MIN(__atomic_load_n(&job.next, __ATOMIC_RELAXED), job.npages);
        uint64_t parts = done * PARTS / job.npages;

        if (job.npages >= LONG && parts > told && parts < PARTS) {
            printk("reserved memory: %lu of %lu MB zeroed\n", done / PAGES_PER_MB,
                   job.npages / PAGES_PER_MB);
            told = parts;
        }
    }
}

static void helper(void *arg)
{
    (void)arg;
    while (work_batch())
        ;
    /* Release: the caller, which reads the count with acquire, sees the zeroes. */
    if (__atomic_sub_fetch(&job.helpers, 1, __ATOMIC_ACQ_REL) == 0)
        wake_all(&job.idle);
    thread_exit();
}

/* Start a helper on the CPU. False: out of memory. */
static bool start_helper(unsigned cpu)
{
    struct thread *t = thread_create("prezero", helper, NULL, PRIO_LOW);

    if (!t)
        return false;
    __atomic_fetch_add(&job.helpers, 1, __ATOMIC_RELAXED);
    thread_set_affinity(t, 1UL << cpu);
    thread_start(t);
    return true;
}

void prezero_boot(pfn_t first, uint64_t npages)
{
    cpumask_t others = __atomic_load_n(&cpu_online_mask, __ATOMIC_RELAXED) & ~(1UL << cpu_id());
    unsigned cpus = 1;
    struct waiter w;

    job.first = first;
    job.npages = npages;
    job.next = 0;
    for (unsigned i = 0; i < MAX_CPUS; i++)
        if ((others >> i) & 1 && npages > BATCH_PAGES) {
            if (!start_helper(i))
                break;
            cpus++;
        }
    work_and_tell();
    for (;;) {
        wait_enqueue(&job.idle, &w);
        if (__atomic_load_n(&job.helpers, __ATOMIC_ACQUIRE) == 0)
            break;
        wait_block(&w, WAIT_UNINTERRUPTIBLE, WAIT_FOREVER);
    }
    wait_finish(&w);
    if (npages >= LONG)
        printk("reserved memory: %lu MB zeroed by %u CPUs\n", npages / PAGES_PER_MB, cpus);
}
