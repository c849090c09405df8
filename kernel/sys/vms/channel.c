/* Services on channels and mailboxes: $ASSIGN, $DASSGN, $CANCEL, $CREMBX, $DELMBX. */
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/abi/psldef.h"
#include "kernel/base/abi/ssdef.h"
#include "kernel/base/string.h"
#include "kernel/proc/channels.h"
#include "kernel/sys/vms/args.h"
#include "kernel/sys/vms/calls.h"
#include "kernel/sys/vms/device.h"
#include "kernel/sys/vms/disk.h"
#include "kernel/sys/vms/lnm.h"

/* AGN$M_READONLY and CMB$M_READONLY, and so on, have the same values. */
#define FLAG_READONLY  1u
#define FLAG_WRITEONLY 2u

#define NAME_MAX MAILBOX_NAME_MAX

/* Which directions the flags leave. SS$_BADPARAM: an unknown flag, or both. */
static cond_t directions(uint64_t flags, bool *readable, bool *writable)
{
    uint32_t f = (uint32_t)flags;

    *readable = !(f & FLAG_WRITEONLY);
    *writable = !(f & FLAG_READONLY);
    return f > FLAG_WRITEONLY ? SS$_BADPARAM : SS$_NORMAL;
}

/* Enter c for the process and write its number to the word at ua. After an error there is no c. */
static cond_t enter(struct qio_channels *t, struct qio_channel *c, vaddr_t ua)
{
    uint32_t number;
    uint16_t word;
    cond_t status = qio_channel_enter(t, c, &number);

    if (status != SS$_NORMAL) {
        qio_channel_drop(c, QIO_CLOSE);
        return status;
    }
    word = (uint16_t)number;
    if (copyout(ua, &word, sizeof(word)) != 0) {
        (void)process_channel_deassign(t, number, QIO_CLOSE);
        return SS$_ACCVIO;
    }
    return SS$_NORMAL;
}

/*
 * $ASSIGN(devnam, chan, acmode, mbxnam, flags).
 *
 *   SS$_NORMAL
 *   SS$_IVDEVNAM, SS$_IVLOGNAM   the name cannot be that of a device
 *   SS$_NOSUCHDEV                there is no such device
 *   SS$_NOPRIV                   its protection grants no access
 *   SS$_NOIOCHAN                 the process has as many channels as it may have
 *   SS$_IVACMODE
 *   SS$_BADPARAM                 flags; mbxnam is not 0: terminals have no associated mailbox
 *   SS$_TOOMANYLNAM, SS$_INSFMEM, SS$_ACCVIO
 */
cond_t vms_assign(uint64_t devnam, uint64_t chan, uint64_t acmode, uint64_t mbxnam, uint64_t flags)
{
    struct qio_channel *c = NULL;
    struct mailbox_who who;
    struct vms_device d;
    bool readable, writable;
    cond_t status = vms_access_mode(acmode);

    if (status == SS$_NORMAL)
        status = mbxnam ? SS$_BADPARAM : directions(flags, &readable, &writable);
    if (status == SS$_NORMAL && probe_write(chan, sizeof(uint16_t)) != 0)
        status = SS$_ACCVIO;
    if (status == SS$_NORMAL)
        status = vms_device_find(devnam, &d);
    if (status == SS$_NORMAL)
        status = vms_mailbox_who(&who);
    if (status != SS$_NORMAL)
        return status;
    status = d.kind == VMS_DEVICE_MAILBOX ? mailbox_assign(&who, d.unit, readable, writable, &c)
             : d.kind == VMS_DEVICE_DISK  ? vms_disk_assign(&d, readable, writable, &c)
                                          : vms_terminal_assign(&d, &c);
    return status == SS$_NORMAL ? enter(who.channels, c, chan) : status;
}

/* For sys$open of the C library: a channel to the open file, regular or a disk, of a descriptor.
   SS$_NORMAL; SS$_NOTFILEDEV: it is something else; SS$_NOIOCHAN, SS$_INSFMEM, SS$_ACCVIO. */
cond_t mega_sys_file_channel(uint64_t fd, uint64_t chan)
{
    struct qio_channel *c = NULL;
    struct mailbox_who who;
    cond_t status = probe_write(chan, sizeof(uint16_t)) != 0 ? SS$_ACCVIO : vms_mailbox_who(&who);

    if (status == SS$_NORMAL)
        status = vms_file_assign(fd, &c);
    return status == SS$_NORMAL ? enter(who.channels, c, chan) : status;
}

