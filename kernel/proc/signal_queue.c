/* Queues of real-time signals: signal_queue.h. */
#include "kernel/proc/signal_queue.h"

#include "kernel/base/string.h"
#include "mm/pool/pool_charged.h"

void signal_room_get(struct signal_room *r)
{
    uint16_t account = pool_account();

    r->record = npp_alloc_charged(sizeof(*r->record), account);
    r->queue = r->record ? npp_alloc_charged(sizeof(*r->queue), account) : NULL;
    if (r->record)
        r->record->account = account;
    if (r->queue)
        r->queue->account = account;
    else
        signal_room_put(r);
}

void signal_room_put(struct signal_room *r)
{
    if (r->record)
        npp_free_charged(r->record, sizeof(*r->record), r->record->account);
    if (r->queue)
        npp_free_charged(r->queue, sizeof(*r->queue), r->queue->account);
    *r = (struct signal_room){NULL, NULL};
}

static struct signal_queue *begin(struct sigpending *q, struct signal_room *r)
{
    struct signal_queue *new = r->queue;

    for (unsigned k = 0; k < REALTIME_SIGNALS; k++) {
        new->first[k] = NULL;
        new->end[k] = &new->first[k];
        new->count[k] = 0;
    }
    new->total = 0;
    r->queue = NULL;
    q->queue = new;
    return new;
}

bool signal_queue_add_locked(struct sigpending *q, const struct signal_info *info,
                             struct signal_room *r, uint64_t limit)
{
    unsigned k = (unsigned)info->signo - REALTIME_FIRST;
    struct signal_queue *queue = q->queue;

    if (!r->record || (queue ? queue->total : 0) + 1 >= limit)
        return false;
    if (!queue)
        queue = begin(q, r);
    r->record->next = NULL;
    r->record->info = *info;
    *queue->end[k] = r->record;
    queue->end[k] = &r->record->next;
    queue->count[k]++;
    queue->total++;
    r->record = NULL;
    return true;
}

struct queued_signal *signal_queue_next_locked(struct sigpending *q, int sig)
{
    unsigned k = (unsigned)(sig - REALTIME_FIRST);
    struct queued_signal *next = q->queue ? q->queue->first[k] : NULL;

    if (!next)
        return NULL;
    q->info[sig - 1] = next->info;
    q->queue->first[k] = next->next;
    if (!next->next)
        q->queue->end[k] = &q->queue->first[k];
    q->queue->count[k]--;
    q->queue->total--;
    next->next = NULL;
    return next;
}

void signal_queue_discard_locked(struct sigpending *q, sigset_t bits, struct queued_signal **to)
{
    struct signal_queue *queue = q->queue;

    for (bits &= REALTIME; queue && bits; bits &= bits - 1) {
        unsigned k = (unsigned)__builtin_ctzl(bits) + 1 - REALTIME_FIRST;

        if (!queue->first[k])
            continue;
        *queue->end[k] = *to;
        *to = queue->first[k];
        queue->first[k] = NULL;
        queue->end[k] = &queue->first[k];
        queue->total -= queue->count[k];
        queue->count[k] = 0;
    }
}

void queued_signals_free(struct queued_signal *list)
{
    while (list) {
        struct queued_signal *next = list->next;

        npp_free_charged(list, sizeof(*list), list->account);
        list = next;
    }
}

void signal_queue_end(struct sigpending *q)
{
    struct queued_signal *all = NULL;

    if (!q->queue)
        return;
    signal_queue_discard_locked(q, REALTIME, &all);
    queued_signals_free(all);
    npp_free_charged(q->queue, sizeof(*q->queue), q->queue->account);
    q->queue = NULL;
}
