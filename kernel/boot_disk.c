/*
 * The configuration blob on the system disk: the first partition of its kind has two copies
 * (sysman/copies.h). The newer one that is whole and that the parser accepts counts.
 *
 * Nothing on the disk is believed, and no error stops the boot: a disk that cannot be read, or that
 * has no good copy, is named, and the defaults are used: no other disk stands in for it.
 */
#include "kernel/boot_disk.h"

#include "kernel/base/errno.h"
#include "kernel/base/printk.h"
#include "kernel/base/string.h"

#define TRIES 3u /* of a read that fails */

struct place {
    const char *name; /* of the disk */
    const struct gpt_disk *disk;
    uint64_t first; /* sector of the partition */
    uint32_t room;  /* bytes of each copy */
};

/* Read the first nbytes of copy n into the buffer. False: it cannot be read, which is printed. */
static bool read_copy(const struct place *p, unsigned n, uint32_t nbytes)
{
    uint32_t size = p->disk->sector_bytes;
    int err = -EIO;

    for (unsigned k = 0; k < TRIES && err == -EIO; k++)
        err = p->disk->read(p->disk->arg, p->first + (uint64_t)n * p->room / size, p->disk->buf,
                            (nbytes + size - 1) / size * size);
    if (err)
        printk("%s: copy %u of the configuration cannot be read\n", p->name, n + 1);
    return !err;
}

/* Read the header of copy n. False: there is none. One that never was has zeroes in its place; if
 * there is something else, it may have been the newer copy. */
static bool take_header(const struct place *p, unsigned n, struct copy *c)
{
    static const unsigned char nothing[COPY_HEADER];

    if (!read_copy(p, n, COPY_HEADER))
        return false;
    if (copy_header(p->disk->buf, p->room, c))
        return true;
    if (memcmp(p->disk->buf, nothing, sizeof(nothing)) != 0)
        printk("%s: copy %u of the configuration has a damaged header\n", p->name, n + 1);
    return false;
}

/* Read copy n, whose header says c, and parse it. False: it is torn, damaged, or not read. */
static bool take_copy(const struct place *p, unsigned n, const struct copy *c, struct config *out)
{
    if (!read_copy(p, n, COPY_HEADER + c->nbytes) || !copy_is_whole(p->disk->buf, c))
        return false;
    return !config_parse((const char *)p->disk->buf + COPY_HEADER, c->nbytes, out).error;
}

static enum boot_disk take_newest(const struct place *p, struct config *out)
{
    struct copy c[COPIES];
    bool there[COPIES];
    unsigned newest;

    for (unsigned n = 0; n < COPIES; n++)
        there[n] = take_header(p, n, &c[n]);
    newest = there[1] && (!there[0] || copy_is_newer(c[1].sequence, c[0].sequence));
    for (unsigned k = 0; k < COPIES; k++) {
        unsigned n = newest ^ k;

        if (!there[n] || !take_copy(p, n, &c[n], out))
            continue;
        if (k > 0)
            printk("%s: the newer copy of the configuration is damaged: the older one is used\n",
                   p->name);
        printk("%s: configuration number %lu\n", p->name, c[n].sequence);
        return BOOT_DISK_CONFIG;
    }
    printk("%s: no copy of the configuration is good: the defaults are used\n", p->name);
    return BOOT_DISK_DAMAGED;
}

enum boot_disk boot_disk_config(const struct gpt_disk *d, const char *name, struct config *out)
{
    struct place p = {.disk = d, .name = name};
    struct gpt g;
    int tables[2], err;

    _Static_assert(GPT_CHUNK <= COPY_BYTES, "the buffer is for both");
    out->nparams = out->registry.count = 0;
    if (d->sectors > INT64_MAX / d->sector_bytes)
        return BOOT_DISK_OTHER;
    err = gpt_read(&g, d, tables);
    if (err && err != -ENOENT)
        printk("%s: %s: no configuration is read from it\n", name,
               err == -ETIMEDOUT ? "the disk does not answer"
               : err == -EINVAL  ? "the partition table is damaged"
                                 : "the disk cannot be read");
    if (err)
        return gpt_is_unread(tables) ? BOOT_DISK_UNREAD : BOOT_DISK_OTHER;
    for (unsigned k = 0; k < GPT_PARTS; k++) {
        if (!g.part[k].sectors || g.part[k].kind != GPT_CONFIG)
            continue;
        p.first = g.part[k].first;
        p.room = copy_room(g.part[k].sectors * d->sector_bytes);
        if (p.room)
            return take_newest(&p, out);
        printk("%s: the configuration partition is too small: the defaults are used\n", name);
        return BOOT_DISK_DAMAGED;
    }
    return BOOT_DISK_OTHER;
}