/* $DASSGN(chan): SS$_NORMAL; SS$_IVCHAN, SS$_NOPRIV: there is no such channel. */
cond_t vms_dassgn(uint64_t chan)
{
    struct qio_channels *t = process_self()->channels;

    return t ? process_channel_deassign(t, chan & 0xFFFF, QIO_CLOSE)
             : qio_no_channel(chan & 0xFFFF);
}

/* The channel of that number, with a reference, or NULL. */
static struct qio_channel *channel(uint64_t chan)
{
    struct qio_channels *t = process_self()->channels;

    return t ? qio_channel_get(t, chan & 0xFFFF) : NULL;
}

/* $CANCEL(chan): requests that have not completed do so with SS$_CANCEL, a terminal's read that is
   in progress with SS$_ABORT. SS$_NORMAL; SS$_IVCHAN, SS$_NOPRIV: there is no such channel. */
cond_t vms_cancel(uint64_t chan)
{
    struct qio_channel *c = channel(chan);

    if (!c)
        return qio_no_channel(chan & 0xFFFF);
    c->device->cancel(c, QIO_CANCEL);
    qio_channel_unref(c);
    return SS$_NORMAL;
}

/* ---- mailboxes ---- */

struct creation {
    struct mailbox_who who;
    struct mailbox_request request;
    bool readable, writable;
    char name[NAME_MAX + 1];
    struct lnm_string logical; /* length 0: none */
    struct lnm_string table;
};

static cond_t decode(const uint64_t *a, struct creation *c)
{
    enum { PRMFLG, CHAN, MAXMSG, BUFQUO, PROMSK, ACMODE, LOGNAM, FLAGS };
    uint64_t has = process_privileges(process_self());
    uint32_t n = 0;
    cond_t status = vms_access_mode(a[ACMODE]);

    c->request = (struct mailbox_request){.permanent = a[PRMFLG] & 1,
                                          .maxmsg = (uint32_t)a[MAXMSG],
                                          .bufquo = (uint32_t)a[BUFQUO],
                                          .protection = a[PROMSK] & 0xFFFF};
    c->table.s = MAILBOX_TABLE(c->request.permanent);
    c->table.length = (uint32_t)strlen(c->table.s);
    if (status == SS$_NORMAL)
        status = a[PRMFLG] & 0xFE ? SS$_BADPARAM : directions(a[FLAGS], &c->readable, &c->writable);
    if (status == SS$_NORMAL && probe_write(a[CHAN], sizeof(uint16_t)) != 0)
        status = SS$_ACCVIO;
    if (status == SS$_NORMAL && a[LOGNAM]) {
        status = vms_string(a[LOGNAM], c->name, sizeof(c->name), &n);
        if (status != SS$_ACCVIO)
            status = status == SS$_NORMAL && n && n <= NAME_MAX ? SS$_NORMAL : SS$_IVLOGNAM;
    }
    c->logical = (struct lnm_string){c->name, n};
    if (status == SS$_NORMAL && !(has & (c->request.permanent ? PRV_PRMMBX : PRV_TMPMBX)))
        status = SS$_NOPRIV;
    return status == SS$_NORMAL ? vms_mailbox_who(&c->who) : status;
}

/* The unit of a mailbox that a translation names, 0: none. */
static cond_t take_unit(const struct lnm_view *v, void *arg)
{
    uint32_t *unit = arg, attributes, i = 3;
    struct lnm_string s;

    if (!lnm_translation(v->block, 0, &s, &attributes) || s.length < 5 || s.length > 8 ||
        memcmp(s.s, "MBA", 3) != 0)
        return SS$_NORMAL;
    for (*unit = 0; i < s.length && s.s[i] >= '0' && s.s[i] <= '9'; i++)
        *unit = *unit * 10 + (uint32_t)(s.s[i] - '0');
    return SS$_NORMAL;
}

/* A channel to the mailbox that the logical name leads to. SS$_NOSUCHDEV: it leads to none, and
 * *named tells whether there is such a name. */
static cond_t assign_named(const struct creation *c, bool *named, struct qio_channel **out)
{
    const struct lnm_who who = vms_lnm_who();
    uint32_t unit = 0;

    *named = c->logical.length && lnm_translate(&who, c->table, c->logical, PSL$C_USER, false,
                                                take_unit, &unit) == SS$_NORMAL;
    return unit ? mailbox_assign(&c->who, unit, c->readable, c->writable, out) : SS$_NOSUCHDEV;
}

