/*
 * $GETDVI: information on a device, which a channel or a name leads to. All facts are noted before
 * the first item is answered. Items that describe volumes are not implemented.
 */
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/abi/megalith/devices.h"
#include "kernel/base/abi/ssdef.h"
#include "kernel/base/format.h"
#include "kernel/base/string.h"
#include "kernel/proc/channels.h"
#include "kernel/proc/process.h"
#include "kernel/sys/vms/args.h"
#include "kernel/sys/vms/calls.h"
#include "kernel/sys/vms/complete.h"
#include "kernel/sys/vms/device.h"
#include "kernel/sys/vms/disk.h"
#include "kernel/sys/vms/items.h"
#include "kernel/sys/vms/terminal.h"

#define TERMINAL_WIDTH 80u /* where the terminal does not tell */

struct facts {
    uint64_t characteristics, class, type, buffer_size, depend, unit, uic, protection, channels;
    uint64_t zero;
    char name[16]; /* _MBA1: */
};

static void mailbox_noted(struct mailbox *b, struct facts *f)
{
    struct mailbox_facts m;

    mailbox_facts(b, &m);
    *f = (struct facts){.characteristics = DEV$M_REC | DEV$M_SHR | DEV$M_AVL | DEV$M_MBX |
                                           DEV$M_IDV | DEV$M_ODV,
                        .class = DC$_MAILBOX,
                        .type = DT$_MBX,
                        .buffer_size = m.maxmsg,
                        .depend = MIN(m.messages, 0xFFFFu),
                        .unit = m.unit,
                        .uic = m.uic_group << 16 | (m.uic_member & 0xFFFF),
                        .protection = m.protection,
                        .channels = m.channels};
    (void)format(f->name, sizeof(f->name), "_MBA%u:", m.unit);
}

static void terminal_noted(const struct file *file, struct facts *f)
{
    struct terminal_facts t;

    vms_terminal_facts(file, &t);
    *f = (struct facts){.characteristics = DEV$M_REC | DEV$M_AVL | DEV$M_IDV | DEV$M_ODV |
                                           (t.terminal ? DEV$M_CCL | DEV$M_TRM : 0) |
                                           (t.null ? DEV$M_SHR : 0),
                        .class = t.terminal ? DC$_TERM
                                 : t.null   ? DC$_MAILBOX
                                            : DC$_MISC,
                        .type = t.null ? DT$_NULL : DT$_TTYUNKN,
                        .buffer_size = TERMINAL_WIDTH,
                        .unit = t.unit,
                        .channels = 1};
    str_copy(f->name, t.name, sizeof(f->name));
}

static void disk_noted(const struct block_volume *v, struct facts *f)
{
    *f = (struct facts){.characteristics = DEV$M_SHR | DEV$M_AVL | DEV$M_IDV | DEV$M_RND |
                                           (v->disk->read_only ? DEV$M_SWL : DEV$M_ODV),
                        .class = DC$_DISK,
                        .buffer_size = BLOCK_SECTOR,
                        .unit = (uint64_t)(v - v->disk->volume)};
    (void)format(f->name, sizeof(f->name), "_%s:", v->name);
    for (char *s = f->name; *s; s++)
        if (*s >= 'a' && *s <= 'z')
            *s = (char)(*s - 'a' + 'A');
}

/* What a channel of sys$open to a file leads to: a device without a name, as the file system may
   have none. */
static void file_noted(struct facts *f)
{
    *f = (struct facts){.characteristics = DEV$M_AVL | DEV$M_IDV | DEV$M_ODV | DEV$M_RND,
                        .class = DC$_DISK,
                        .buffer_size = BLOCK_SECTOR};
    str_copy(f->name, "_FILE:", sizeof(f->name));
}

/* ---- which device ---- */

static cond_t channel_noted(struct qio_channel *c, struct facts *f)
{
    struct mailbox *b = mailbox_of(c);

    if (b)
        mailbox_noted(b, f);
    else if (vms_disk_of(c) && vms_disk_volume(vms_disk_of(c)))
        disk_noted(vms_disk_volume(vms_disk_of(c)), f);
    else if (vms_disk_of(c))
        file_noted(f);
    else
        terminal_noted(container_of(c, struct terminal_channel, qio)->file, f);
    qio_channel_unref(c);
    return SS$_NORMAL;
}

static cond_t find(uint64_t chan, vaddr_t devnam, struct facts *f)
{
    struct qio_channels *t = process_self()->channels;
    struct qio_channel *c;
    struct vms_device d;
    struct mailbox *b;
    cond_t status;

    if (chan & 0xFFFF) {
        c = t ? qio_channel_get(t, chan & 0xFFFF) : NULL;
        return c ? channel_noted(c, f) : qio_no_channel(chan & 0xFFFF);
    }
    if (!devnam)
        return SS$_IVDEVNAM;
    status = vms_device_find(devnam, &d);
    if (status != SS$_NORMAL)
        return status;
    if (d.kind == VMS_DEVICE_DISK) {
        disk_noted(block_volume(d.unit), f);
        return SS$_NORMAL;
    }
    if (d.kind != VMS_DEVICE_MAILBOX) {
        status = vms_terminal_assign(&d, &c); /* a channel that is not entered */
        return status == SS$_NORMAL ? channel_noted(c, f) : status;
    }
    b = mailbox_find(d.unit);
    if (!b)
        return SS$_NOSUCHDEV;
    mailbox_noted(b, f);
    mailbox_unref(b);
    return SS$_NORMAL;
}

