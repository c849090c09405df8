/*
 * The messages of mailboxes, and room for them.
 *
 * Room (`used`) is taken without a lock, and given back when the memory is. Who waits for it is
 * woken one at a time, and wakes the next one if there is room left: so does a writer that gives
 * up, because it may have been woken for nothing.
 *
 *   writer A                      reader                      writer B
 *   no room, waits
 *                                 frees a message, wakes A
 *   interrupted by a signal
 *   wakes B, which has come to wait meanwhile                 takes the room
 */
#include "kernel/base/abi/ssdef.h"
#include "kernel/io/open_flags.h"
#include "kernel/qio/mailbox_private.h"
#include "mm/pool/pool_charged.h"

static size_t size_of(uint32_t length) { return sizeof(struct mailbox_message) + length; }

size_t mailbox_message_size(const struct mailbox_message *m) { return size_of(m->length); }

bool mailbox_has_room(const struct mailbox *b)
{
    return __atomic_load_n(&b->used, __ATOMIC_SEQ_CST) + mailbox_message_cost(b, 0) <= b->bufquo;
}

/* `used` never counts what somebody failed to get: another one who fails because of that would wait
 * for a wake-up that nobody owes. */
bool mailbox_take_room(struct mailbox *b, uint32_t n)
{
    uint32_t used = __atomic_load_n(&b->used, __ATOMIC_SEQ_CST);

    do {
        if (used + n > b->bufquo)
            return false;
    } while (!__atomic_compare_exchange_n(&b->used, &used, used + n, false, __ATOMIC_SEQ_CST,
                                          __ATOMIC_SEQ_CST));
    return true;
}

static void give_room(struct mailbox *b, uint32_t n)
{
    __atomic_fetch_sub(&b->used, n, __ATOMIC_SEQ_CST);
    (void)wake_one(&b->room);
    poll_notify(&b->polled, POLLOUT | POLLWRNORM);
    mailbox_room_came(b);
}

struct mailbox_message *mailbox_message_make(struct mailbox *b, uint32_t length, uint32_t pid)
{
    struct mailbox_message *m = npp_alloc_charged(size_of(length), b->account);

    if (!m) {
        give_room(b, mailbox_message_cost(b, length));
        return NULL;
    }
    *m = (struct mailbox_message){.box = b, .refs = 1, .length = length, .pid = pid};
    list_init(&m->link);
    mailbox_ref(b);
    return m;
}

void mailbox_message_unref(struct mailbox_message *m)
{
    struct mailbox *b = m->box;

    if (__atomic_sub_fetch(&m->refs, 1, __ATOMIC_ACQ_REL) != 0)
        return;
    give_room(b, mailbox_message_cost(b, m->length));
    npp_free_charged(m, mailbox_message_size(m), b->account);
    mailbox_unref(b);
}

struct mailbox_message *mailbox_first_locked(const struct mailbox *b)
{
    struct list *l = list_first(&b->messages);

    return l ? list_entry(l, struct mailbox_message, link) : NULL;
}

void mailbox_unqueue_locked(struct mailbox *b, struct mailbox_message *m)
{
    list_remove(&m->link);
    b->nmessages--;
    b->nbytes -= mailbox_message_rest(m);
}

void mailbox_purge(struct mailbox *b)
{
    struct mailbox_message *m;

    do {
        ipl_t ipl = spin_lock(&b->lock);

        m = mailbox_first_locked(b);
        if (m)
            mailbox_unqueue_locked(b, m);
        spin_unlock(&b->lock, ipl);
        if (m)
            mailbox_message_unref(m);
    } while (m);
}

/* ---- room ---- */

static bool is_closed(struct mailbox_channel *c)
{
    ipl_t ipl = spin_lock(&c->box->lock);
    bool closed = c->closed;

    spin_unlock(&c->box->lock, ipl);
    return closed;
}

cond_t mailbox_wait_for_room(struct mailbox_channel *c, uint32_t n, bool norswait,
                             bool *interrupted)
{
    struct mailbox *b = c->box;
    cond_t status = SS$_NORMAL;
    struct waiter w;

    if (mailbox_take_room(b, n))
        return SS$_NORMAL;
    if (norswait)
        return SS$_MBFULL;
    for (;;) {
        wait_enqueue(&b->room, &w);
        if (is_closed(c)) {
            status = SS$_NOPRIV;
            break;
        }
        if (mailbox_take_room(b, n))
            break;
        if (wait_block(&w, WAIT_INTERRUPTIBLE, WAIT_FOREVER) != 0) {
            *interrupted = true;
            break;
        }
    }
    wait_finish(&w);
    if (mailbox_has_room(b))
        (void)wake_one(&b->room);
    return status;
}
