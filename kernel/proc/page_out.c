/*
 * The pager: a thread that puts private pages into page files while memory is short.
 *
 * It looks at the number of free pages each TICK_NS, and at once when somebody got none. Below
 * FREELIM it goes over the address spaces of all processes in turn, in steps (mm/space/page_out.c),
 * until there are FREEGOAL again, and next time it goes on where it has stopped. Each round takes
 * access away from what was used and frees what was not, so a page stays that is used more often
 * than a round takes. When ROUNDS rounds free nothing, because all is in use or no slot is free, it
 * says so to those who wait, and they go on to end a process (oom.c).
 *
 * Only this thread takes free slots, writes, and ages pages. It holds no lock while it waits for a
 * disk, and needs no memory to free some. It has a reference to one address space at a time. If
 * that becomes the last one, another thread drops it: the end of an address space may take mutexes
 * that somebody holds who waits for the pager.
 *
 * Closing a page file is its work too: who asks for it waits, and may leave.
 */
#include "arch/alpha/hw/layout.h"
#include "kernel/base/errno.h"
#include "kernel/base/printk.h"
#include "kernel/block/block.h"
#include "kernel/proc/page_file.h"
#include "kernel/proc/proc_private.h"
#include "kernel/proc/walk.h"
#include "kernel/quota/quota.h"
#include "kernel/sched/thread.h"
#include "kernel/sched/timer.h"
#include "mm/pagefile/pagefile.h"
#include "mm/phys/fluid.h"
#include "mm/phys/page.h"
#include "mm/space/aspace.h"
#include "mm/space/aspace_page.h"
#include "sysman/params.h"

#define TICK_NS 2000000u /* between two looks at the free pages, while there is a page file */
#define ROUNDS  4u       /* that free nothing, before the pager gives up */
/* A round begins this long after the one before at the earliest: with less, pages would go that
   were not used only because nobody has run meanwhile. */
#define ROUND_NS 20000000u

/* FREELIM and FREEGOAL if they are -1: 1/64 of memory, within limits, and half as much again. */
#define LIMIT_SHIFT 6
#define LIMIT_LEAST 256u
#define LIMIT_MOST  4096u

static struct wait_queue work = WAIT_QUEUE_INIT("pager", work);
static struct wait_queue news = WAIT_QUEUE_INIT("pages freed", news);
static struct wait_queue ends = WAIT_QUEUE_INIT("space end", ends);
static bool started;         /* constant after boot */
static bool called;          /* atomic */
static uint64_t freed;       /* pages so far; atomic */
static uint64_t verdicts;    /* how often none could be freed; atomic */
static struct aspace *space; /* that the pager works on; pager's thread */
static struct aspace *left;  /* a stack of those whose last reference is here; atomic */

#define RESULTS 8u

static struct {
    uint32_t busy; /* a file is being closed; atomic */
    unsigned file; /* these two: who has set `busy`, and the pager once `asked` has risen */
    const void *device;
    uint64_t asked, done; /* how many were to be closed, and have been; atomic */
    int err[RESULTS];     /* of the n-th, at n modulo RESULTS; before `done` */
} closing;

void page_out_look(void)
{
    __atomic_store_n(&called, true, __ATOMIC_RELEASE);
    (void)wake_one(&work);
}

/* ---- how much ---- */

static uint64_t limit(void)
{
    int64_t n = sysparam(SYSPARAM_FREELIM);
    struct page_stats s;

    if (n < 0) {
        page_stats(&s);
        n = (int64_t)MIN(MAX(s.total >> LIMIT_SHIFT, LIMIT_LEAST), LIMIT_MOST);
    }
    return fluid_minimum() + quota_page_floor() + (uint64_t)n;
}

static uint64_t goal(void)
{
    int64_t n = sysparam(SYSPARAM_FREEGOAL);
    uint64_t low = limit(), floor = fluid_minimum() + quota_page_floor();

    return n < 0 ? low + (low - floor) / 2 : MAX(low, floor + (uint64_t)n);
}

/* ---- address spaces ---- */

/* Let go of the space that the pager worked on. */
static void leave(void)
{
    struct aspace *as = space;

    if (!aspace_try_unref(as)) {
        as->next_left = __atomic_load_n(&left, __ATOMIC_RELAXED);
        while (!__atomic_compare_exchange_n(&left, &as->next_left, as, true, __ATOMIC_RELEASE,
                                            __ATOMIC_RELAXED))
            ;
        (void)wake_one(&ends);
    }
    space = NULL;
}

