/*
 * Mailboxes: the directory of units, and channels that come and go.
 *
 * The directory is an array by unit, under a mutex, which also protects the number of channels of
 * each mailbox: so one that is about to lose its last channel, and goes with it, gets no other one
 * meanwhile. Units are given out in turn, so that a number comes back late.
 *
 * What a mailbox may buffer is charged to the process that makes a temporary one (PQL_DBYTLM), as
 * on OpenVMS; memory is charged to its user when it is used.
 */
#include "kernel/base/abi/ssdef.h"
#include "kernel/base/string.h"
#include "kernel/qio/mailbox_private.h"
#include "kernel/sched/mutex.h"
#include "mm/pool/pool_census.h"
#include "mm/pool/pool_charged.h"
#include "sysman/params.h"

static struct mutex directory_lock = MUTEX_INIT("mailboxes", MUTEX_MAILBOXES, directory_lock);
static struct mailbox *units[MAILBOX_UNITS]; /* of unit n at n - 1; directory_lock */
static uint32_t next_unit;                   /* where the search begins; directory_lock */
static uint64_t serials;                     /* given out; directory_lock */

static const struct qio_device mailbox_device;

struct mailbox *mailbox_of(const struct qio_channel *c)
{
    return c->device == &mailbox_device
               ? container_of((struct qio_channel *)(uintptr_t)c, struct mailbox_channel, qio)->box
               : NULL;
}

uint32_t mailbox_unit(const struct mailbox *b) { return b->unit; }

/* ---- mailboxes ---- */

void mailbox_ref(struct mailbox *b) { __atomic_fetch_add(&b->refs, 1, __ATOMIC_RELAXED); }

void mailbox_unref(struct mailbox *b)
{
    if (__atomic_sub_fetch(&b->refs, 1, __ATOMIC_ACQ_REL) != 0)
        return;
    account_release(&accounts[b->account], QUOTA_IPC, 1);
    if (b->charged) {
        qio_release_bytes(b->charged, b->bufquo);
        qio_channels_unref(b->charged);
    }
    npp_free_charged(b, sizeof(*b), b->account);
}

static void init(struct mailbox *b, const struct mailbox_who *who, const struct mailbox_request *r)
{
    memset(b, 0, sizeof(*b));
    spin_init(&b->lock, "mailbox", RANK_MAILBOX, IPL_ASTDEL);
    wait_queue_init(&b->room, "room in a mailbox");
    wait_queue_init(&b->lines, "message in a mailbox");
    poll_source_init(&b->polled);
    b->refs = 1;
    b->maxmsg = r->maxmsg;
    b->bufquo = r->bufquo;
    b->protection = r->protection;
    b->permanent = b->system = r->permanent;
    b->uic_group = who->uic_group;
    b->uic_member = who->uic_member;
    b->account = pool_account();
    list_init(&b->messages);
    list_init(&b->reads);
    mailbox_room_init(b);
    for (unsigned side = 0; side < SIDES; side++) {
        list_init(&b->attention[side]);
        list_init(&b->waits[side]);
        list_init(&b->watched[side]);
    }
    if (!b->permanent) {
        qio_channels_ref(who->channels);
        b->charged = who->channels;
    }
}

/* A mailbox that is in no directory, with everything charged. */
static cond_t make(const struct mailbox_who *who, const struct mailbox_request *r,
                   struct mailbox **out)
{
    struct mailbox *b;

    if (!r->permanent && !qio_charge_bytes(who->channels, r->bufquo))
        return SS$_EXBYTLM;
    if (!account_charge(account_self(), QUOTA_IPC, 1)) {
        if (!r->permanent)
            qio_release_bytes(who->channels, r->bufquo);
        return SS$_EXQUOTA;
    }
    b = npp_alloc_charged(sizeof(*b), pool_account());
    if (!b) {
        account_release(account_self(), QUOTA_IPC, 1);
        if (!r->permanent)
            qio_release_bytes(who->channels, r->bufquo);
        return SS$_INSFMEM;
    }
    init(b, who, r);
    *out = b;
    return SS$_NORMAL;
}

/* Enter b under a number that is free. False: there is none. The directory is locked. */
static bool enter(struct mailbox *b)
{
    for (uint32_t n = 0; n < MAILBOX_UNITS; n++) {
        uint32_t at = (next_unit + n) % MAILBOX_UNITS;

        if (!units[at]) {
            units[at] = b;
            b->unit = at + 1;
            b->serial = ++serials;
            next_unit = at + 1;
            return true;
        }
    }
    return false;
}

/* If nothing keeps b, take it out. The directory is locked. */
static bool leave(struct mailbox *b)
{
    ipl_t ipl;

    if (b->permanent || b->nchannels || units[b->unit - 1] != b)
        return false;
    units[b->unit - 1] = NULL;
    ipl = spin_lock(&b->lock);
    b->gone = true;
    spin_unlock(&b->lock, ipl);
    return true;
}

