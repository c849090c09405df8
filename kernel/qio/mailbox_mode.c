/* Attention, waits for channels of the other side, settings of mailboxes. */
#include "kernel/base/abi/ssdef.h"
#include "kernel/qio/mailbox_private.h"

/* A request that completes at once with this quadword. */
static cond_t complete_now(const struct mailbox_who *who, const struct qio_completion *done,
                           uint64_t answer)
{
    struct io_request *r;
    cond_t status = mailbox_request_make(who, done, false, &r);

    if (status == SS$_NORMAL)
        event_post_self(&r->event, answer);
    return status;
}

static unsigned side_of(enum mailbox_news of) { return of == MAILBOX_WRITES ? WRITERS : READERS; }

/* Queue the notice, or post it if what it is for is there. SS$_NORMAL, SS$_NOPRIV, SS$_EXQUOTA. */
static cond_t arm(struct mailbox_channel *c, enum mailbox_news of, struct io_request *a)
{
    unsigned side = side_of(of);
    struct mailbox *b = c->box;
    cond_t status = SS$_NORMAL;
    ipl_t ipl;

    if (of == MAILBOX_ROOM)
        return mailbox_want_room(c, a);
    ipl = spin_lock(&b->lock);

    if (c->closed)
        status = SS$_NOPRIV;
    else if (side == WRITERS ? !list_empty(&b->messages) : !list_empty(&b->reads) || b->nlines)
        event_post(&a->event, 0);
    else if (!mailbox_queue_kept_locked(b, side, &b->attention[side], &c->notices[side], a))
        status = SS$_EXQUOTA;
    spin_unlock(&b->lock, ipl);
    return status;
}

static void disarm(struct mailbox_channel *c, enum mailbox_news of)
{
    if (of == MAILBOX_ROOM)
        mailbox_want_no_room(c, false);
    else
        mailbox_end_own(c->box, &c->notices[side_of(of)], true);
}

cond_t mailbox_attention(struct qio_channel *q, const struct mailbox_who *who,
                         const struct qio_completion *done, enum mailbox_news of, vaddr_t astadr,
                         uint64_t astprm)
{
    const struct qio_completion ast = {
        .owner = done->owner, .efn = EVENT_NONE, .astadr = astadr, .astprm = astprm};
    struct mailbox_channel *c = mailbox_channel_of(q);
    struct io_request *r, *a = NULL;
    cond_t status = mailbox_request_make(who, done, false, &r);

    if (status != SS$_NORMAL)
        return status;
    if (astadr)
        status = mailbox_request_make(who, &ast, true, &a);
    if (status == SS$_NORMAL && a) {
        status = arm(c, of, a);
        if (status != SS$_NORMAL)
            mailbox_request_drop(a);
    } else if (status == SS$_NORMAL) {
        disarm(c, of);
    }
    if (status == SS$_NORMAL)
        event_post_self(&r->event, qio_status(SS$_NORMAL, 0, 0));
    else
        mailbox_request_drop(r);
    return status;
}

cond_t mailbox_wait(struct qio_channel *q, const struct mailbox_who *who,
                    const struct qio_completion *done, bool writer)
{
    struct mailbox_channel *c = mailbox_channel_of(q);
    unsigned side = writer ? WRITERS : READERS;
    struct mailbox *b = c->box;
    bool there;
    struct io_request *r;
    cond_t status = mailbox_request_make(who, done, false, &r);
    ipl_t ipl;

    if (status != SS$_NORMAL)
        return status;
    ipl = spin_lock(&b->lock);
    there = b->users[side] != 0;
    if (c->closed)
        status = SS$_NOPRIV;
    else if (!there && !mailbox_queue_kept_locked(b, side, &b->waits[side], &c->own, r))
        status = SS$_EXQUOTA;
    spin_unlock(&b->lock, ipl);
    if (status != SS$_NORMAL) {
        mailbox_request_drop(r);
        return status;
    }
    if (there)
        event_post_self(&r->event, qio_status(SS$_NORMAL, 0, 0));
    return SS$_NORMAL;
}

cond_t mailbox_protect(struct qio_channel *q, const struct mailbox_who *who,
                       const struct qio_completion *done, uint32_t protection)
{
    struct mailbox *b = mailbox_channel_of(q)->box;

    if (!who->bypass && (who->uic_group != b->uic_group || who->uic_member != b->uic_member))
        return SS$_NOPRIV;
    __atomic_store_n(&b->protection, protection, __ATOMIC_RELAXED);
    return complete_now(who, done, qio_status(SS$_NORMAL, 0, protection));
}

cond_t mailbox_sense(struct qio_channel *q, const struct mailbox_who *who,
                     const struct qio_completion *done, bool reader_check, bool writer_check)
{
    struct mailbox *b = mailbox_channel_of(q)->box;
    ipl_t ipl = spin_lock(&b->lock);
    uint32_t messages = b->nmessages, nbytes = b->nbytes;
    bool no_reader = reader_check && !b->users[READERS];
    bool no_writer = writer_check && !b->users[WRITERS];

    spin_unlock(&b->lock, ipl);
    return complete_now(who, done,
                        qio_status(no_reader   ? SS$_NOREADER
                                   : no_writer ? SS$_NOWRITER
                                               : SS$_NORMAL,
                                   messages, nbytes));
}
