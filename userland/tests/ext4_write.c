/*
 * Writing ext4 on disks. tests/test_ext4_write.py makes the images, and looks at them afterwards:
 *
 *   ext4_write calls          /dev/vda: what can be done with files, before and after a new mount
 *   ext4_write tree MANY      /dev/vda: files of every kind, MANY in one folder
 *   ext4_write full           /dev/vda, a small disk, gets full, and empty again
 *   ext4_write crash ROUNDS   /dev/vda1: files are changed and synced; after each round its number
 *                             is written to /dev/vda2
 *   ext4_write recover DISK...   each is mounted, read, written and unmounted
 *   ext4_write crowd          /dev/vda: processes make, write and remove files at the same time
 *   ext4_write broken         /dev/vda stops to take writes: errors are told, nothing hangs
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tap.h>

#define MNT   "/mnt"
#define LARGE (1u << 20)

static uint8_t buffer[LARGE] __attribute__((aligned(8192)));

static bool fails(long r, int err) { return r == -1 && errno == err; }

static int mount_it(const char *disk)
{
    mkdir(MNT, 0755);
    return mount(disk, MNT, "ext4", 0, "");
}

static void again(const char *disk)
{
    is(umount(MNT), 0, "unmounted");
    is(mount_it(disk), 0, "mounted again");
}

static uint64_t seed = 1;

static uint32_t draw(uint32_t below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % below;
}

static void fill(uint8_t *to, size_t n, uint32_t what)
{
    for (size_t k = 0; k < n; k++)
        to[k] = (uint8_t)((what * 2654435761u + k * 40503u) >> 11);
}

static int make(const char *path, size_t n, uint32_t what)
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
static bool has(const char *path, size_t n, uint32_t what)
{
    static uint8_t want[LARGE];
    int fd = open(path, O_RDONLY);
    ssize_t got = fd < 0 ? -1 : read(fd, buffer, LARGE);

    close(fd);
    fill(want, n, what);
    return got == (ssize_t)n && memcmp(buffer, want, n) == 0;
}

/* ---- calls ---- */

static void test_contents(void)
{
    int fd = make(MNT "/a", 100000, 1);
    struct stat st;

    ok(fd >= 0 && has(MNT "/a", 100000, 1), "a file is written");
    memset(buffer, 'x', 10);
    ok(pwrite(fd, buffer, 10, 5000) == 10 && pread(fd, buffer, 12, 4999) == 12 &&
           memcmp(buffer + 1, "xxxxxxxxxx", 10) == 0 && buffer[11] != 'x',
       "in place");
    ok(pwrite(fd, "end", 3, (off_t)3 << 30) == 3 && fstat(fd, &st) == 0 &&
           st.st_size == ((off_t)3 << 30) + 3,
       "far behind the end");
    ok(pread(fd, buffer, 8192, (off_t)2 << 30) == 8192 && buffer[0] == 0 && buffer[8191] == 0,
       "a hole between");
    is(ftruncate(fd, 5005), 0, "shorter");
    is(ftruncate(fd, 20000), 0, "longer");
    ok(pread(fd, buffer, 100, 5000) == 100 && memcmp(buffer, "xxxxx", 5) == 0 && buffer[5] == 0 &&
           buffer[99] == 0,
       "zeroes follow");
    is(fsync(fd), 0, "fsync");
    is(fdatasync(fd), 0, "fdatasync");
    ok(mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED && errno == ENODEV,
       "not written through mappings");
    close(fd);
    fd = open(MNT "/a", O_WRONLY | O_APPEND | O_SYNC);
    ok(write(fd, "more", 4) == 4 && fstat(fd, &st) == 0 && st.st_size == 20004, "appended");
    close(fd);
}

