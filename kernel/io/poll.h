/*
 * Whom a change of a file's state concerns. Each object that can be polled has a source, a list of
 * those who want to know of its changes: calls of poll and select, and epoll instances, each by an
 * entry. The poll operation of a file (file.h) puts the entry that it is given on the object's
 * source and then looks at the state; code that changes the state calls poll_notify() afterwards.
 *
 * No change is missed if both look at the state under the same lock:
 *
 *     poller: entry on the source; lock; look; unlock
 *     other:  lock; change; unlock; any entries?
 *
 * If the poller's section is first, its entry is on the source before the other's section, which
 * then finds it; otherwise the poller sees the change. A state that is not protected by a lock
 * needs a full barrier between the two steps, on both sides.
 *
 * Anybody may have any number of entries on a source. So poll_notify() calls a few of them and
 * leaves the rest to a thread, the relay, which takes the sources that have more in turn, a few
 * entries of each at a time. An entry may be called several times for one change.
 */
#ifndef KERNEL_IO_POLL_H
#define KERNEL_IO_POLL_H

#include "kernel/base/list.h"
#include "kernel/sched/spinlock.h"

struct poll_source {
    struct spinlock lock; /* RANK_POLL, IPL_CLOCK; protects entries and cursor */
    struct list entries;  /* poll_entry.link, and the cursor while the relay is on its way */
    struct list cursor;   /* the relay continues behind it */
    uint32_t count;       /* number of entries; atomic: changed under the lock */
    uint32_t left;        /* entries that the relay may still call; lock */
    uint32_t walk_events; /* those that the relay's walk reports; relay thread */
    uint32_t events;      /* those that the relay is to report; the relay's lock */
    bool was_relayed;     /* the relay may know it; atomic; only set, by those who notify */
    struct list relayed;  /* link in the relay's queue; the relay's lock */
    /* Called after an entry was taken off, at the caller's IPL; NULL: nothing is to be done. */
    void (*released)(struct poll_source *s); /* constant */
};

struct poll_entry {
    struct list link;           /* source's lock */
    struct poll_source *source; /* NULL: on none; owner of the entry */
    /* A change of one of `events` happened (POLL*). Called with the source's lock held, at
     * IPL_CLOCK; does not wait. Returns whether somebody will attend to it, which is asked of
     * exclusive entries only. Constant. */
    bool (*wake)(struct poll_entry *e, uint32_t events);
    uint32_t events; /* those that it wants to be told of; atomic */
    bool exclusive;  /* of all exclusive entries one suffices that attends to it; constant */
};

void poll_source_init(struct poll_source *s);
void poll_source_leave(struct poll_source *s);
/* The object ends: nobody else uses s any more, and on return the relay does not either, which may
 * still have s on its queue when all who were to be told have gone. There are no entries. May wait
 * a moment. IPL 0. */
static inline void poll_source_end(struct poll_source *s)
{
    if (unlikely(__atomic_load_n(&s->was_relayed, __ATOMIC_RELAXED)))
        poll_source_leave(s);
}
/* Put e, which is on no source, on s; does nothing if e is NULL. Any IPL up to IPL_CLOCK, spinlocks
 * below RANK_POLL. */
void poll_register(struct poll_source *s, struct poll_entry *e);
/* Take e off its source, if it is on one. On return its wake function does not run any more. IPL
 * and locks as above. */
void poll_unregister(struct poll_entry *e);

void poll_wake_some(struct poll_source *s, uint32_t events);
/* Have the relay call the entries of s. Any IPL up to IPL_CLOCK, spinlocks below RANK_RELAY; the
 * owner of s calls poll_source_end(). */
void poll_relay(struct poll_source *s, uint32_t events);

static inline bool poll_is_watched(const struct poll_source *s)
{
    return unlikely(__atomic_load_n(&s->count, __ATOMIC_RELAXED) != 0);
}
/* The state of the object of s has changed: tell those who want to know of `events`. Any IPL up to
 * IPL_CLOCK, spinlocks below RANK_POLL. The caller keeps the object in existence. */
static inline void poll_notify(struct poll_source *s, uint32_t events)
{
    if (poll_is_watched(s))
        poll_wake_some(s, events);
}

/* Boot: start the relay. */
void poll_boot(void);

#endif