/* The thread that ends spaces. */
static void end_spaces(void *arg)
{
    (void)arg;
    for (;;) {
        struct waiter w;

        wait_enqueue(&ends, &w);
        if (!__atomic_load_n(&left, __ATOMIC_RELAXED))
            (void)wait_block(&w, WAIT_UNINTERRUPTIBLE, WAIT_FOREVER);
        wait_finish(&w);
        /* One at a time: the others stay where the self-check finds them. Only this thread takes
           any, so the first stays the first or gets others before it. */
        for (struct aspace *as; (as = __atomic_load_n(&left, __ATOMIC_ACQUIRE)) != NULL;) {
            struct aspace *first = as;

            if (__atomic_compare_exchange_n(&left, &first, as->next_left, false, __ATOMIC_ACQUIRE,
                                            __ATOMIC_RELAXED)) {
                as->next_left = NULL;
                aspace_unref(as);
            }
        }
    }
}

void page_out_spaces(void (*fn)(struct aspace *as, void *arg), void *arg)
{
    if (space)
        fn(space, arg);
    for (struct aspace *as = left; as; as = as->next_left)
        fn(as, arg);
}

/* The address space of the next process of a walk; NULL: the walk has ended. The pager refers to it
 * then. Table lock held. */
static struct aspace *next_space_locked(struct process_walk *w)
{
    struct process *p;

    while ((p = process_walk_next(w)) != NULL)
        if (p->aspace) {
            aspace_ref(p->aspace);
            space = p->aspace;
            return space;
        }
    return NULL;
}

/* Call fn for each address space, until it returns false. */
static void for_each_space(bool (*fn)(struct aspace *as, void *arg), void *arg)
{
    ipl_t ipl = spin_lock(&process_lock);
    struct process_walk w;
    struct aspace *as;

    process_walk_all_locked(&w, ipl);
    while ((as = next_space_locked(&w)) != NULL) {
        bool more;

        spin_unlock(&process_lock, w.ipl);
        more = fn(as, arg);
        leave();
        w.ipl = spin_lock(&process_lock);
        if (!more) {
            process_walk_end_locked(&w);
            break;
        }
    }
    spin_unlock(&process_lock, w.ipl);
}

/* ---- freeing ---- */

static bool is_enough(void) { return fluid_count() >= goal(); }

/* Where the pager has stopped: a space, which may be gone, and an address in it. Spaces are told
 * apart by their roots, as a hint. */
static struct {
    uint64_t root;
    vaddr_t va;
} mark;

static void count_freed(unsigned n)
{
    if (!n)
        return;
    __atomic_fetch_add(&freed, n, __ATOMIC_RELEASE);
    (void)wake_all(&news);
}

struct round {
    bool skipping; /* the space at which to go on has not been met */
    bool stopped;  /* there is enough */
};

static bool page_out_space(struct aspace *as, void *arg)
{
    struct round *r = arg;
    vaddr_t va = 0;

    if (r->skipping) {
        if (as->pt.root.n != mark.root)
            return true;
        r->skipping = false;
        va = mark.va;
    }
    while (va < LAYOUT_USER_TOP) {
        count_freed(aspace_page_out(as, &va));
        r->stopped = is_enough();
        if (r->stopped) {
            mark.root = as->pt.root.n;
            mark.va = va;
            return false;
        }
    }
    return true;
}

/* Wait until the next whole round may begin. */
static void pace(void)
{
    static uint64_t next;
    struct waiter w;

    while (clock_ns() < next) {
        wait_enqueue(&work, &w);
        (void)wait_block(&w, WAIT_UNINTERRUPTIBLE, next);
        wait_finish(&w);
    }
    next = clock_ns() + ROUND_NS;
}

static bool has_to_close(void)
{
    return __atomic_load_n(&closing.asked, __ATOMIC_ACQUIRE) != closing.done;
}

/* One round over all spaces, or the rest of the last one. Returns how many pages it has freed. */
static uint64_t round(void)
{
    uint64_t before = __atomic_load_n(&freed, __ATOMIC_RELAXED);
    struct round r = {.skipping = mark.root != 0};

    if (!r.skipping)
        pace();
    for_each_space(page_out_space, &r);
    if (!r.stopped)
        mark.root = 0;
    return __atomic_load_n(&freed, __ATOMIC_RELAXED) - before;
}

static void free_some(void)
{
    uint64_t before = __atomic_load_n(&freed, __ATOMIC_RELAXED);

    for (unsigned vain = 0; vain < ROUNDS && !is_enough() && !has_to_close();)
        vain = round() ? 0 : vain + 1;
    if (has_to_close() || (is_enough() && __atomic_load_n(&freed, __ATOMIC_RELAXED) != before))
        return;
    __atomic_fetch_add(&verdicts, 1, __ATOMIC_RELEASE);
    (void)wake_all(&news);
}

