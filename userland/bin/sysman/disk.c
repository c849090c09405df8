/*
 * The two copies of the configuration in the partition of the system disk (sysman/copies.h).
 *
 * A change writes the copy that does not count, with the next number, and flushes. A power cut in
 * between leaves a torn copy, which its checksum gives away, beside the old one.
 *
 * The copy that counts may be in the cache of the disk only: the sysman that wrote it was killed
 * before its flush, or the flush failed, after which the next one may succeed without having
 * written anything. So before the other copy is touched, this one is written again as it is, and
 * flushed.
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
    bool counts;           /* one of the copies does: */
    uint64_t number;       /* its number; 0: none does */
    struct copy kept;      /* what its header says */
    unsigned at;           /* which one it is */
} disk = {.fd = -1};

/* What is known of a copy. */
enum state {
    NOTHING,     /* it is none, or torn: a change may write it */
    UNREADABLE,  /* nobody knows what it is */
    UNREAD_BLOB, /* its header was read, but nothing behind it */
    STRANGE,     /* it is whole, but the parser refuses it: another version may have written it */
    GOOD,
};

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

static enum state look_at(unsigned n, struct copy *h, struct config *into)
{
    if (!read_copy(n, COPY_HEADER))
        return UNREADABLE;
    if (!copy_header(buf, disk.room, h))
        return NOTHING;
    if (!read_copy(n, COPY_HEADER + h->nbytes))
        return UNREAD_BLOB;
    if (!copy_is_whole(buf, h))
        return NOTHING;
    return config_parse(buf + COPY_HEADER, h->nbytes, into).error ? STRANGE : GOOD;
}

/* Could copy n, which is not the one that counts, be what somebody was told is written? Returns
 * false after saying so. */
static bool can_go(unsigned n, enum state state, const struct copy *h, bool to_write)
{
    const char *then = to_write      ? "nothing is written"
                       : disk.counts ? "the other one is shown"
                                     : "nothing is shown";
    bool older = disk.counts && copy_is_newer(disk.kept.sequence, h->sequence);

    if (state == UNREADABLE || (state == UNREAD_BLOB && !older))
        return fail("UNREAD", "%s: copy %u may be the newer configuration: %s", disk.name, n + 1,
                    then),
               false;
    if (state == STRANGE && !older)
        return fail("STRANGE",
                    "%s: copy %u is newer and whole, but not understood; another version may have "
                    "written it: %s",
                    disk.name, n + 1, then),
               false;
    return true;
}

/* Read the copies. A copy counts under the same conditions as at boot (kernel/boot_disk.c). False,
 * after an error message: none is good, and one of them cannot be read or understood; or nobody
 * knows what a change would replace. */
static bool read_newest(struct config *c, bool to_write)
{
    static struct config parsed[COPIES];
    struct copy h[COPIES] = {0};
    enum state state[COPIES];
    bool safe = true;

    for (unsigned n = 0; n < COPIES; n++)
        state[n] = look_at(n, &h[n], &parsed[n]);
    disk.counts = state[0] == GOOD || state[1] == GOOD;
    disk.at = state[1] == GOOD && (state[0] != GOOD || copy_is_newer(h[1].sequence, h[0].sequence));
    disk.target = disk.counts ? !disk.at : 0;
    disk.number = 0;
    disk.next = 1;
    if (disk.counts) {
        disk.kept = h[disk.at];
        disk.number = disk.kept.sequence;
        disk.next = disk.number + 1;
        *c = parsed[disk.at];
    } else {
        c->nparams = c->registry.count = 0;
    }
    for (unsigned n = 0; n < COPIES; n++)
        if (state[n] != GOOD)
            safe &= can_go(n, state[n], &h[n], to_write);
    if (!safe && (to_write || !disk.counts))
        return false;
    if (!disk.counts)
        fprintf(stderr,
                "%%SYSMAN-W-DAMAGED, %s: no copy of the configuration is good: it is empty\n",
                disk.name);
    return true;
}

/* What was written by others is on its way no more, so what is read from now on stays. */
static bool settle(void)
{
    if (fsync(disk.fd) == 0)
        return true;
    (void)fail("FLUSHERR", "%s: what is written cannot be made safe: %s: nothing is written",
               disk.name, strerror(errno));
    return false;
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
    if ((to_write && !settle()) || !read_newest(c, to_write)) {
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

/* Write the first nbytes of the buffer, whole sectors, to copy n, and wait until they are safe. */
static bool write_copy(unsigned n, uint32_t nbytes)
{
    off_t begin = (off_t)n * disk.room;

    for (uint32_t at = 0; at < nbytes;) {
        ssize_t done = pwrite(disk.fd, buf + at, nbytes - at, begin + at);

        if (done < 0 && errno == EINTR)
            continue;
        if (done == 0)
            errno = ENOSPC;
        if (done <= 0)
            return false;
        at += (uint32_t)done;
    }
    return fsync(disk.fd) == 0;
}

/* Bytes of the sectors that a copy takes. */
static uint32_t sectors_of(const struct copy *h)
{
    return (COPY_HEADER + h->nbytes + disk.sector - 1) / disk.sector * disk.sector;
}

/* Write the copy that counts again, as it is: see above. */
static bool write_again(void)
{
    uint32_t nbytes = sectors_of(&disk.kept);
    struct copy h;

    if (!disk.counts)
        return true;
    if (!read_copy(disk.at, nbytes))
        return false;
    if (!copy_header(buf, disk.room, &h) || h.nbytes != disk.kept.nbytes ||
        h.sequence != disk.kept.sequence || !copy_is_whole(buf, &h))
        return fail("CHANGED", "%s: somebody else writes to it: nothing is written", disk.name),
               false;
    if (write_copy(disk.at, nbytes))
        return true;
    (void)fail("WRITEERR", "%s: %s: the configuration stays as it is", disk.name, strerror(errno));
    return false;
}

/* Encode *c into the buffer, with its header. Returns bytes, or 0 after an error message. */
static uint32_t make_copy(const struct config *c, struct copy *h)
{
    enum config_error why;
    uint32_t nbytes;

    memset(buf, 0, sizeof(buf));
    h->nbytes = config_encode(c, buf + COPY_HEADER, &why);
    nbytes = sectors_of(h);
    if (h->nbytes == 0) {
        (void)fail("INVALID", "nothing is written: the configuration %s", config_error_text(why));
        return 0;
    }
    if (nbytes > disk.room) {
        (void)fail("NOROOM",
                   "nothing is written: the configuration has %u bytes, and there is "
                   "room for %u on %s",
                   h->nbytes, disk.room - COPY_HEADER, disk.name);
        return 0;
    }
    copy_seal(buf, h);
    return nbytes;
}

enum status disk_write(const struct config *c)
{
    struct copy h = {.sequence = disk.next};
    enum status status = FAILED;
    uint32_t nbytes;

    /* Made twice, as there is one buffer: nothing is written for a configuration that is refused.
     */
    if (make_copy(c, &h) && write_again() && (nbytes = make_copy(c, &h)) != 0) {
        status = DONE;
        if (!write_copy(disk.target, nbytes))
            status = fail("WRITEERR",
                          "%s: %s: the next boot may take the old configuration or this one",
                          disk.name, strerror(errno));
        else
            disk.number = h.sequence;
    }
    disk_close();
    return status;
}

uint64_t disk_number(void) { return disk.number; }