/* b has left the directory. IPL 0. */
static void end(struct mailbox *b)
{
    poll_source_end(&b->polled);
    mailbox_purge(b);
    mailbox_unref(b);
}

struct mailbox *mailbox_find(uint32_t unit)
{
    struct mailbox *b = NULL;

    if (unit < 1 || unit > MAILBOX_UNITS)
        return NULL;
    mutex_lock(&directory_lock);
    b = units[unit - 1];
    if (b)
        mailbox_ref(b);
    mutex_unlock(&directory_lock);
    return b;
}

void mailbox_set_name(struct mailbox *b, const char *name, uint32_t length)
{
    memcpy(b->name, name, length);
    __atomic_store_n(&b->name_length, length, __ATOMIC_RELEASE);
}

bool mailbox_gone_name(struct mailbox *b, struct mailbox_name *n)
{
    ipl_t ipl = spin_lock(&b->lock);
    bool gone = b->gone;

    spin_unlock(&b->lock, ipl);
    n->length = __atomic_load_n(&b->name_length, __ATOMIC_ACQUIRE);
    n->unit = b->unit;
    n->system = b->system;
    memcpy(n->text, b->name, n->length);
    return gone && n->length;
}

cond_t mailbox_mark(struct mailbox *b, bool prmmbx)
{
    cond_t status = SS$_NORMAL;
    bool over = false;

    mutex_lock(&directory_lock);
    if (b->permanent && !prmmbx) {
        status = SS$_NOPRIV;
    } else {
        b->permanent = false;
        over = leave(b);
    }
    mutex_unlock(&directory_lock);
    if (over)
        end(b);
    return status;
}

/* ---- channels ---- */

/* A channel that counts as no user yet, with a reference to b. */
static struct mailbox_channel *channel_make(struct mailbox *b, bool readable, bool writable)
{
    uint16_t account = pool_account();
    struct mailbox_channel *c = npp_alloc_charged(sizeof(*c), account);

    if (!c)
        return NULL;
    memset(c, 0, sizeof(*c));
    c->qio = (struct qio_channel){.device = &mailbox_device,
                                  .refs = 1,
                                  .readable = readable,
                                  .writable = writable,
                                  .account = account};
    list_init(&c->own);
    list_init(&c->wanted);
    for (unsigned side = 0; side < SIDES; side++)
        list_init(&c->notices[side]);
    mailbox_ref(b);
    c->box = b;
    return c;
}

static void channel_free(struct qio_channel *q)
{
    struct mailbox_channel *c = mailbox_channel_of(q);

    mailbox_unref(c->box);
    npp_free_charged(c, sizeof(*c), q->account);
}

/* Count the channel as a user of each side that it is for, or not any more, and tell who waits for
 * the first or the last one. The directory is not locked. */
static void count(struct mailbox_channel *c, bool comes)
{
    const bool of[SIDES] = {[READERS] = c->qio.readable, [WRITERS] = c->qio.writable};
    struct mailbox *b = c->box;
    bool changed[SIDES];
    uint64_t until;
    ipl_t ipl = spin_lock(&b->lock);

    for (unsigned side = 0; side < SIDES; side++) {
        uint32_t before = b->users[side];

        b->users[side] = before + (of[side] ? comes ? 1 : UINT32_MAX : 0);
        changed[side] = !before != !b->users[side];
    }
    until = b->order;
    spin_unlock(&b->lock, ipl);
    for (unsigned side = 0; side < SIDES; side++)
        if (changed[side] && comes)
            mailbox_post_all(b, &b->waits[side], until, qio_status(SS$_NORMAL, 0, 0));
        else if (changed[side])
            mailbox_side_ended(b, side);
}

static void deassign(struct qio_channel *q)
{
    struct mailbox_channel *c = mailbox_channel_of(q);
    struct mailbox *b = c->box;
    bool over;

    count(c, false);
    mutex_lock(&directory_lock);
    b->nchannels--;
    over = leave(b);
    mutex_unlock(&directory_lock);
    if (over)
        end(b);
}

static const struct qio_device mailbox_device = {
    .cancel = mailbox_cancel, .deassign = deassign, .free = channel_free};

/* Does the protection grant this kind of access to the caller, as system, owner, group or world? */
static bool grants(const struct mailbox *b, const struct mailbox_who *who, uint32_t deny)
{
    uint32_t mask = __atomic_load_n(&b->protection, __ATOMIC_RELAXED);
    bool group = who->uic_group == b->uic_group;
    bool owner = group && who->uic_member == b->uic_member;

    return who->bypass || (who->system && !(mask & deny)) || (owner && !(mask >> 4 & deny)) ||
           (group && !(mask >> 8 & deny)) || !(mask >> 12 & deny);
}

cond_t mailbox_note(const struct mailbox_who *who, uint32_t unit, struct mailbox_number *n)
{
    struct mailbox *b = mailbox_find(unit);
    bool may = !b || grants(b, who, MAILBOX_DENY_WRITE);

    *n = (struct mailbox_number){0};
    if (b && may)
        *n = (struct mailbox_number){b->unit, b->serial};
    if (b)
        mailbox_unref(b);
    return may ? SS$_NORMAL : SS$_NOPRIV;
}