static void test_reserved(void)
{
    int fd = open(MNT "/reserved", O_CREAT | O_RDWR, 0600);
    struct stat st;

    is(fallocate(fd, 0, 0, 300000), 0, "fallocate");
    ok(fstat(fd, &st) == 0 && st.st_size == 300000 && pread(fd, buffer, 9000, 150000) == 9000 &&
           buffer[0] == 0 && buffer[8999] == 0,
       "zeroes");
    ok(pwrite(fd, "middle", 6, 150001) == 6 && pread(fd, buffer, 8, 150000) == 8 &&
           memcmp(buffer, "\0middle", 8) == 0,
       "written within");
    close(fd);
}

static void test_names(void)
{
    char target[2001], found[2100];
    struct stat st;

    close(make(MNT "/b", 10, 2));
    close(make(MNT "/c", 20, 3));
    is(link(MNT "/b", MNT "/b2"), 0, "linked");
    ok(stat(MNT "/b2", &st) == 0 && st.st_nlink == 2, "two names");
    is(rename(MNT "/c", MNT "/b"), 0, "moved over another");
    ok(has(MNT "/b", 20, 3) && has(MNT "/b2", 10, 2) && fails(access(MNT "/c", F_OK), ENOENT),
       "which keeps its other name");
    is(mkdir(MNT "/d", 0750), 0, "a folder");
    is(mkdir(MNT "/d/e", 0755), 0, "and one in it");
    ok(stat(MNT "/d", &st) == 0 && st.st_nlink == 3, "which counts");
    ok(fails(rmdir(MNT "/d"), ENOTEMPTY), "not removed");
    is(rename(MNT "/b", MNT "/d/e/b"), 0, "moved below");
    is(rename(MNT "/d/e", MNT "/e"), 0, "a folder is moved");
    ok(has(MNT "/e/../e/b", 20, 3) && stat(MNT "/d", &st) == 0 && st.st_nlink == 2,
       "with all in it");
    ok(fails(rename(MNT "/d", MNT "/e"), ENOTEMPTY), "not over one that is not empty");
    is(rmdir(MNT "/d"), 0, "removed");
    memset(target, 't', 2000);
    target[2000] = '\0';
    is(symlink(target, MNT "/long"), 0, "a long link");
    is(symlink("e/b", MNT "/short"), 0, "a short one");
    ok(readlink(MNT "/long", found, sizeof(found)) == 2000 && memcmp(found, target, 2000) == 0 &&
           has(MNT "/short", 20, 3),
       "lead where they should");
    ok(fails(open(MNT "/short", O_CREAT | O_EXCL, 0600), EEXIST), "a name is there once");
    is(mkfifo(MNT "/fifo", 0600), 0, "a FIFO");
}

static void test_attributes(void)
{
    struct timeval times[2] = {{1000000000, 250000}, {1200000000, 500000}};
    struct stat st;

    is(chmod(MNT "/e/b", 0604), 0, "chmod");
    is(chown(MNT "/e/b", 70000, 80000), 0, "chown");
    is(utimes(MNT "/e/b", times), 0, "utimes");
    again("/dev/vda");
    ok(stat(MNT "/e/b", &st) == 0 && (st.st_mode & 07777) == 0604 && st.st_uid == 70000 &&
           st.st_gid == 80000 && st.st_mtime == 1200000000 && st.st_mtim.tv_nsec == 500000000 &&
           st.st_atime == 1000000000,
       "all are kept");
}

