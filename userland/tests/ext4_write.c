/*
 * Writing ext4 on disks. tests/test_ext4_write.py makes the images, and looks at them afterwards:
 *
 *   ext4_write tree MANY      /dev/vda: files of every kind, MANY in one folder
 *   ext4_write full           /dev/vda, a small disk, gets full, and empty again
 *   ext4_write crash ROUNDS   /dev/vda1: files are changed and synced; after each round its number
 *                             is written to /dev/vda2
 *   ext4_write recover DISK...   each is mounted, read, written and unmounted
 *   ext4_write crowd          /dev/vda: processes make, write and remove files at the same time
 *   ext4_write broken         /dev/vda stops to take writes: errors are told, nothing hangs
 *   ext4_write untold         /dev/vda does not take what is first stored to the file `a`
 */
#define _GNU_SOURCE
#include "ext4_files.h"

#include <dirent.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/statfs.h>
#include <sys/wait.h>

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

static sigjmp_buf stopped;

static void on_bus(int signal)
{
    (void)signal;
    siglongjmp(stopped, 1);
}

/* Stores to a file of holes, until there are no blocks: then, and not later. */
static void full_mapped(void)
{
    size_t n = 64u << 20;
    volatile size_t k = 0;
    int fd = open(MNT "/holes", O_CREAT | O_RDWR, 0600);
    volatile uint8_t *p;

    is(ftruncate(fd, (off_t)n), 0, "a file of holes, longer than the disk");
    p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    signal(SIGBUS, on_bus);
    if (sigsetjmp(stopped, 1) == 0)
        for (; k < n; k += 8192)
            p[k] = (uint8_t)(1 + k / 8192 % 251);
    signal(SIGBUS, SIG_DFL);
    ok(k > 1u << 20 && k < n, "SIGBUS at %zu", k);
    is(fsync(fd), 0, "all before can be written");
    munmap((void *)p, n);
    close(fd);
    again("/dev/vda");
    fd = open(MNT "/holes", O_RDONLY);
    for (size_t at = 0; at < k; at += 8192) {
        uint8_t byte = 0;

        if (pread(fd, &byte, 1, (off_t)at) != 1 || byte != 1 + at / 8192 % 251) {
            ok(false, "what was stored at %zu is there", at);
            break;
        }
    }
    close(fd);
    is(unlink(MNT "/holes"), 0, "removed");
}

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
    full_mapped();
    again("/dev/vda");
    statfs(MNT, &after);
    ok(before.f_bfree - after.f_bfree < 10, "all is free again");
    is(after.f_ffree, before.f_ffree, "inodes too");
    is(umount(MNT), 0, "unmounted");
    return tap_done();
}

/* ---- crashes ---- */

/* Store the buffer through a mapping. Another file is synced before. */
static int store(int fd, size_t n, bool by_mapping)
{
    uint8_t *p;
    int err;

    if (ftruncate(fd, (off_t)n) != 0)
        return 1;
    p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED)
        return 1;
    memcpy(p, buffer, n / 2);
    err = by_mapping ? 0 : fdatasync(fd);
    memcpy(p, buffer, n); /* to pages that are clean again */
    err |= by_mapping ? msync(p, n, MS_SYNC) : fsync(fd);
    munmap(p, n);
    return err;
}

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
    if (round % 4 < 2 ? store(fd, 1 + round * 37 % 20000, round % 4 == 0)
                      : pwrite(fd, buffer, 1 + round * 37 % 20000, 0) < 0 ||
                            ftruncate(fd, 1 + round * 37 % 20000) != 0 ||
                            (round % 2 ? fsync(fd) : fdatasync(fd)) != 0)
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
        if (round_of(k) != 0)
            return 1;
        memset(buffer, 0, 512); /* which the round has used */
        memcpy(buffer, &k, sizeof(k));
        if (pwrite(marks, buffer, 512, 0) != 512)
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

/* Each open file is told of a failed write-back once, and so is msync; memory has the bytes. */
/* Of pages that are written together the disk refuses one block, always: the others are written. */
static void refused(void)
{
    int fd = open(MNT "/a", O_RDWR);
    uint8_t *p = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    unsigned wrong = 0;
    uint8_t before;

    ok(pread(fd, &before, 1, 12 * 4096) == 1, "the file is read");
    for (unsigned k = 0; k < 16; k++)
        p[k * 4096] = (uint8_t)(before + 1 + k);
    ok(fails(fsync(fd), EIO), "one block is refused");
    munmap(p, 65536);
    close(fd);
    again("/dev/vda");
    fd = open(MNT "/a", O_RDONLY);
    ok(pread(fd, buffer, 65536, 0) == 65536 && buffer[12 * 4096] == before, "it is as before");
    for (unsigned k = 0; k < 16; k++)
        wrong += k != 12 && buffer[k * 4096] != (uint8_t)(before + 1 + k);
    is(wrong, 0, "those before and behind it are written");
    close(fd);
}

static int untold(void)
{
    int fd, other, late;
    uint8_t *p;

    is(mount_it("/dev/vda"), 0, "mounted");
    fd = open(MNT "/a", O_RDWR);
    other = open(MNT "/a", O_RDWR);
    p = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    p[8192] = 5;
    ok(fails(fdatasync(fd), EIO), "a write-back fails");
    is(fdatasync(fd), 0, "which is told once");
    ok(fails(fsync(other), EIO), "to another open file, too");
    is(fsync(other), 0, "once");
    ok(fails(msync(p, 65536, MS_SYNC), EIO), "and to msync");
    is(msync(p, 65536, MS_SYNC), 0, "once");
    late = open(MNT "/a", O_RDONLY);
    is(fsync(late), 0, "one that comes later is told nothing");
    p[8192] = 77;
    ok(pread(late, buffer, 1, 8192) == 1 && buffer[0] == 77, "memory has what was stored");
    is(fsync(fd), 0, "it is written");
    munmap(p, 65536);
    is(pwrite(fd, "x", 1, 32768), 1, "a write");
    ok(fails(fsync(other), EIO) && fails(fsync(fd), EIO), "is told in the same way");
    is(fsync(fd) + fsync(other), 0, "once");
    ok(pwrite(fd, "y", 1, 32768) == 1 && fsync(fd) == 0, "the next one is good");
    close(fd);
    close(other);
    close(late);
    again("/dev/vda");
    fd = open(MNT "/a", O_RDONLY);
    ok(pread(fd, buffer, 1, 8192) == 1 && buffer[0] == 77 && pread(fd, buffer, 1, 32768) == 1 &&
           buffer[0] == 'y',
       "and is there");
    close(fd);
    refused();
    is(umount(MNT), 0, "unmounted");
    return tap_done();
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";

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
    if (!strcmp(what, "untold"))
        return untold();
    return 2;
}