/* ---- items ---- */

enum kind { LONG, BIT, NAME };

#define FACT(field) offsetof(struct facts, field)

static const struct item {
    uint16_t code;
    uint8_t kind;
    uint32_t from; /* offset of a field; of a BIT, the characteristic */
} items[] = {
    {DVI$_DEVCHAR, LONG, FACT(characteristics)},
    {DVI$_DEVCLASS, LONG, FACT(class)},
    {DVI$_DEVTYPE, LONG, FACT(type)},
    {DVI$_DEVBUFSIZ, LONG, FACT(buffer_size)},
    {DVI$_DEVDEPEND, LONG, FACT(depend)},
    {DVI$_UNIT, LONG, FACT(unit)},
    {DVI$_PID, LONG, FACT(zero)}, /* no device is owned by one process */
    {DVI$_OWNUIC, LONG, FACT(uic)},
    {DVI$_VPROT, LONG, FACT(protection)},
    {DVI$_ERRCNT, LONG, FACT(zero)},
    {DVI$_REFCNT, LONG, FACT(channels)},
    {DVI$_STS, LONG, FACT(zero)},
    {DVI$_DEVCHAR2, LONG, FACT(zero)},
    {DVI$_DEVNAM, NAME, 0},
    {DVI$_FULLDEVNAM, NAME, 0},
    {DVI$_ALLDEVNAM, NAME, 0},
    {DVI$_TT_PHYDEVNAM, NAME, 0},
    {DVI$_REC, BIT, DEV$M_REC},
    {DVI$_CCL, BIT, DEV$M_CCL},
    {DVI$_TRM, BIT, DEV$M_TRM},
    {DVI$_SHR, BIT, DEV$M_SHR},
    {DVI$_AVL, BIT, DEV$M_AVL},
    {DVI$_MBX, BIT, DEV$M_MBX},
    {DVI$_IDV, BIT, DEV$M_IDV},
    {DVI$_ODV, BIT, DEV$M_ODV},
};

/* One more, DVI$C_SECONDARY, asks for the second device of a spooled one, which none is. */
static const struct item *item_of(uint32_t code)
{
    for (unsigned i = 0; i < ARRAY_SIZE(items); i++)
        if (items[i].code == (code & ~1u))
            return &items[i];
    return NULL;
}

static void answer(const struct item *item, const struct facts *f, struct vms_answer *a)
{
    switch ((enum kind)item->kind) {
    case NAME:
        a->length = (uint32_t)strlen(f->name);
        memcpy(a->bytes, f->name, a->length);
        return;
    case BIT:
        a->l = (f->characteristics & item->from) != 0;
        break;
    case LONG:
        a->l = (uint32_t)*(const uint64_t *)(const void *)((const char *)f + item->from);
        break;
    }
    a->length = sizeof(a->l);
}

static cond_t check_item(const struct vms_item *item, const void *arg)
{
    (void)arg;
    return item_of(item->code) ? vms_item_probe(item) : SS$_BADPARAM;
}

static cond_t write_item(const struct vms_item *item, const void *facts)
{
    struct vms_answer a;

    answer(item_of(item->code), facts, &a);
    return vms_item_answer(item, &a);
}

static cond_t inform(uint64_t chan, vaddr_t devnam, vaddr_t itmlst)
{
    struct vms_item_list list;
    struct facts f;
    cond_t status = find(chan, devnam, &f);

    if (status != SS$_NORMAL)
        return status;
    status = vms_items_check(itmlst, vms_items_next, check_item, &list);
    if (status == SS$_NORMAL)
        status = vms_items_each(&list, write_item, &f);
    vms_items_end(&list);
    return status;
}

/*
 * $GETDVI(efn, chan, devnam, itmlst, iosb, astadr, astprm, nullarg), and $GETDVIW, since it
 * completes at once. The device is that of chan, or if that is 0, of devnam.
 *
 *   SS$_NORMAL
 *   SS$_IVCHAN                                no channel can have that number
 *   SS$_NOSUCHDEV, SS$_IVDEVNAM, SS$_IVLOGNAM no such device, or no name of one; SS$_IVDEVNAM also
 *                                             without channel and name
 *   SS$_NOPRIV                                the channel is not assigned; a terminal that the
 *                                             caller may not open
 *   SS$_BADPARAM                              an item is not implemented; the list is malformed
 *   SS$_BADBUFLEN, SS$_TOOMANYLNAM, SS$_INSFMEM, SS$_ILLEFC, SS$_UNASEFC, SS$_EXASTLM, SS$_INSFARG,
 *   SS$_TOO_MANY_ARGS, SS$_ACCVIO
 */
cond_t vms_getdvi(uint64_t block)
{
    enum { EFN, CHAN, DEVNAM, ITMLST, IOSB_OUT, ASTADR, ASTPRM, NULLARG, COUNT };
    uint64_t a[VMS_ARGS_MAX];
    struct vms_completion c;
    cond_t status = vms_args(block, IOSB_OUT, COUNT, a);

    if (status == SS$_NORMAL)
        status = vms_completion_begin(&c, a[EFN], a[IOSB_OUT], a[ASTADR], a[ASTPRM]);
    if (status != SS$_NORMAL)
        return status;
    status = inform(a[CHAN], a[DEVNAM], a[ITMLST]);
    return vms_completion_end(&c, status, status != SS$_NORMAL);
}
