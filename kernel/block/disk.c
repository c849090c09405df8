/* The table of disks, their names and partitions, and the thread that serves them all. */
#include "kernel/base/bitops.h"
#include "kernel/base/errno.h"
#include "kernel/base/format.h"
#include "kernel/base/printk.h"
#include "kernel/block/gpt.h"
#include "kernel/block/private.h"
#include "kernel/sched/thread.h"
#include "kernel/sched/timer.h"
#include "mm/check/validate.h"
#include "mm/pool/pool.h"
#include "mm/pool/pool_census.h"

#define NS_PER_S UINT64_C(1000000000)

static struct block_disk *disks[BLOCK_DISKS]; /* constant after boot */
static unsigned ndisks; /* atomic: the thread of the first disk runs while others are added */
static struct wait_queue work = WAIT_QUEUE_INIT("disk work", work);
static bool called; /* atomic: block_wake was called since the thread looked last */

struct block_disk *block_disk(unsigned index)
{
    return index < __atomic_load_n(&ndisks, __ATOMIC_ACQUIRE) ? disks[index] : NULL;
}

struct block_volume *block_volume(unsigned minor)
{
    struct block_disk *d = block_disk(minor / BLOCK_VOLUMES);
    struct block_volume *v = d ? &d->volume[minor % BLOCK_VOLUMES] : NULL;

    return v && v->disk ? v : NULL;
}

void block_flush_all(void)
{
    struct block_disk *d;

    for (unsigned k = 0; (d = block_disk(k)) != NULL; k++)
        if (d->has_cache)
            (void)block_flush(&d->volume[0]);
}

/* ---- the thread ---- */

void block_wake(void)
{
    __atomic_store_n(&called, true, __ATOMIC_RELEASE);
    (void)wake_one(&work);
}

static void serve(void *arg)
{
    (void)arg;
    for (;;) {
        uint64_t now = clock_ns();
        struct block_disk *d;
        struct waiter w;
        bool more;

        wait_enqueue(&work, &w);
        more = __atomic_exchange_n(&called, false, __ATOMIC_ACQUIRE);
        for (unsigned k = 0; (d = block_disk(k)) != NULL; k++)
            more |= block_serve(d, now);
        if (!more)
            (void)wait_block(&w, WAIT_UNINTERRUPTIBLE, now + NS_PER_S);
        wait_finish(&w);
    }
}

/* ---- boot ---- */

static void census(struct census *c)
{
    const struct block_request *r;
    struct block_disk *d;

    for (unsigned k = 0; (d = block_disk(k)) != NULL; k++)
        list_for_each_entry(r, &d->all, all)
            census_explain(c, CENSUS_NONPAGED, sizeof(*r) + d->driver->room, 1);
}

/* The thread and the census, with the first disk: a machine without disks has neither. */
static int first_disk(void)
{
    static const struct census_kind kinds[] = {
        {"request to a disk", CENSUS_NONPAGED, sizeof(struct block_request)},
    };
    struct thread *t = thread_create("disks", serve, NULL, PRIO_NORMAL + 4);

    if (!t)
        return -ENOMEM;
    census_register(census, kinds, ARRAY_SIZE(kinds));
    thread_start(t);
    return 0;
}

int block_register(struct block_disk *d)
{
    uint32_t size = d->sector_bytes;

    if (size < BLOCK_SECTOR || size > PAGE_SIZE || (size & (size - 1)) ||
        d->sectors > INT64_MAX / size)
        return -EINVAL;
    if (ndisks == BLOCK_DISKS)
        return -ENOSPC;
    block_queue_init(d);
    d->number = ndisks;
    d->sector_shift = bit_lowest(size);
    d->volume[0] = (struct block_volume){.disk = d, .sectors = d->sectors};
    format(d->volume[0].name, BLOCK_NAME, "vd%c", 'a' + (int)ndisks);
    disks[ndisks] = d;
    __atomic_store_n(&ndisks, ndisks + 1, __ATOMIC_RELEASE);
    return ndisks == 1 ? first_disk() : 0;
}

static int read_volume(void *v, uint64_t sector, void *buf, uint32_t nbytes)
{
    return block_read(v, sector, buf, nbytes);
}

static void name_partitions(struct block_disk *d, const struct gpt *g)
{
    for (unsigned k = 0; k < GPT_PARTS; k++) {
        struct block_volume *v = &d->volume[k + 1];

        if (!g->part[k].sectors)
            continue;
        *v = (struct block_volume){
            .disk = d, .first = g->part[k].first, .sectors = g->part[k].sectors};
        v->kind = (uint8_t)g->part[k].kind;
        format(v->name, BLOCK_NAME, "%s%u", d->volume[0].name, k + 1);
    }
    if (g->ignored)
        printk("%s: %u partitions beyond number %u have no name\n", d->volume[0].name, g->ignored,
               GPT_PARTS);
}

void block_scan(struct block_disk *d)
{
    struct block_volume *v = &d->volume[0];
    struct gpt_disk disk = {.sectors = v->sectors,
                            .sector_bytes = d->sector_bytes,
                            .read = read_volume,
                            .arg = v,
                            .buf = npp_alloc(GPT_CHUNK)};
    struct gpt *g = npp_alloc(sizeof(*g));
    int err = -ENOMEM, tables[2] = {0};

    _Static_assert(GPT_CHUNK <= PAGE_SIZE, "what block_read() reads at once");
    if (disk.buf && g) {
        err = gpt_read(g, &disk, tables);
        if (tables[0] && tables[1] != -ENOENT)
            printk("%s: the first partition table is damaged%s\n", v->name,
                   err ? ", and so is the second: the disk is used as a whole"
                       : "; the second is used");
        else if (err && err != -ENOENT)
            printk("%s: the partition table is damaged or cannot be read: the disk is used as a "
                   "whole\n",
                   v->name);
    } else {
        printk("%s: no memory to read its partitions\n", v->name);
    }
    d->unscanned = err && (err == -ENOMEM || gpt_is_unread(tables));
    if (!err)
        name_partitions(d, g);
    if (g)
        npp_free(g, sizeof(*g));
    if (disk.buf)
        npp_free(disk.buf, GPT_CHUNK);
}

struct block_volume *block_system(unsigned kind)
{
    struct block_disk *d;

    for (unsigned k = 0; (d = block_disk(k)) != NULL; k++) {
        struct block_volume *wanted = NULL;
        bool is_system = false;

        for (unsigned j = BLOCK_VOLUMES - 1; d->may_be_system && j > 0; j--) {
            is_system |= d->volume[j].disk && d->volume[j].kind == GPT_CONFIG;
            if (d->volume[j].disk && d->volume[j].kind == kind)
                wanted = &d->volume[j];
        }
        if (is_system)
            return wanted;
        if (d->may_be_system && d->unscanned)
            return NULL;
    }
    return NULL;
}

void block_validate(struct validate *v)
{
    const struct block_request *r;
    struct block_disk *d;

    for (unsigned k = 0; (d = block_disk(k)) != NULL; k++)
        list_for_each_entry(r, &d->all, all)
            for (unsigned j = 0; j < r->owned; j++)
                if (r->pinned)
                    validate_pin(v, r->page[j]);
                else
                    validate_page(v, r->page[j], VALIDATE_PIPE);
}