bool page_out_active(void) { return started && pagefile_any(); }

bool page_out_wait(void)
{
    const struct account *a = account_self();
    uint64_t was = __atomic_load_n(&freed, __ATOMIC_ACQUIRE);
    uint64_t judged = __atomic_load_n(&verdicts, __ATOMIC_ACQUIRE);
    struct waiter w;
    int err = 0;

    if (!page_out_active() || thread_self()->failure || account_is_full(a, QUOTA_PAGES, 1) ||
        is_enough())
        return false;
    for (;;) {
        wait_enqueue(&news, &w);
        if (__atomic_load_n(&freed, __ATOMIC_ACQUIRE) != was ||
            __atomic_load_n(&verdicts, __ATOMIC_ACQUIRE) != judged)
            break;
        page_out_look();
        /* A thread that settles what others wait for is not to find memory gone that it has. */
        err = wait_block(&w, thread_self()->settling ? WAIT_UNINTERRUPTIBLE : WAIT_KILLABLE,
                         WAIT_FOREVER);
        if (err)
            break;
    }
    wait_finish(&w);
    return !err && (__atomic_load_n(&freed, __ATOMIC_ACQUIRE) != was || is_enough());
}

/* ---- closing a page file ---- */

static bool page_in_space(struct aspace *as, void *arg)
{
    vaddr_t va = 0;
    int *err = arg;

    while (va < LAYOUT_USER_TOP && !*err)
        *err = aspace_page_in(as, closing.file, &va);
    return *err == 0;
}

/* Bring back what is in the file. New processes come last in a walk; who holds slots only now, such
 * as an exec that is under way, is met the next time. */
static void close_file(void)
{
    int err = 0;
    bool ended = false;

    for (unsigned n = 0; n < ROUNDS && !err && !ended; n++) {
        for_each_space(page_in_space, &err);
        ended = !err && pagefile_end(closing.file);
    }
    if (ended) {
        page_file_ended(closing.device);
    } else {
        err = err ? err : -EBUSY;
        (void)pagefile_close(closing.file, false);
    }
    closing.err[closing.done % RESULTS] = err;
    __atomic_store_n(&closing.busy, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&closing.done, closing.done + 1, __ATOMIC_RELEASE);
    (void)wake_all(&news);
}

int page_out_close(unsigned file, const void *device)
{
    struct waiter w;
    uint64_t number;
    int err = 0;

    if (__atomic_exchange_n(&closing.busy, 1, __ATOMIC_ACQUIRE))
        return -EBUSY;
    if (!pagefile_close(file, true)) {
        __atomic_store_n(&closing.busy, 0, __ATOMIC_RELEASE);
        return -EBUSY;
    }
    closing.file = file;
    closing.device = device;
    number = __atomic_fetch_add(&closing.asked, 1, __ATOMIC_RELEASE);
    page_out_look();
    for (;;) {
        wait_enqueue(&news, &w);
        if (__atomic_load_n(&closing.done, __ATOMIC_ACQUIRE) > number)
            break;
        err = wait_block(&w, WAIT_KILLABLE, WAIT_FOREVER);
        if (err)
            break;
    }
    wait_finish(&w);
    return err ? err : closing.err[number % RESULTS];
}

/* ---- the thread ---- */

static void pager(void *arg)
{
    (void)arg;
    for (;;) {
        bool asked = __atomic_exchange_n(&called, false, __ATOMIC_ACQUIRE);
        struct waiter w;

        wait_enqueue(&work, &w);
        if (!asked && !__atomic_load_n(&called, __ATOMIC_ACQUIRE))
            (void)wait_block(&w, WAIT_UNINTERRUPTIBLE,
                             pagefile_any() ? clock_ns() + TICK_NS : WAIT_FOREVER);
        wait_finish(&w);
        if (has_to_close())
            close_file();
        pagefile_set_short(fluid_count() < goal());
        /* Who asked waits for a verdict at least, even if the last page file has been closed. */
        if (asked || (pagefile_any() && fluid_count() < limit()))
            free_some();
    }
}

void page_out_boot(void)
{
    struct thread *t, *end;

    if (!block_disk(0))
        return;
    t = thread_create("pager", pager, NULL, PRIO_NORMAL + 4);
    end = thread_create("space end", end_spaces, NULL, PRIO_NORMAL + 4);
    if (!t || !end) {
        printk("there is no memory for the pager: page files cannot be used\n");
        return;
    }
    started = true;
    aspace_wait_for_memory = page_out_wait;
    thread_start(t);
    thread_start(end);
}
