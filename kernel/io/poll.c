/*
 * Sources of changes and their entries; poll.h describes the rules.
 *
 * Locks: a source's lock (RANK_POLL) protects its list; an entry's wake function runs under it, so
 * that an entry taken off the list is not called any more. The relay's lock (RANK_RELAY) is taken
 * after it. Neither is held for longer than AT_ONCE entries take: an entry wakes one thread, which
 * is some 420 instructions.
 *
 * New entries come to the head of the list, exclusive ones to the tail. The relay walks from head
 * to tail, no further than there were entries when it began, so it ends however many are added
 * meanwhile; those that are added see the change by themselves.
 */
#include "kernel/io/poll.h"

#include "kernel/base/panic.h"
#include "kernel/io/io_private.h"
#include "kernel/sched/thread.h"
#include "kernel/sched/wait.h"

#define AT_ONCE 4u

static struct {
    struct spinlock lock;        /* RANK_RELAY, IPL_CLOCK; protects the rest */
    struct list sources;         /* poll_source.relayed: to be walked, in turn */
    struct poll_source *current; /* what the relay works on */
    struct wait_queue queue;     /* where it waits for work */
} relay = {.lock = SPINLOCK_INIT("poll relay", RANK_RELAY, IPL_CLOCK),
           .sources = LIST_INIT(relay.sources),
           .queue = WAIT_QUEUE_INIT("poll relay", relay.queue)};

void poll_source_init(struct poll_source *s)
{
    s->lock = (struct spinlock)SPINLOCK_INIT("poll", RANK_POLL, IPL_CLOCK);
    s->count = s->left = s->walk_events = s->events = 0;
    s->was_relayed = false;
    s->released = NULL;
    list_init(&s->entries);
    list_init(&s->cursor);
    list_init(&s->relayed);
}

static void count_add(struct poll_source *s, int n)
{
    __atomic_store_n(&s->count, s->count + (uint32_t)n, __ATOMIC_RELAXED);
}

void poll_register(struct poll_source *s, struct poll_entry *e)
{
    ipl_t ipl;

    if (!e)
        return;
    ipl = spin_lock(&s->lock);
    e->source = s;
    if (e->exclusive)
        list_add_tail(&s->entries, &e->link);
    else
        list_add_head(&s->entries, &e->link);
    count_add(s, 1);
    spin_unlock(&s->lock, ipl);
}

void poll_unregister(struct poll_entry *e)
{
    struct poll_source *s = e->source;
    ipl_t ipl;

    if (!s)
        return;
    ipl = spin_lock(&s->lock);
    list_remove(&e->link);
    count_add(s, -1);
    e->source = NULL;
    spin_unlock(&s->lock, ipl);
    if (unlikely(s->released != NULL))
        s->released(s);
}

/* Call the entries behind `at`, up to `most`. Returns the link to continue behind; NULL: all were
 * called, or an exclusive one will attend to the change. s is locked. */
static struct list *call_some(struct poll_source *s, struct list *at, uint32_t events,
                              unsigned most)
{
    for (;; most--) {
        struct poll_entry *e;

        at = list_next(&s->entries, at);
        if (at == &s->cursor)
            at = list_next(&s->entries, at);
        if (!at)
            return NULL;
        if (!most)
            return list_prev(&s->entries, at) ?: &s->entries;
        e = list_entry(at, struct poll_entry, link);
        if ((__atomic_load_n(&e->events, __ATOMIC_RELAXED) & events) && e->wake(e, events) &&
            e->exclusive)
            return NULL;
    }
}

void poll_wake_some(struct poll_source *s, uint32_t events)
{
    ipl_t ipl = spin_lock(&s->lock);
    bool more = call_some(s, &s->entries, events, AT_ONCE) != NULL;

    if (more)
        poll_relay(s, events);
    spin_unlock(&s->lock, ipl);
}

/* ---- the relay ---- */

void poll_relay(struct poll_source *s, uint32_t events)
{
    ipl_t ipl = spin_lock(&relay.lock);
    bool idle = list_empty(&relay.sources);

    s->events |= events;
    __atomic_store_n(&s->was_relayed, true, __ATOMIC_RELAXED);
    if (list_empty(&s->relayed) && relay.current != s)
        list_add_tail(&relay.sources, &s->relayed);
    spin_unlock(&relay.lock, ipl);
    if (idle)
        wake_all(&relay.queue);
}

/* Take s off the relay's queue, and wait until the relay has done with it. */
void poll_source_leave(struct poll_source *s)
{
    for (;;) {
        ipl_t ipl = spin_lock(&relay.lock);
        bool current = relay.current == s;

        if (!current)
            list_remove(&s->relayed);
        spin_unlock(&relay.lock, ipl);
        if (!current)
            return;
        thread_yield();
    }
}

/* Take the next source off the queue, and what is to be reported. NULL: there is none. */
static struct poll_source *next_source(uint32_t *events)
{
    ipl_t ipl = spin_lock(&relay.lock);
    struct list *l = list_pop_head(&relay.sources);
    struct poll_source *s = l ? list_entry(l, struct poll_source, relayed) : NULL;

    if (s) {
        *events = s->events;
        s->events = 0;
        relay.current = s;
    }
    spin_unlock(&relay.lock, ipl);
    return s;
}

/* Done with s for now; put it last in the queue if it has more to report. */
static void put_source(struct poll_source *s, bool more)
{
    ipl_t ipl = spin_lock(&relay.lock);

    relay.current = NULL;
    if (more || s->events)
        list_add_tail(&relay.sources, &s->relayed);
    spin_unlock(&relay.lock, ipl);
}

/* Call a few entries of s behind the cursor, which begins at the head when there is something new
 * to report. True: there are more. */
static bool walk(struct poll_source *s, uint32_t events)
{
    struct list *at = NULL;
    ipl_t ipl = spin_lock(&s->lock);

    if (events) {
        if (!list_empty(&s->cursor))
            events |= s->walk_events; /* the walk that it interrupts */
        list_remove(&s->cursor);
        list_add_head(&s->entries, &s->cursor);
        s->walk_events = events;
        s->left = s->count;
    }
    if (s->left)
        at = call_some(s, &s->cursor, s->walk_events, AT_ONCE);
    s->left -= s->left < AT_ONCE ? s->left : AT_ONCE;
    if (at != &s->cursor)
        list_remove(&s->cursor);
    if (at && at != &s->cursor)
        list_add_after(at, &s->cursor);
    spin_unlock(&s->lock, ipl);
    return at != NULL;
}

static void relay_thread(void *arg)
{
    (void)arg;
    for (;;) {
        struct poll_source *s;
        struct waiter w;
        uint32_t events;

        wait_enqueue(&relay.queue, &w);
        s = next_source(&events);
        if (!s)
            wait_block(&w, WAIT_UNINTERRUPTIBLE, WAIT_FOREVER);
        wait_finish(&w);
        if (s)
            put_source(s, walk(s, events));
    }
}

/* It runs at the priority of users' threads: what users leave to it takes the kernel's share of a
 * CPU, and no more. */
void poll_boot(void)
{
    struct thread *t = thread_create("poll relay", relay_thread, NULL, PRIO_NORMAL);

    if (!t)
        panic("no memory for the relay of poll");
    thread_start(t);
}
