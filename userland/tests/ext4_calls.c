/* What can be done with files of ext4 on /dev/vda, before and after a new mount.
 * tests/test_ext4_write.py makes the image, and looks at it afterwards. */
#define _GNU_SOURCE
#include "ext4_files.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/statfs.h>
#include <sys/time.h>
#include <sys/wait.h>

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
    close(fd);
    fd = open(MNT "/a", O_WRONLY | O_APPEND | O_SYNC);
    ok(write(fd, "more", 4) == 4 && fstat(fd, &st) == 0 && st.st_size == 20004, "appended");
    close(fd);
}

/* What is cut off does not come back when the file becomes longer, wherever its end was: in a page,
 * at the end of a block, or in a hole before a block. */
static void test_cut_off(void)
{
    static const unsigned ends[] = {4096, 1000, 4095, 8192, 5000, 12288};
    static const uint8_t none[32768];
    int fd;

    for (unsigned hole = 0; hole < 2; hole++)
        for (size_t k = 0; k < sizeof(ends) / sizeof(*ends); k++) {
            unlink(MNT "/cut");
            fd = open(MNT "/cut", O_CREAT | O_RDWR, 0600);
            fill(buffer, 32768, 6);
            pwrite(fd, buffer, 32768 - hole * 4096, hole * 4096);
            ok(ftruncate(fd, ends[k]) == 0 && ftruncate(fd, 32768) == 0 &&
                   pread(fd, buffer, 32768, 0) == 32768 &&
                   memcmp(buffer + ends[k], none, 32768 - ends[k]) == 0 &&
                   pwrite(fd, "x", 1, 14000) == 1,
               "cut off at %u", ends[k]);
            close(fd);
            again("/dev/vda");
            fd = open(MNT "/cut", O_RDONLY);
            ok(pread(fd, buffer, 32768, 0) == 32768 && buffer[14000] == 'x', "written behind it");
            buffer[14000] = 0;
            ok(memcmp(buffer + ends[k], none, 32768 - ends[k]) == 0, "on the disk too");
            close(fd);
        }
}

/* The pages of a file are on their way while it is cut, and becomes as long as before. */
static void test_cut_while_read(void)
{
    unsigned wrong = 0;

    for (unsigned k = 0; k < 20; k++) {
        int fd = make(MNT "/ahead", LARGE, k);

        close(fd);
        again("/dev/vda");
        fd = open(MNT "/ahead", O_RDWR);
        wrong += pread(fd, buffer, 8192, 0) != 8192; /* others are asked for with these */
        wrong += pread(fd, buffer, 8192, 8192) != 8192;
        wrong += ftruncate(fd, 0) != 0 || ftruncate(fd, LARGE) != 0;
        wrong += pread(fd, buffer, LARGE, 0) != LARGE;
        for (unsigned at = 0; at < LARGE && !wrong; at++)
            wrong += buffer[at] != 0;
        close(fd);
    }
    is(wrong, 0, "what was being read does not come back");
}

/* How many blocks are free, as soon as these are, or after some seconds. */
static long blocks_free(long wanted)
{
    struct statfs now;

    for (int k = 0; k < 300; k++) {
        statfs(MNT, &now);
        if (now.f_bfree == wanted)
            break;
        usleep(10000);
    }
    return now.f_bfree;
}

/* A truncation of many steps is killed in the middle, and the file perhaps removed. */
static void test_killed(void)
{
    long before = blocks_free(0);

    for (unsigned round = 0; round < 4; round++) {
        int fd = open(MNT "/killed", O_CREAT | O_RDWR, 0600);
        pid_t child;

        for (unsigned k = 0; k < 400; k++)
            pwrite(fd, "x", 1, k * 16384);
        child = fork();
        if (child == 0) {
            ftruncate(fd, 0);
            _exit(0);
        }
        usleep(500 + round * 1500);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        if (round % 2)
            unlink(MNT "/killed");
        else if (lseek(fd, 0, SEEK_END) != 0)
            ftruncate(fd, 0);
        close(fd);
        is(blocks_free(before), before, "blocks are freed, round %u", round);
    }
    unlink(MNT "/killed");
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
           fails(truncate(MNT "/e/b", 25), EROFS) && fails(unlink(MNT "/e/b"), EROFS) &&
           fails(chmod(MNT "/e", 0700), EROFS),
       "nothing is changed");
    is(umount(MNT), 0, "unmounted");
}

int main(void)
{
    is(mount_it("/dev/vda"), 0, "mounted");
    test_contents();
    test_cut_off();
    test_cut_while_read();
    test_killed();
    test_reserved();
    test_names();
    test_attributes();
    test_fault();
    test_unlinked();
    test_read_only();
    return tap_done();
}
