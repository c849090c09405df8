/* show device: disks, their partitions, and what went wrong with them. /FULL adds what was done. */
#include "show.h"

#include <filled.h>
#include <stdio.h>
#include <strings.h>

static const char *state(const struct mega_disk *d)
{
    if (d->flags & MEGA_DISK_FAILED)
        return "Failed";
    return d->flags & MEGA_DISK_READ_ONLY ? "Online wrtlck" : "Online";
}

/* What a partition of the system disk is for, as a suffix. */
static const char *use(const struct mega_disk *d)
{
    return d->flags & MEGA_DISK_CONFIG   ? "  system disk: configuration"
           : d->flags & MEGA_DISK_FILES  ? "  system disk: files"
           : d->flags & MEGA_DISK_PAGING ? "  system disk: page file"
                                         : "";
}

static void print_full(const struct mega_disk *d)
{
    static const char *const kinds[MEGA_DISK_KINDS] = {"reads", "writes", "flushes"};

    mega$print_filled(8, "    device %u,%u, sectors of %u bytes, first sector %lu%s",
                      d->device_number >> 8, d->device_number & 0xFF, d->sector_bytes,
                      (unsigned long)d->first,
                      d->flags & MEGA_DISK_CACHE ? ", cache that fsync flushes" : "");
    if (d->flags & MEGA_DISK_PARTITION)
        return;
    for (int k = 0; k < MEGA_DISK_KINDS; k++)
        printf("    %-8s%12lu%18lu bytes%10lu errors\n", kinds[k], (unsigned long)d->requests[k],
               (unsigned long)d->bytes[k], (unsigned long)d->errors[k]);
    printf("    %lu tried again, %lu given up, %u with the device\n", (unsigned long)d->retries,
           (unsigned long)d->late, d->with_device);
}

int show_device(unsigned q, const char *name)
{
    struct mega_disk d;
    bool found = false;

    for (int64_t i = 0; ask(MEGA_INFO_DISK, i, &d, sizeof(d)); i++) {
        uint64_t errors = 0;

        if (name && strcasecmp(name, d.name) != 0)
            continue;
        if (!found)
            printf("Device          Device           Error          Size\n"
                   " Name           Status           Count      (blocks)\n");
        found = true;
        for (int k = 0; k < MEGA_DISK_KINDS; k++)
            errors += d.errors[k];
        printf("%-16s%-14s%8lu%14lu%s\n", d.name, state(&d), (unsigned long)errors,
               (unsigned long)(d.sectors * (d.sector_bytes / 512)), use(&d));
        if (q & Q_FULL)
            print_full(&d);
    }
    if (!found && name)
        fprintf(stderr, "%%SHOW-W-NOSUCHDEV, no such device available: %s\n", name);
    return name && !found;
}
