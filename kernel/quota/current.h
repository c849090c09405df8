/* The account of the current thread. Host tests replace this header: they have no threads. */
#ifndef KERNEL_QUOTA_CURRENT_H
#define KERNEL_QUOTA_CURRENT_H

#include "kernel/quota/quota.h"
#include "kernel/sched/thread.h"

/* The account that is charged for what the current thread allocates; never NULL, as the first
 * thread has account_system from the start of kernel_main() on. The thread's process holds a
 * reference to it. Any IPL; in an interrupt it is the account of the thread that was interrupted.
 */
static inline struct account *account_self(void) { return thread_self()->account; }

/* Pages were refused to the current thread, by the limit of the counter c (n of them), or (n 0) for
 * another reason: for who waits until it can have them (kernel/proc/page_out.c). Any IPL. */
static inline void quota_note_refused(const struct quota_count *c, uint64_t n)
{
    thread_self()->refused_by = (uint16_t)quota_number(c);
    thread_self()->refused_pages = (uint32_t)n;
    thread_self()->refused = true;
}

/* May the current thread take n of the last pages (mm/phys/fluid.c)? */
static inline bool quota_is_starved(uint64_t n) { return thread_self()->starved >= n; }

/* It has taken them. */
static inline void quota_note_last(uint64_t n) { thread_self()->starved -= (uint8_t)n; }

/* Have pages been refused to the current thread since the last call? */
static inline bool quota_take_refusal(void)
{
    bool refused = thread_self()->refused;

    thread_self()->refused = false;
    return refused;
}

/* Pages that an attempt has at most, of which one was refused, and which it then gives back: tables
 * of each level, and the page itself. Those of a call are not known, see thread->attempt. */
#define QUOTA_ATTEMPT_PAGES 8u

/* The counter that last refused pages to the current thread, and how many its next attempt may need
 * in all, up to what the limit allows; NULL: what was refused last was so for another reason. There
 * may be room by now: of what was refused, as the attempt has given back what it had, and then the
 * next one would fail as well. */
static inline struct quota_count *quota_refused(uint64_t *n)
{
    struct quota_count *c = quota_counter(thread_self()->refused_by);
    uint64_t limit = __atomic_load_n(&c->limit, __ATOMIC_RELAXED);

    *n = thread_self()->refused_pages;
    if (*n == 0)
        return NULL;
    if (*n < limit)
        *n = MIN(*n + MAX(QUOTA_ATTEMPT_PAGES, thread_self()->attempt), limit);
    return c;
}

#endif