/* Define the logical name of a mailbox that was just made. *kept: another one has got it first. */
static cond_t define(const struct creation *c, struct mailbox *b, bool replace, bool *kept)
{
    const struct lnm_who who = vms_lnm_who();
    char device[MAILBOX_DEVICE_BYTES];
    uint32_t n = mailbox_device(mailbox_unit(b), device);
    struct lnm_name *block = lnm_name_alloc(c->logical, PSL$C_USER, 0, lnm_translation_bytes(n));
    cond_t status;

    *kept = false;
    if (!block)
        return SS$_INSFMEM;
    memcpy(lnm_name_add(block, 0, LNM$M_TERMINAL, n), device, n);
    mailbox_set_name(b, c->logical.s, c->logical.length);
    status = lnm_define(&who, c->table, block, !replace, NULL, NULL, kept);
    if (!cond_ok(status) || *kept)
        lnm_name_free(block);
    return cond_ok(status) ? SS$_NORMAL : status;
}

/* Make the mailbox with its name, or find it by the name. Who loses a race for the name to another
 * process finds that one's mailbox in the next round. */
static cond_t create(const struct creation *c, struct qio_channel **out)
{
    bool named, kept;
    cond_t status;

    for (;;) {
        status = assign_named(c, &named, out);
        if (status != SS$_NOSUCHDEV)
            return status;
        status = mailbox_create(&c->who, &c->request, c->readable, c->writable, out);
        if (status != SS$_NORMAL || !c->logical.length)
            return status;
        status = define(c, mailbox_of(*out), named, &kept);
        if (status == SS$_NORMAL && !kept)
            return status;
        (void)mailbox_mark(mailbox_of(*out), true);
        qio_channel_drop(*out, QIO_CLOSE);
        if (status != SS$_NORMAL)
            return status;
        if (thread_killed())
            return SS$_ABORT;
    }
}

/*
 * $CREMBX(prmflg, chan, maxmsg, bufquo, promsk, acmode, lognam, flags, nullarg). If the logical
 * name leads to a mailbox, a channel to that one is assigned.
 *
 *   SS$_NORMAL
 *   SS$_NOPRIV     TMPMBX or PRMMBX is missing, or the right to define the name
 *   SS$_BADPARAM   a size is too large; prmflg or flags
 *   SS$_EXBYTLM    the process may not have so many bytes of buffers
 *   SS$_EXQUOTA    the user has as many objects of this kind as it may have
 *   SS$_NOIOCHAN   the process has as many channels as it may have
 *   SS$_IVLOGNAM   0 or more than 255 characters
 *   SS$_IVACMODE, SS$_EXLNMQUOTA, SS$_DUPLNAM, SS$_INSFMEM, SS$_INSFARG, SS$_TOO_MANY_ARGS,
 *   SS$_ACCVIO
 */
cond_t vms_crembx(uint64_t block)
{
    enum { PRMFLG, CHAN, MAXMSG, BUFQUO, PROMSK, ACMODE, LOGNAM, FLAGS, NULLARG, COUNT };
    uint64_t a[VMS_ARGS_MAX];
    struct qio_channel *q = NULL;
    struct creation c;
    cond_t status = vms_args(block, CHAN + 1, COUNT, a);

    if (status == SS$_NORMAL)
        status = decode(a, &c);
    if (status == SS$_NORMAL)
        status = create(&c, &q);
    return status == SS$_NORMAL ? enter(c.who.channels, q, a[CHAN]) : status;
}

/* $DELMBX(chan): SS$_NORMAL; SS$_IVCHAN, SS$_NOPRIV: there is no such channel; SS$_DEVNOTMBX;
   SS$_NOPRIV: PRMMBX is missing for a permanent one. */
cond_t vms_delmbx(uint64_t chan)
{
    struct qio_channel *c = channel(chan);
    bool prmmbx = (process_privileges(process_self()) & PRV_PRMMBX) != 0;
    cond_t status;

    if (!c)
        return qio_no_channel(chan & 0xFFFF);
    status = mailbox_of(c) ? mailbox_mark(mailbox_of(c), prmmbx) : SS$_DEVNOTMBX;
    qio_channel_unref(c);
    return status;
}
