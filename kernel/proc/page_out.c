/*
 * The pager: a thread that puts pages into page files while memory is short.
 *
 * It looks at the number of free pages each TICK_NS, and at once when somebody got none. Below
 * FREELIM it goes over the address spaces of all processes in turn, in steps (mm/space/page_out.c),
 * and then over the objects that are memory (mm/object/object_paging.c), until there are FREEGOAL
 * again, and next time it goes on where it has stopped. Each round takes access away from what was
 * used and frees what was not, so a page stays that is used more often than a round takes. When
 * PAGE_OUT_ROUNDS rounds free nothing, because all is in use or no slot is free, it says so to
 * those who wait, and they go on to end a process (oom.c). The last of these rounds follows at
 * once, so that pages in use go, too, but for those that another CPU uses at this very moment.
 *
 * A user who has reached his limit of memory, or of contents of files in memory, waits for the
 * pager too, which then frees pages of this user alone (page_out_user.c).
 *
 * It may be that each page that is freed is needed again before anybody gets on. As long as there
 * are free slots that is slow, but ends: a page that was read stays for two visits at least. With
 * no free slot, pages are freed only because others come back, and new memory is had by nobody. If
 * that lasts for PAGE_OUT_THRASH_NS, the pager says that it frees nothing.
 *
 * Between a refusal and the wait, and between the pager's look and that of who waits, somebody else
 * may free memory or take it. So it is no verdict that there is none now: who waits goes on when
 * there is some, tries again, and waits again; and the pager says that it was in vain only if it
 * was.
 *
 * Who waits on which queue, and what for:
 *
 *     work    the pager: for page_out_look(), or a tick
 *     news    who waits for memory: for `freed` to rise, enough of it, or `verdicts`; a user at a
 *             limit for room, or for a verdict of his own. Who closes a page file: for
 *             `closing.done`.
 *     ends    the thread "space end": for spaces in `left`
 *
 * Each of these counts is changed before its queue is woken, and looked at by who is on the queue
 * already.
 *
 * Only this thread takes free slots, writes, and ages pages. It holds no lock while it waits for a
 * disk, and needs no memory to free some. It has a reference to one address space or object at a
 * time. If that to a space becomes the last one, another thread drops it: the end of an address
 * space may take mutexes that somebody holds who waits for the pager.
 *
 * Closing a page file is its work too: who asks for it waits, and may leave.
 */
#include "arch/alpha/hw/layout.h"
#include "kernel/base/errno.h"
#include "kernel/base/printk.h"
#include "kernel/block/block.h"
#include "kernel/proc/page_file.h"
#include "kernel/proc/page_out_private.h"
#include "kernel/proc/proc_private.h"
#include "kernel/proc/walk.h"
#include "kernel/quota/quota.h"
#include "kernel/sched/thread.h"
#include "kernel/sched/timer.h"
#include "mm/object/object.h"
#include "mm/pagefile/pagefile.h"
#include "mm/phys/fluid.h"
#include "mm/phys/page.h"
#include "mm/space/aspace.h"
#include "mm/space/aspace_page.h"
#include "sysman/params.h"

#define TICK_NS      2000000u /* between two looks at the free pages, while there is a page file */
#define CLOSE_ROUNDS 4u       /* over all spaces, before a page file that is in use still stays */

/* FREELIM and FREEGOAL if they are -1: 1/64 of memory, within limits, and half as much again. At
   most a quarter and half of memory: with more the pager would take away what programs are using,
   and never end. With fewer pages than LIMIT_LEAST there would be enough when nobody gets any. */
#define LIMIT_SHIFT 6
#define LIMIT_LEAST 256u
#define LIMIT_MOST  4096u

static struct wait_queue work = WAIT_QUEUE_INIT("pager", work);
static struct wait_queue news = WAIT_QUEUE_INIT("pages freed", news);
static struct wait_queue ends = WAIT_QUEUE_INIT("space end", ends);
static bool started;      /* constant after boot */
static uint64_t memory;   /* pages; constant after boot */
static bool called;       /* atomic */
static uint64_t freed;    /* pages so far; atomic */
static uint64_t verdicts; /* how often none could be freed; atomic */
static uint64_t thrashes; /* of these, how often although some were; atomic */
static uint64_t tight_ns; /* since when there are neither slots nor memory, 0: there are; atomic */
static const struct quota_count *only; /* whose pages alone go; NULL: all; pager's thread */
static uint64_t only_wants;            /* pages that this user has asked for; pager's thread */
static struct aspace *space;           /* that the pager works on; pager's thread */
static struct aspace *left;            /* a stack of those whose last reference is here; atomic */

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

    return fluid_minimum() + quota_page_floor() +
           (n < 0 ? MIN(MAX(memory >> LIMIT_SHIFT, LIMIT_LEAST), LIMIT_MOST)
                  : MIN(MAX((uint64_t)n, LIMIT_LEAST), memory / 4));
}

