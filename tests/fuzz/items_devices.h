/* For fuzz_items.c: the system and the devices that $GETSYI and $GETDVI ask. There is one mailbox,
 * of which channel 16 leads to it, and one terminal, by any other name that can be read. */
#ifndef TESTS_FUZZ_ITEMS_DEVICES_H
#define TESTS_FUZZ_ITEMS_DEVICES_H

#include "arch/alpha/hw/hwrpb.h"
#include "kernel/sys/vms/args.h"
#include "kernel/sys/vms/device.h"
#include "kernel/sys/vms/disk.h"
#include "kernel/sys/vms/terminal.h"
#include "mm/pagefile/pagefile.h"
#include "mm/phys/page.h"
#include "mm/section/section.h"

uint32_t process_limit = 100;
uint64_t hwrpb_cpus_present(void) { return 3; }
unsigned hwrpb_primary(void) { return 0; }
void page_stats(struct page_stats *s) { *s = (struct page_stats){0}; }
void page_rad_stats(unsigned rad, struct page_stats *s, uint64_t *first, uint64_t *end)
{
    *s = (struct page_stats){0};
    *first = rad;
    *end = rad + 1;
}
void pagefile_totals(uint64_t *slots, uint64_t *free) { *slots = *free = 1ul << 40; }
void section_uses(struct section_use *sections, struct section_use *gptes,
                  struct section_use *pagfil)
{
    *sections = *gptes = *pagfil = (struct section_use){.use = 2, .peak = 3, .limit = 1};
}

struct block_volume *block_volume(unsigned minor)
{
    (void)minor;
    return NULL;
}
struct disk_channel *vms_disk_of(struct qio_channel *c)
{
    (void)c;
    return NULL;
}
const struct block_volume *vms_disk_volume(const struct disk_channel *c)
{
    (void)c;
    return NULL;
}

static struct qio_channel to_mailbox;
static struct terminal_channel to_terminal;
static long channels_held; /* references that $GETDVI has and is to give back */

static struct mailbox *the_mailbox(void) { return (struct mailbox *)&to_mailbox; }

struct mailbox *mailbox_of(const struct qio_channel *c)
{
    return c == &to_mailbox ? the_mailbox() : NULL;
}
struct mailbox *mailbox_find(uint32_t unit)
{
    channels_held += unit == 1;
    return unit == 1 ? the_mailbox() : NULL;
}
void mailbox_unref(struct mailbox *b)
{
    (void)b;
    channels_held--;
}
void mailbox_facts(struct mailbox *b, struct mailbox_facts *f)
{
    (void)b;
    *f = (struct mailbox_facts){.unit = 1, .maxmsg = 64, .messages = 1u << 20, .uic_group = 0200};
}

struct qio_channel *qio_channel_get(struct qio_channels *t, uint32_t number)
{
    (void)t;
    channels_held += number == QIO_CHANNEL_STEP;
    return number == QIO_CHANNEL_STEP ? &to_mailbox : NULL;
}
void qio_channel_unref(struct qio_channel *c)
{
    (void)c;
    channels_held--;
}
cond_t qio_no_channel(uint32_t number) { return number % 16 ? SS$_IVCHAN : SS$_NOPRIV; }

cond_t vms_device_find(vaddr_t devnam, struct vms_device *d)
{
    char name[8];
    uint32_t n;
    cond_t status = vms_string(devnam, name, sizeof(name), &n);

    *d = (struct vms_device){.kind = n & 1 ? VMS_DEVICE_MAILBOX : VMS_DEVICE_PATH, .unit = n};
    return status == SS$_NORMAL && n > 4 ? SS$_NOSUCHDEV : status;
}
cond_t vms_terminal_assign(const struct vms_device *d, struct qio_channel **out)
{
    (void)d;
    channels_held++;
    *out = &to_terminal.qio;
    return SS$_NORMAL;
}
void vms_terminal_facts(const struct file *f, struct terminal_facts *t)
{
    (void)f;
    *t = (struct terminal_facts){.terminal = true, .unit = 7, .name = "_FTA7:"};
}

#endif