/* Pages that are not in memory, and overwritten from a place that ends within. */
static void test_fault(void)
{
    uint8_t *p = mmap(NULL, 16384, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    static uint8_t want[65536];
    int fd = make(MNT "/fault", 65536, 9);

    close(fd);
    again("/dev/vda");
    munmap(p + 8192, 8192);
    fill(want, 65536, 9);
    memset(want + 8192, 0, 8192);
    fd = open(MNT "/fault", O_RDWR);
    is(pwrite(fd, p, 16384, 8192), 8192, "as much as there is");
    ok(fails(pwrite(fd, p + 8192, 8192, 32768), EFAULT), "or nothing");
    ok(pread(fd, buffer, 65536, 0) == 65536 && memcmp(buffer, want, 65536) == 0, "in memory");
    close(fd);
    again("/dev/vda");
    fd = open(MNT "/fault", O_RDONLY);
    ok(pread(fd, buffer, 65536, 0) == 65536 && memcmp(buffer, want, 65536) == 0, "on the disk");
    close(fd);
}

static void test_unlinked(void)
{
    struct statfs before, after;
    struct stat st;
    int fd;

    statfs(MNT, &before);
    fd = make(MNT "/gone", LARGE, 5);
    is(unlink(MNT "/gone"), 0, "removed while it is open");
    ok(fstat(fd, &st) == 0 && st.st_nlink == 0 && pread(fd, buffer, 5, 0) == 5 &&
           pwrite(fd, "still", 5, LARGE) == 5 && ftruncate(fd, 100) == 0 &&
           pwrite(fd, "on", 2, 200) == 2,
       "it can be used");
    ok(fails(umount(MNT), EBUSY), "and keeps the mount");
    close(fd);
    for (int k = 0; k < 100; k++) {
        usleep(10000);
        statfs(MNT, &after);
        if (after.f_bfree == before.f_bfree)
            break;
    }
    is(after.f_bfree, before.f_bfree, "its blocks are free afterwards");
    fd = open(MNT, O_TMPFILE | O_RDWR, 0600);
    ok(fd >= 0 && write(fd, "x", 1) == 1, "a file without a name");
    close(fd);
}

static void test_read_only(void)
{
    is(umount(MNT), 0, "unmounted");
    is(mount("/dev/vda", MNT, "ext4", MS_RDONLY, ""), 0, "mounted to be read");
    ok(fails(open(MNT "/e/b", O_RDWR), EROFS) && fails(mkdir(MNT "/f", 0700), EROFS) &&
           fails(unlink(MNT "/e/b"), EROFS) && fails(chmod(MNT "/e", 0700), EROFS),
       "nothing is changed");
    is(umount(MNT), 0, "unmounted");
}

static int calls(void)
{
    is(mount_it("/dev/vda"), 0, "mounted");
    test_contents();
    test_reserved();
    test_names();
    test_attributes();
    test_fault();
    test_unlinked();
    test_read_only();
    return tap_done();
}

/* ---- trees ---- */

static void name_of(char *to, size_t n, unsigned k)
{
    unsigned len = k % 7 ? draw(10) : draw(200);

    snprintf(
        to, n, MNT "/many/%05u %.*s", k, (int)len,
        "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"
        "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"
        "nnnnnnnnnnnnnnnnnnnnnnnn");
}

static void make_sizes(void)
{
    static const unsigned sizes[] = {0,    1,    59,   60,   61,   1023,  1024,  1025,
                                     4095, 4096, 4097, 8191, 8192, 65536, 131073};
    char path[300];

    for (size_t k = 0; k < sizeof(sizes) / sizeof(*sizes); k++) {
        snprintf(path, sizeof(path), MNT "/size %u", sizes[k]);
        close(make(path, sizes[k], sizes[k]));
    }
    for (unsigned n = 1; n < 1100; n += n < 58 || n > 62 ? 57 : 1) {
        memset(path, 0, sizeof(path));
        memset(buffer, 'l', n);
        buffer[n] = 0;
        snprintf(path, sizeof(path), MNT "/link %u", n);
        symlink((char *)buffer, path);
    }
}

static int tree(unsigned many)
{
    static const char *const names[] = {
        "-", "a b", "\\", "new\nline", "\303\244\342\202\254", "...", ".x", "\177\001", "%s"};
    char path[300];
    int fd;

    is(mount_it("/dev/vda"), 0, "mounted");
    mkdir(MNT "/many", 0755);
    for (unsigned k = 0; k < many; k++) {
        name_of(path, sizeof(path), k);
        fd = make(path, draw(k % 10 ? 30 : 9000), k);
        if (fd < 0)
            break;
        close(fd);
        if (k % 5 == 4 && unlink(path) != 0)
            break;
    }
    mkdir(MNT "/names", 0711);
    for (size_t k = 0; k < sizeof(names) / sizeof(*names); k++) {
        snprintf(path, sizeof(path), MNT "/names/%s", names[k]);
        close(make(path, k * 3, (uint32_t)k));
    }
    make_sizes();
    fd = open(MNT "/holes", O_CREAT | O_RDWR, 0640);
    for (unsigned k = 0; k < 60; k++)
        pwrite(fd, "not a hole", 1 + draw(9), draw(4 << 20));
    pwrite(fd, "end", 3, 5 << 20);
    close(fd);
    strcpy(path, MNT);
    for (unsigned k = 0; k < 20; k++) {
        snprintf(path + strlen(path), 10, "/d%u", k);
        mkdir(path, 0755);
    }
    is(umount(MNT), 0, "unmounted");
    return tap_done();
}

/* ---- a full disk ---- */

static int full(void)
{
    struct statfs before, after;
    char path[100];
    unsigned n = 0;

    is(mount_it("/dev/vda"), 0, "mounted");
    statfs(MNT, &before);
    for (unsigned round = 0; round < 2; round++) {
        int fd = 0, err = 0;

        for (n = 0; n < 10000; n++) {
            snprintf(path, sizeof(path), MNT "/%u", n);
            fd = make(path, n % 3 ? 5000 : 700000, n);
            if (fd < 0) {
                err = errno;
                break;
            }
            close(fd);
        }
        is(err, ENOSPC, "it gets full");
        ok(n > 10, "after %u files", n);
        for (unsigned k = 0; k < n; k += 7) {
            snprintf(path, sizeof(path), MNT "/%u", k);
            if (!has(path, k % 3 ? 5000 : 700000, k))
                ok(false, "file %u", k);
        }
        for (unsigned k = 0; k <= n; k++) {
            snprintf(path, sizeof(path), MNT "/%u", k);
            if (unlink(path) != 0 && k < n)
                ok(false, "%u is removed", k);
        }
        again("/dev/vda");
    }
    statfs(MNT, &after);
    ok(before.f_bfree - after.f_bfree < 10, "all is free again");
    is(after.f_ffree, before.f_ffree, "inodes too");
    is(umount(MNT), 0, "unmounted");
    return tap_done();
}

/* ---- crashes ---- */

/* What file k of a round has: tests/test_ext4_write.py knows it, too. */
static int round_of(unsigned round)
{
    char path[100], old[100];
    int fd;

    snprintf(path, sizeof(path), MNT "/f%u", round % 25);
    if (round % 3 == 0)
        unlink(path);
    fd = open(path, O_CREAT | O_RDWR, 0644);
    if (fd < 0)
        return 1;
    fill(buffer, 20000, round);
    if (round % 5 == 0 && ftruncate(fd, 0) != 0)
        return 1;
    if (pwrite(fd, buffer, 1 + round * 37 % 20000, 0) < 0 ||
        ftruncate(fd, 1 + round * 37 % 20000) != 0 || (round % 2 ? fsync(fd) : fdatasync(fd)) != 0)
        return 1;
    close(fd);
    snprintf(path, sizeof(path), MNT "/d%u", round);
    snprintf(old, sizeof(old), MNT "/d%u", round - 3);
    mkdir(path, 0755);
    snprintf(path, sizeof(path), MNT "/d%u/x", round);
    close(make(path, 3000, round));
    if (round >= 3)
        rename(old, path);
    if (round % 4 == 0)
        rmdir(old);
    return 0;
}

static int crash(unsigned rounds)
{
    int marks = open("/dev/vda2", O_RDWR);

    if (mount_it("/dev/vda1") != 0 || marks < 0)
        return 1;
    for (unsigned k = 1; k <= rounds; k++) {
        memset(buffer, 0, 512);
        memcpy(buffer, &k, sizeof(k));
        if (round_of(k) != 0 || pwrite(marks, buffer, 512, 0) != 512)
            return 1;
    }
    close(marks);
    return umount(MNT) != 0;
}

static unsigned read_all(const char *path)
{
    DIR *d = opendir(path);
    unsigned errors = d == NULL;
    struct dirent *e;

    while (d && (e = readdir(d)) != NULL) {
        char child[4096];
        struct stat st;
        int fd;

        snprintf(child, sizeof(child), "%s/%s", path, e->d_name);
        if (e->d_name[0] == '.')
            continue;
        errors += lstat(child, &st) != 0;
        if (S_ISDIR(st.st_mode))
            errors += read_all(child);
        if (!S_ISREG(st.st_mode))
            continue;
        fd = open(child, O_RDONLY);
        errors += read(fd, buffer, LARGE) != st.st_size;
        close(fd);
    }
    if (d)
        closedir(d);
    return errors;
}

static int recover(int n, char **disk)
{
    for (int k = 0; k < n; k++) {
        is(mount_it(disk[k]), 0, disk[k]);
        is(read_all(MNT), 0, "all can be read");
        close(make(MNT "/new", 5000, 1));
        is(umount(MNT), 0, "unmounted");
    }
    return tap_done();
}

/* ---- many at once ---- */

static int worker(unsigned number)
{
    char path[100], other[100];

    seed = number;
    for (unsigned k = 0; k < 60; k++) {
        size_t n = 1 + draw(30000);
        int fd;

        snprintf(path, sizeof(path), MNT "/w%u-%u", number, draw(10));
        snprintf(other, sizeof(other), MNT "/w%u-%u", number, draw(10));
        fd = make(path, n, k);
        if (fd < 0 || (draw(10) == 0 && fsync(fd) != 0))
            return 1;
        close(fd);
        if (!has(path, n, k))
            return 2;
        if (draw(3) == 0)
            rename(path, other);
        if (draw(4) == 0)
            unlink(other);
        snprintf(path, sizeof(path), MNT "/shared%u", draw(5));
        if (draw(2))
            mkdir(path, 0755);
        else
            rmdir(path);
    }
    return 0;
}

static int crowd(void)
{
    int status, failed = 0;

    is(mount_it("/dev/vda"), 0, "mounted");
    for (unsigned k = 0; k < 6; k++)
        if (fork() == 0)
            _exit(worker(k + 1));
    while (wait(&status) > 0)
        failed += status != 0;
    is(failed, 0, "all are well");
    is(umount(MNT), 0, "unmounted");
    return tap_done();
}

/* ---- a disk that takes no writes any more ---- */

static int broken(void)
{
    int fd, err = 0;

    is(mount_it("/dev/vda"), 0, "mounted");
    fd = open(MNT "/a", O_CREAT | O_RDWR, 0600);
    ok(fd >= 0, "a file is made");
    for (unsigned k = 0; k < 200 && !err; k++) {
        fill(buffer, 10000, k);
        err = pwrite(fd, buffer, 10000, k * 10000) != 10000 || fsync(fd) != 0 ? errno : 0;
    }
    is(err, EIO, "then it fails");
    ok(fsync(fd) == -1, "fsync still does");
    close(fd);
    ok(fails(mkdir(MNT "/d", 0700), EROFS) || errno == EIO, "nothing is changed any more");
    ok(access(MNT "/lost+found", F_OK) == 0, "what is there can be seen");
    is(umount(MNT), 0, "and it can be unmounted");
    return tap_done();
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";

    if (!strcmp(what, "calls"))
        return calls();
    if (!strcmp(what, "tree") && argc > 2)
        return tree((unsigned)atoi(argv[2]));
    if (!strcmp(what, "full"))
        return full();
    if (!strcmp(what, "crash") && argc > 2)
        return crash((unsigned)atoi(argv[2]));
    if (!strcmp(what, "recover"))
        return recover(argc - 2, argv + 2);
    if (!strcmp(what, "crowd"))
        return crowd();
    if (!strcmp(what, "broken"))
        return broken();
    return 2;
}