/* Enter the mailbox that was just made, with its first channel. */
static bool enter_with_channel(struct mailbox *b)
{
    bool entered;

    mutex_lock(&directory_lock);
    entered = enter(b);
    b->nchannels = 1;
    mutex_unlock(&directory_lock);
    return entered;
}

cond_t mailbox_create(const struct mailbox_who *who, const struct mailbox_request *given,
                      bool readable, bool writable, struct qio_channel **out)
{
    struct mailbox_request r = *given;
    struct mailbox_channel *c;
    struct mailbox *b;
    cond_t status;

    r.maxmsg = r.maxmsg ? r.maxmsg : (uint32_t)sysparam(SYSPARAM_DEFMBXMXMSG);
    r.bufquo = r.bufquo ? r.bufquo : (uint32_t)sysparam(SYSPARAM_DEFMBXBUFQUO);
    if (r.maxmsg > MAILBOX_MSG_MAX || r.bufquo > MAILBOX_QUOTA_MAX)
        return SS$_BADPARAM;
    status = make(who, &r, &b);
    if (status != SS$_NORMAL)
        return status;
    c = channel_make(b, readable, writable);
    if (!c) {
        mailbox_unref(b);
        return SS$_INSFMEM;
    }
    if (!enter_with_channel(b)) {
        channel_free(&c->qio);
        mailbox_unref(b);
        return SS$_EXQUOTA;
    }
    count(c, true);
    *out = &c->qio;
    return SS$_NORMAL;
}

cond_t mailbox_assign(const struct mailbox_who *who, uint32_t unit, bool readable, bool writable,
                      struct qio_channel **out)
{
    struct mailbox *b = mailbox_find(unit);
    bool may_read, may_write, there = false;
    struct mailbox_channel *c = NULL;
    cond_t status = SS$_NORMAL;

    if (!b)
        return SS$_NOSUCHDEV;
    may_read = grants(b, who, MAILBOX_DENY_READ);
    may_write = grants(b, who, MAILBOX_DENY_WRITE);
    /* Without a choice of the caller, the channel is for what he may. */
    if (readable && writable ? !may_read && !may_write
                             : (readable && !may_read) || (writable && !may_write))
        status = SS$_NOPRIV;
    else if (!(c = channel_make(b, readable && may_read, writable && may_write)))
        status = SS$_INSFMEM;
    if (status == SS$_NORMAL) {
        mutex_lock(&directory_lock);
        there = units[unit - 1] == b;
        b->nchannels += there;
        mutex_unlock(&directory_lock);
        if (there) {
            count(c, true);
            *out = &c->qio;
        } else {
            channel_free(&c->qio);
            status = SS$_NOSUCHDEV;
        }
    }
    mailbox_unref(b);
    return status;
}

void mailbox_facts(struct mailbox *b, struct mailbox_facts *f)
{
    ipl_t ipl;

    mutex_lock(&directory_lock);
    *f = (struct mailbox_facts){.unit = b->unit,
                                .maxmsg = b->maxmsg,
                                .bufquo = b->bufquo,
                                .channels = b->nchannels,
                                .protection = __atomic_load_n(&b->protection, __ATOMIC_RELAXED),
                                .uic_group = b->uic_group,
                                .uic_member = b->uic_member,
                                .permanent = b->permanent};
    mutex_unlock(&directory_lock);
    ipl = spin_lock(&b->lock);
    f->messages = b->nmessages;
    spin_unlock(&b->lock, ipl);
}

/* ---- the check for leaks ---- */

/* Permanent mailboxes outlive the processes, with the messages in them. A temporary one that is
   still in the directory counts a channel that nobody has, and is a leak. */
static void explain(struct census *c)
{
    const struct mailbox_message *m;

    for (unsigned i = 0; i < MAILBOX_UNITS; i++) {
        if (!units[i] || !units[i]->permanent)
            continue;
        if (units[i]->nchannels)
            census_error(c, "mailbox %u counts %u channels, and there are no processes",
                         units[i]->unit, units[i]->nchannels);
        census_explain(c, CENSUS_NONPAGED, sizeof(struct mailbox), 1);
        list_for_each_entry(m, &units[i]->messages, link)
            census_explain(c, CENSUS_NONPAGED, mailbox_message_size(m), 1);
    }
}

void mailbox_boot(void)
{
    static const struct census_kind kinds[] = {
        {"mailbox", CENSUS_NONPAGED, sizeof(struct mailbox)},
        {"channel to a mailbox", CENSUS_NONPAGED, sizeof(struct mailbox_channel)},
        {"request to a mailbox", CENSUS_NONPAGED, sizeof(struct io_request)},
    };

    census_register(explain, kinds, ARRAY_SIZE(kinds));
}