static uint64_t goal(void)
{
    int64_t n = sysparam(SYSPARAM_FREEGOAL);
    uint64_t low = limit(), floor = fluid_minimum() + quota_page_floor();

    return n < 0 ? low + (low - floor) / 2 : MAX(low, floor + MIN((uint64_t)n, memory / 2));
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

static bool is_done(void) { return only ? page_out_user_has_room(only, only_wants) : is_enough(); }

/* Where the pager has stopped: a space, which may be gone, and an address in it. Spaces are told
 * apart by their roots, as a hint. A round over the objects, which come last, is marked by its
 * number alone: they know where they are (mm/object/object_paging.c). A round for one user has a
 * mark and a number of its own, so the one for all goes on where it has stopped; but objects that
 * both meet, it visits once more. */
struct mark {
    uint64_t root;
    vaddr_t va;
    bool objects; /* the spaces of this round are done */
    uint32_t round;
};
static struct mark mark_all = {.round = 1};
static uint32_t last_round = 1; /* pager's thread */

static void count_freed(unsigned n)
{
    if (!n)
        return;
    __atomic_fetch_add(&freed, n, __ATOMIC_RELEASE);
    (void)wake_all(&news);
}

struct round {
    struct mark *mark;
    bool skipping; /* the space at which to go on has not been met */
    bool stopped;  /* there is enough */
};

static bool page_out_space(struct aspace *as, void *arg)
{
    struct round *r = arg;
    vaddr_t va = 0;

    if (r->skipping) {
        if (as->pt.root.n != r->mark->root)
            return true;
        r->skipping = false;
        va = r->mark->va;
    }
    while (va < LAYOUT_USER_TOP) {
        count_freed(aspace_page_out(as, &va, only));
        r->stopped = is_done();
        if (r->stopped) {
            r->mark->root = as->pt.root.n;
            r->mark->va = va;
            return false;
        }
    }
    /* Pages that this space was the last to have. */
    count_freed(written_sweep(WRITTEN_LOOK));
    return true;
}

static bool page_out_object(struct mm_object *o)
{
    bool more = true;

    while (more) {
        count_freed(object_page_out(o, only, &more));
        if (is_done())
            return false;
    }
    return true;
}

/* The objects that the round has not visited. False: stopped. */
static bool page_out_objects(uint32_t round)
{
    struct mm_object *o;
    bool more = true;

    while (more && (o = object_next_to_page(round)) != NULL) {
        more = page_out_object(o);
        object_drop(o);
    }
    return more;
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
    next = clock_ns() + PAGE_OUT_ROUND_NS;
}

static bool has_to_close(void)
{
    return __atomic_load_n(&closing.asked, __ATOMIC_ACQUIRE) != closing.done;
}

/* One round over all spaces, or what is left of the one that the mark is in. Returns how many pages
 * it has freed. */
static uint64_t round(struct mark *m)
{
    uint64_t before = __atomic_load_n(&freed, __ATOMIC_RELAXED);
    struct round r = {.mark = m, .skipping = m->root != 0};

    if (!m->objects) {
        for_each_space(page_out_space, &r);
        if (!r.stopped) {
            m->root = 0;
            m->objects = true;
        }
    }
    if (!r.stopped && page_out_objects(m->round)) {
        m->objects = false;
        m->round = ++last_round;
        if (!only)
            count_freed(written_sweep(WRITTEN_ROUND));
    }
    count_freed(written_sweep(WRITTEN_LOOK));
    return __atomic_load_n(&freed, __ATOMIC_RELAXED) - before;
}

/* Note since when there are neither free slots nor memory: in which pages can be freed only because
 * others come back. */
static void look_at_slots(void)
{
    uint64_t slots, free, now = clock_ns();

    pagefile_totals(&slots, &free);
    if (!pagefile_any() || free > PAGEFILE_CLUSTER + slots / 128 || is_enough())
        now = 0;
    if (!now || !tight_ns)
        __atomic_store_n(&tight_ns, now, __ATOMIC_RELAXED);
}

bool page_out_is_thrash(void)
{
    uint64_t since = __atomic_load_n(&tight_ns, __ATOMIC_RELAXED);

    return since && clock_ns() - since > PAGE_OUT_THRASH_NS && !is_enough();
}

void page_out_tell(void) { (void)wake_all(&news); }

static void give_verdict(void)
{
    if (page_out_is_thrash())
        __atomic_fetch_add(&thrashes, 1, __ATOMIC_RELEASE);
    __atomic_fetch_add(&verdicts, 1, __ATOMIC_RELEASE);
    page_out_tell();
}

/* Free pages of all, in one round at most. True: more rounds are needed. Otherwise those who wait
 * have been told to look. */
static bool free_some(void)
{
    static unsigned vain;

    if (!is_enough()) {
        if (!mark_all.root && !mark_all.objects && vain != PAGE_OUT_ROUNDS - 1)
            pace();
        vain = round(&mark_all) ? 0 : vain + 1;
        look_at_slots();
        if (!is_enough() && pagefile_any() && vain < PAGE_OUT_ROUNDS && !page_out_is_thrash())
            return true;
    }
    vain = 0;
    if (is_enough())
        page_out_tell();
    else
        give_verdict();
    return false;
}

uint64_t page_out_round_for(const struct quota_count *c, uint64_t wanted)
{
    struct mark own = {.round = ++last_round};
    uint64_t n;

    only = c;
    only_wants = wanted;
    n = is_done() ? 0 : round(&own);
    only = NULL;
    return n;
}

/* ---- waiting ---- */

bool page_out_active(void) { return started && pagefile_any(); }

/* What has happened so far, when a wait begins. full: the counter of a user at his limit, who waits
 * until it has room for `wanted` pages, or in vain; NULL: the wait is for memory of the system. */
struct page_out_news {
    const struct quota_count *full;
    uint64_t wanted;
    uint64_t freed, verdicts, thrashes;
    uint32_t own;
};

/* The pager can make no more room than this for a user at his limit, which may be less than an
 * attempt needs in all: that is tried once, and again only with more. least: what was refused. */
static bool is_worth_a_try(uint64_t room, uint64_t least)
{
    struct thread *t = thread_self();
    bool more = room >= least && room > t->refused_room;

    t->refused_room = more ? (uint16_t)room : 0;
    return more;
}

static bool wait_is_over(const struct page_out_news *was)
{
    if (was->full)
        return quota_room(was->full) >= was->wanted ||
               page_out_user_verdicts(was->full) != was->own;
    return __atomic_load_n(&freed, __ATOMIC_ACQUIRE) != was->freed ||
           __atomic_load_n(&verdicts, __ATOMIC_ACQUIRE) != was->verdicts || is_enough();
}

static int wait_for_news(const struct page_out_news *was)
{
    struct waiter w;
    int err = 0;

    for (;;) {
        wait_enqueue(&news, &w);
        if (wait_is_over(was))
            break;
        if (!was->full || page_out_user_ask(was->full, (uint16_t)was->wanted))
            page_out_look();
        /* A thread that settles what others wait for is not to find memory gone that it has. */
        err = wait_block(&w, thread_self()->settling ? WAIT_UNINTERRUPTIBLE : WAIT_KILLABLE,
                         WAIT_FOREVER);
        if (err)
            break;
    }
    wait_finish(&w);
    return err;
}

enum page_out_result page_out_wait_result(void)
{
    struct page_out_news was = {.freed = __atomic_load_n(&freed, __ATOMIC_ACQUIRE),
                                .verdicts = __atomic_load_n(&verdicts, __ATOMIC_ACQUIRE),
                                .thrashes = __atomic_load_n(&thrashes, __ATOMIC_ACQUIRE)};
    bool refused = quota_take_refusal();
    uint64_t least = MAX(thread_self()->refused_pages, 1u), room;

    was.full = page_out_user_full(&was.wanted);
    if (!page_out_active() || thread_self()->failure)
        return PAGE_OUT_NONE;
    if (was.full) {
        uint64_t limit = __atomic_load_n(&was.full->limit, __ATOMIC_RELAXED);

        if (was.wanted > MIN(limit, (uint64_t)UINT16_MAX))
            return PAGE_OUT_NONE; /* there will never be so much room */
        was.own = page_out_user_verdicts(was.full);
        /* With less room than was tried with, somebody got pages, maybe this thread. */
        if (quota_room(was.full) < MAX(least, thread_self()->refused_room))
            thread_self()->refused_room = 0;
    } else if (is_enough()) { /* the pager, or who freed something, was faster than this thread */
        return refused && (!thread_killed() || thread_self()->settling) ? PAGE_OUT_AGAIN
                                                                        : PAGE_OUT_NONE;
    }
    if (wait_for_news(&was) != 0)
        return PAGE_OUT_NONE;
    /* Of what there was others may have taken some: then the next try is refused, and waits. But
       while pages only take each other's place, room does not last. */
    if (was.full) {
        room = quota_room(was.full);
        if (page_out_user_is_thrash(was.full) ||
            (room < was.wanted && page_out_user_verdicts(was.full) != was.own &&
             !is_worth_a_try(room, least)))
            return PAGE_OUT_VAIN;
        return PAGE_OUT_AGAIN;
    }
    if (__atomic_load_n(&thrashes, __ATOMIC_ACQUIRE) != was.thrashes)
        return PAGE_OUT_VAIN;
    return __atomic_load_n(&freed, __ATOMIC_ACQUIRE) == was.freed &&
                   __atomic_load_n(&verdicts, __ATOMIC_ACQUIRE) != was.verdicts && !is_enough()
               ? PAGE_OUT_VAIN
               : PAGE_OUT_AGAIN;
}

bool page_out_wait(void) { return page_out_wait_result() == PAGE_OUT_AGAIN; }

/* ---- closing a page file ---- */

static bool page_in_space(struct aspace *as, void *arg)
{
    vaddr_t va = 0;
    int *err = arg;

    while (va < LAYOUT_USER_TOP && !*err)
        *err = aspace_page_in(as, closing.file, &va);
    return *err == 0;
}

static int page_in_objects(void)
{
    struct mm_object *o;
    uint32_t number = ++last_round;
    int err = 0;

    while (!err && (o = object_next_to_page(number)) != NULL) {
        err = object_page_in(o, closing.file);
        object_drop(o);
    }
    return err;
}

/* Bring back what is in the file. New processes come last in a walk; who holds slots only now, such
 * as an exec that is under way, is met the next time. */
static void close_file(void)
{
    int err = 0;
    bool ended = false;

    (void)written_sweep(WRITTEN_ALL);
    for (unsigned n = 0; n < CLOSE_ROUNDS && !err && !ended; n++) {
        for_each_space(page_in_space, &err);
        err = err ? err : page_in_objects();
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
    bool more = false; /* rounds for all are needed, up to FREEGOAL */
    bool busy = false; /* the next round may begin at once */

    (void)arg;
    for (;;) {
        bool asked = __atomic_exchange_n(&called, false, __ATOMIC_ACQUIRE), served;
        struct waiter w;

        wait_enqueue(&work, &w);
        if (!asked && !busy && !__atomic_load_n(&called, __ATOMIC_ACQUIRE))
            (void)wait_block(&w, WAIT_UNINTERRUPTIBLE,
                             pagefile_any() || page_out_users_wait() ? clock_ns() + TICK_NS
                                                                     : WAIT_FOREVER);
        wait_finish(&w);
        if (has_to_close())
            close_file();
        count_freed(written_sweep(WRITTEN_LOOK));
        served = page_out_serve_user();
        pagefile_set_short(fluid_count() < goal());
        if (!pagefile_any() || is_enough()) /* slots are looked at once in a round */
            __atomic_store_n(&tight_ns, 0, __ATOMIC_RELAXED);
        /* Who asked waits for a verdict at least, even if the last page file has been closed. */
        more = (asked || (pagefile_any() && (more || fluid_count() < limit()))) && free_some();
        busy = served || more;
    }
}

void page_out_boot(void)
{
    struct thread *t, *end;
    struct page_stats s;

    if (!block_disk(0))
        return;
    page_stats(&s);
    memory = s.total;
    t = thread_create("pager", pager, NULL, PRIO_NORMAL + 4);
    end = thread_create("space end", end_spaces, NULL, PRIO_NORMAL + 4);
    if (!t || !end) {
        printk("there is no memory for the pager: page files cannot be used\n");
        return;
    }
    started = true;
    aspace_wait_for_memory = page_out_wait;
    object_wait_for_memory = page_out_wait;
    thread_start(t);
    thread_start(end);
}
