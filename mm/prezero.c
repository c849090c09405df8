/*
 * Prezeroing: two instructions a quadword are a second for each 8 GiB, so all CPUs share the work.
 *
 * The stretch is cut into pieces, a counter gives them out. The caller takes pieces as everybody
 * else, and then waits until the last helper has said that it is done; only then is the job
 * forgotten. Helpers are ordinary threads at IPL 0: they can be preempted and interrupted.
 */
#include "mm/prezero.h"

#include "kernel/sched/ipi.h"
#include "kernel/sched/thread.h"
#include "kernel/sched/wait.h"
#include "mm/page.h"

#define PIECE 512u /* pages: 4 MiB, a millisecond */

static struct {
    pfn_t first;      /* constant while there are helpers */
    uint64_t npages;  /* the same */
    uint64_t next;    /* atomic: first page of the next piece */
    uint64_t helpers; /* atomic: at work */
    struct wait_queue idle;
} job = {.idle = WAIT_QUEUE_INIT("prezero", job.idle)};

static void work(void)
{
    uint64_t at;

    while ((at = __atomic_fetch_add(&job.next, PIECE, __ATOMIC_RELAXED)) < job.npages)
        for (uint64_t i = at; i < MIN(at + PIECE, job.npages); i++)
            page_zero_if_needed(pfn_add(job.first, i));
}

static void helper(void *arg)
{
    (void)arg;
    work();
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
    struct waiter w;

    job.first = first;
    job.npages = npages;
    job.next = 0;
    for (unsigned i = 0; i < MAX_CPUS; i++)
        if ((others >> i) & 1 && npages > PIECE && !start_helper(i))
            break;
    work();
    for (;;) {
        wait_enqueue(&job.idle, &w);
        if (__atomic_load_n(&job.helpers, __ATOMIC_ACQUIRE) == 0)
            break;
        wait_block(&w, WAIT_UNINTERRUPTIBLE, WAIT_FOREVER);
    }
    wait_finish(&w);
}
