/*
 * The two copies of the configuration in the partition of the system disk (sysman/copies.h).
 *
 * A change never touches the copy that counts: it writes the other one, with the next number, and
 * flushes. A power cut in between leaves a torn copy, which its checksum gives away, beside the old
 * one.
 */
#include "disk.h"

#include "encode.h"
#include "sysman/copies.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <condition.h>
#include <ssdef.h>
#include <starlet.h>

static struct {
    int fd;
    char name[16];
    uint32_t room, sector; /* bytes of each copy, and of a sector */
    unsigned target;       /* the copy that a change writes */
    uint64_t next;         /* its number */
} disk = {.fd = -1};

static unsigned char buf[COPY_BYTES] __attribute__((aligned(8192)));

const char *disk_name(void) { return disk.name; }

static bool find(struct mega_disk *d)
{
    for (int64_t i = 0; mega$info(MEGA_INFO_DISK, i, d, sizeof(*d)) == SS$_NORMAL; i++)
        if (d->flags & MEGA_DISK_CONFIG)
            return true;
    return false;
}

/* Read nbytes of copy n. */
static bool read_copy(unsigned n, uint32_t nbytes)
{
    ssize_t got = pread(disk.fd, buf, nbytes, (off_t)n * disk.room);

    if (got == (ssize_t)nbytes)
        return true;
    (void)fail("READERR", "%s: copy %u of the configuration cannot be read: %s", disk.name, n + 1,
               got < 0 ? strerror(errno) : "it is too short");
    return false;
}

/* Read the copies. A copy counts under the same conditions as at boot (kernel/boot_disk.c). False:
 * none is good, and one of them cannot be read, so nobody knows what a change would replace. */
static bool read_newest(struct config *c)
{
    static struct config other;
    uint64_t sequence[COPIES];
    bool good[COPIES] = {false}, numbered[COPIES] = {false};
    unsigned newest = 0;
    bool readable = true;

    for (unsigned n = 0; n < COPIES; n++) {
        struct config *into = good[0] ? &other : c;
        struct copy h;

        if (!read_copy(n, COPY_HEADER)) {
            readable = false;
            continue;
        }
        if (!copy_header(buf, disk.room, &h))
            continue;
        if (!read_copy(n, COPY_HEADER + h.nbytes)) {
            readable = false;
            continue;
        }
        if (!copy_is_whole(buf, &h))
            continue;
        numbered[n] = true;
        sequence[n] = h.sequence;
        good[n] = !config_parse(buf + COPY_HEADER, h.nbytes, into).error;
        if (good[n] && (!good[0] || n == 0 || copy_is_newer(sequence[n], sequence[0])))
            newest = n;
    }
    if (good[0] && newest == 1)
        *c = other;
    disk.target = good[newest] ? !newest : 0;
    disk.next = 1;
    for (unsigned n = 0; n < COPIES; n++)
        if (numbered[n] && (n == 0 || !numbered[0] || copy_is_newer(sequence[n], sequence[0])))
            disk.next = sequence[n] + 1;
    if (good[newest] || !readable)
        return good[newest];
    c->nparams = c->registry.count = 0;
    fprintf(stderr, "%%SYSMAN-W-DAMAGED, %s: no copy of the configuration is good: it is empty\n",
            disk.name);
    return true;
}

bool disk_open(struct config *c, bool to_write)
{
    struct mega_disk d;
    char path[32];

    if (!find(&d)) {
        (void)fail("NOSYSDISK",
                   "there is no system disk (scripts/run --system-disk): scripts/sysman "
                   "on the host changes the file that scripts/run --config boots with");
        return false;
    }
    snprintf(disk.name, sizeof(disk.name), "%s", d.name);
    snprintf(path, sizeof(path), "/dev/%s", d.name);
    disk.fd = open(path, (to_write ? O_RDWR : O_RDONLY) | O_CLOEXEC);
    if (disk.fd < 0 || flock(disk.fd, to_write ? LOCK_EX : LOCK_SH) < 0) {
        (void)fail("OPENERR", "%s: %s", path, strerror(errno));
        disk_close();
        return false;
    }
    disk.sector = d.sector_bytes;
    disk.room = copy_room(d.sectors * d.sector_bytes);
    if (disk.room == 0) {
        (void)fail("TOOSMALL", "%s has no room for a configuration", path);
        disk_close();
        return false;
    }
    if (!read_newest(c)) {
        disk_close();
        return false;
    }
    return true;
}

void disk_close(void)
{
    if (disk.fd >= 0)
        close(disk.fd);
    disk.fd = -1;
}

static bool write_all(uint32_t nbytes)
{
    off_t begin = (off_t)disk.target * disk.room;

    for (uint32_t at = 0; at < nbytes;) {
        ssize_t n = pwrite(disk.fd, buf + at, nbytes - at, begin + at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0)
            errno = ENOSPC;
        if (n <= 0)
            return false;
        at += (uint32_t)n;
    }
    return fsync(disk.fd) == 0;
}

enum status disk_write(const struct config *c)
{
    struct copy h = {.sequence = disk.next};
    enum status status = DONE;
    enum config_error why;
    uint32_t nbytes;

    memset(buf, 0, sizeof(buf));
    h.nbytes = config_encode(c, buf + COPY_HEADER, &why);
    nbytes = (COPY_HEADER + h.nbytes + disk.sector - 1) / disk.sector * disk.sector;
    if (h.nbytes == 0) {
        status = fail("INVALID", "nothing is written: the configuration %s",
                      config_error_text(why));
    } else if (nbytes > disk.room) {
        status = fail("NOROOM",
                      "nothing is written: the configuration has %u bytes, and there is "
                      "room for %u on %s",
                      h.nbytes, disk.room - COPY_HEADER, disk.name);
    } else {
        copy_seal(buf, &h);
        if (!write_all(nbytes))
            status = fail("WRITEERR",
                          "%s: %s: the next boot may take the old configuration or this one",
                          disk.name, strerror(errno));
    }
    disk_close();
    return status;
}
