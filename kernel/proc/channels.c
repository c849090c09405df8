/*
 * Channels of a process. The table is made by the first service that assigns one, and stays until
 * the process ends; its own threads use it without a lock.
 *
 * The logical name of a mailbox is deleted after the mailbox, by whoever has deassigned the last
 * channel, with the kernel's rights. It is compared with the mailbox's device before: another
 * mailbox may have the name by then, but none has the number, because numbers come back late. A
 * process of another job does not see the name, which then leads to no device; the next mailbox
 * made with the name takes its place.
 */
#include "kernel/proc/channels.h"

#include "kernel/base/abi/psldef.h"
#include "kernel/base/abi/ssdef.h"
#include "kernel/base/format.h"
#include "kernel/base/string.h"
#include "kernel/lnm/lnm.h"
#include "kernel/qio/mailbox.h"
#include "mm/pool/pool_charged.h"

struct qio_channels *process_channels(void)
{
    struct process *p = process_self();
    struct qio_channels *t = __atomic_load_n(&p->channels, __ATOMIC_ACQUIRE);
    struct qio_channels *made;
    ipl_t ipl;

    if (likely(t != NULL))
        return t;
    made = qio_channels_create(pool_account(), &p->kin.limits.io); /* not with the lock held */
    ipl = spin_lock(&process_lock);
    t = p->channels;
    if (!t && made) {
        __atomic_store_n(&p->channels, made, __ATOMIC_RELEASE);
        t = made;
    }
    spin_unlock(&process_lock, ipl);
    if (made && made != t)
        qio_channels_unref(made); /* another thread was faster */
    return t;
}

/* ---- names of mailboxes ---- */

uint32_t mailbox_device(uint32_t unit, char text[MAILBOX_DEVICE_BYTES])
{
    return (uint32_t)format(text, MAILBOX_DEVICE_BYTES, "MBA%u:", unit);
}

/* Does the name still lead to the device? */
static cond_t is_device(const struct lnm_view *v, void *arg)
{
    const struct lnm_string *device = arg;
    struct lnm_string s;
    uint32_t attributes;

    return lnm_translation(v->block, 0, &s, &attributes) && s.length == device->length &&
                   memcmp(s.s, device->s, s.length) == 0
               ? SS$_NORMAL
               : SS$_NOLOGNAM;
}

static void delete_name(const struct mailbox_name *n)
{
    const struct process *p = process_self();
    const struct lnm_who who = {.space = p->names,
                                .uic_group = process_uic_group(p),
                                .uic_member = process_uic_member(p),
                                .system = true,
                                .sysnam = true};
    const char *table = MAILBOX_TABLE(n->system);
    const struct lnm_string in = {table, (uint32_t)strlen(table)}, name = {n->text, n->length};
    char text[MAILBOX_DEVICE_BYTES];
    struct lnm_string device = {text, mailbox_device(n->unit, text)};

    if (lnm_translate(&who, in, name, PSL$C_USER, false, is_device, &device) == SS$_NORMAL)
        (void)lnm_delete(&who, in, name, PSL$C_USER);
}

/* The mailbox b, of which the caller has a reference, has lost a channel. */
static void mailbox_left(struct mailbox *b)
{
    struct mailbox_name name;

    if (mailbox_gone_name(b, &name) && process_self() && process_self()->names)
        delete_name(&name);
    mailbox_unref(b);
}

void process_channel_drop(struct qio_channel *c)
{
    struct mailbox *b = mailbox_of(c);

    if (b)
        mailbox_ref(b);
    qio_channel_drop(c, QIO_CLOSE);
    if (b)
        mailbox_left(b);
}

cond_t process_channel_deassign(struct qio_channels *t, uint32_t number, enum qio_cancel why)
{
    struct qio_channel *c = qio_channel_get(t, number);
    struct mailbox *b = c ? mailbox_of(c) : NULL;
    cond_t status;

    if (!c)
        return qio_no_channel(number);
    if (b)
        mailbox_ref(b);
    qio_channel_unref(c);
    status = qio_channel_deassign(t, number, why);
    if (b)
        mailbox_left(b);
    return status;
}

void process_channels_end(struct process *p)
{
    struct qio_channels *t = p->channels;
    ipl_t ipl;

    if (likely(!t))
        return;
    for (uint32_t n = 1; n <= QIO_CHANNELS; n++)
        (void)process_channel_deassign(t, n * QIO_CHANNEL_STEP, QIO_ABANDON);
    ipl = spin_lock(&process_lock); /* under which others ask about it */
    p->channels = NULL;
    spin_unlock(&process_lock, ipl);
    qio_channels_unref(t);
}
