/*
 * Prezeroing: two instructions a quadword are a second for each 8 GiB, so all CPUs share the work.
 *
 * The stretch is cut into batches, a counter gives them out. The caller takes batches as everybody
 * else, and then waits until the last helper has said that it is done; only then is the job
 * forgotten. Helpers are ordinary threads at IPL 0: they can be preempted and interrupted.
 *
 * A stretch of a GiB or more takes long enough that somebody may wonder: the caller says on the
 * console how far all of them are, an eighth at a time.
 */
#include "mm/section/prezero.h"

#include "kernel/base/printk.h"
#include "kernel/sched/ipi.h"
#include "kernel/sched/thread.h"
#include "kernel/sched/wait.h"
#include "mm/phys/page.h"

#define BATCH_PAGES  512u /* pages: 4 MiB, a millisecond */
#define PAGES_PER_MB (1048576 / PAGE_SIZE)
#define LONG         (1024 * PAGES_PER_MB)
#define PARTS        8

static struct {
    pfn_t first;      /* constant while there are helpers */
    uint64_t npages;  /* the same */
    uint64_t next;    /* atomic: first page of the next batch */
    uint64_t helpers; /* atomic: at work */
    struct wait_queue idle;
} job = {.idle = WAIT_QUEUE_INIT("prezero", job.idle)};

/* Take a batch and make it zero. False: none is left. */
static bool work_batch(void)
{
    uint64_t at = __atomic_fetch_add(&job.next, BATCH_PAGES, __ATOMIC_RELAXED);

    for (uint64_t i = at; i < MIN(at + BATCH_PAGES, job.npages); i++)
        page_zero_if_needed(pfn_add(job.first, i));
    return at < job.npages;
}

/* The caller's part, which tells how far all are. */
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
    /* Release: the zeroes are there for whom sees that the helpers are gone. */
    if (__atomic_sub_fetch(&job.helpers, 1, __ATOMIC_ACQ_REL) == 0)
        wake_all(&job.idle);
    thread_exit();
}

/* Returns whether a helper was started on the CPU. */
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
