/* What the tests that write ext4 share: a mount, and files with contents that are known. */
#ifndef USERLAND_TESTS_EXT4_FILES_H
#define USERLAND_TESTS_EXT4_FILES_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tap.h>

#define MNT   "/mnt"
#define LARGE (1u << 20)

static uint8_t buffer[LARGE] __attribute__((aligned(8192)));

static __attribute__((unused)) bool fails(long r, int err) { return r == -1 && errno == err; }

static __attribute__((unused)) int mount_it(const char *disk)
{
    mkdir(MNT, 0755);
    return mount(disk, MNT, "ext4", 0, "");
}

static __attribute__((unused)) void again(const char *disk)
{
    is(umount(MNT), 0, "unmounted");
    is(mount_it(disk), 0, "mounted again");
}

static uint64_t seed = 1;

static __attribute__((unused)) uint32_t draw(uint32_t below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % below;
}

static __attribute__((unused)) void fill(uint8_t *to, size_t n, uint32_t what)
{
    for (size_t k = 0; k < n; k++)
        to[k] = (uint8_t)((what * 2654435761u + k * 40503u) >> 11);
}

static __attribute__((unused)) int make(const char *path, size_t n, uint32_t what)
{
    int fd = open(path, O_CREAT | O_TRUNC | O_RDWR, 0644);

    fill(buffer, n, what);
    for (size_t done = 0; fd >= 0 && done < n;) {
        ssize_t some = write(fd, buffer + done, n - done);
        int err = errno;

        if (some <= 0) {
            close(fd);
            errno = err;
            return -1;
        }
        done += (size_t)some;
    }
    return fd;
}

/* Has the file these bytes? */
static __attribute__((unused)) bool has(const char *path, size_t n, uint32_t what)
{
    static uint8_t want[LARGE];
    int fd = open(path, O_RDONLY);
    ssize_t got = fd < 0 ? -1 : read(fd, buffer, LARGE);

    close(fd);
    fill(want, n, what);
    return got == (ssize_t)n && memcmp(buffer, want, n) == 0;
}

#endif
