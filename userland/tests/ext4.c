/*
 * ext4 on disks. tests/test_ext4.py makes the images and attaches them:
 *
 *   ext4 tree DISK...   mount each at /mnt, print a line for each file, and unmount it
 *   ext4 calls          /dev/vda: what can be done with a mount, and what is refused; vdb: no ext4
 *   ext4 refused DISK ERRNO [OPTIONS]   DISK cannot be mounted
 *   ext4 faults ERRNO   /mnt/big of /dev/vda cannot be read at first; the rest can
 *   ext4 crowd          processes look names up and read while others mount and unmount
 *   ext4 hostile DISK...   damaged ones: mounted or not, read as far as possible, unmounted
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <megalith/failure.h>
#include <ssdef.h>
#include <starlet.h>
#include <tap.h>

#define MNT        "/mnt"
#define LONG_FILE  (64u << 20) /* of longer ones, beginning and end are read */
#define PART       (1u << 20)
#define NAMES_MOST 20000u /* of a hostile disk */

static uint8_t buffer[PART] __attribute__((aligned(8192)));
static uint32_t crc_table[256];

/* ---- the tree ---- */

static uint32_t crc(uint32_t c, const uint8_t *p, size_t n)
{
    if (!crc_table[1])
        for (uint32_t b = 0; b < 256; b++) {
            uint32_t v = b;

            for (int k = 0; k < 8; k++)
                v = v >> 1 ^ (v & 1 ? 0xEDB88320u : 0);
            crc_table[b] = v;
        }
    for (c = ~c; n; n--)
        c = c >> 8 ^ crc_table[(c ^ *p++) & 0xFF];
    return ~c;
}

/* Of n bytes at an offset; counts errors. */
static uint32_t crc_of(int fd, uint64_t at, uint64_t n, uint32_t c, unsigned *errors)
{
    while (n) {
        ssize_t got = pread(fd, buffer, n < PART ? n : PART, (off_t)at);

        if (got <= 0) {
            ++*errors;
            return c;
        }
        c = crc(c, buffer, (size_t)got);
        at += (uint64_t)got;
        n -= (uint64_t)got;
    }
    return c;
}

static uint32_t contents(const char *path, const struct stat *st, unsigned *errors)
{
    uint64_t size = (uint64_t)st->st_size;
    char target[4096];
    uint32_t c = 0;
    ssize_t n;
    int fd;

    if (S_ISLNK(st->st_mode)) {
        n = readlink(path, target, sizeof(target));
        *errors += n < 0;
        return n < 0 ? 0 : crc(0, (uint8_t *)target, (size_t)n);
    }
    if (!S_ISREG(st->st_mode))
        return 0;
    fd = open(path, O_RDONLY);
    if (fd < 0) {
        ++*errors;
        return 0;
    }
    if (size <= LONG_FILE) {
        c = crc_of(fd, 0, size, 0, errors);
    } else {
        c = crc_of(fd, 0, PART, 0, errors);
        c = crc_of(fd, size - PART, PART, c, errors);
    }
    close(fd);
    return c;
}

static void print_line(const char *path, const struct stat *st, uint32_t c)
{
    printf("%o %u %u %lu %lu %ld %08x ", st->st_mode, st->st_uid, st->st_gid,
           S_ISDIR(st->st_mode) ? 0 : (unsigned long)st->st_nlink,
           S_ISDIR(st->st_mode) ? 0 : (unsigned long)st->st_size, (long)st->st_mtime, c);
    for (const char *p = path; *p; p++)
        if (*p <= ' ' || *p >= 127 || *p == '\\')
            printf("\\%02x", (uint8_t)*p);
        else
            putchar(*p);
    putchar('\n');
}

static unsigned names_left;

/* All that is below a directory; quiet: nothing is printed. Returns the number of errors. */
static unsigned walk(const char *path, bool quiet)
{
    DIR *d = opendir(path);
    unsigned errors = 0;
    struct dirent *e;

    if (!d)
        return 1;
    while ((errno = 0, e = readdir(d)) != NULL && names_left) {
        size_t n = strlen(path) + strlen(e->d_name) + 2;
        char *child = malloc(n);
        struct stat st;
        uint32_t c;

        names_left--;
        snprintf(child, n, "%s/%s", path, e->d_name);
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")) {
            free(child);
            continue;
        }
        if (lstat(child, &st) != 0) {
            errors++;
            free(child);
            continue;
        }
        errors += e->d_type != DT_UNKNOWN && e->d_type != (st.st_mode & S_IFMT) >> 12;
        c = contents(child, &st, &errors);
        if (!quiet)
            print_line(child + strlen(MNT), &st, c);
        if (S_ISDIR(st.st_mode))
            errors += walk(child, quiet);
        free(child);
    }
    errors += errno != 0;
    closedir(d);
    return errors;
}

static int mount_at(const char *disk, const char *options)
{
    mkdir(MNT, 0755);
    return mount(disk, MNT, "ext4", MS_RDONLY, options);
}

static int tree(int n, char **disks)
{
    for (int k = 0; k < n; k++) {
        unsigned errors;

        if (mount_at(disks[k], "") != 0) {
            printf("%s: %s\n", disks[k], strerror(errno));
            return 1;
        }
        printf("== %s\n", disks[k]);
        names_left = 1u << 20;
        errors = walk(MNT, false);
        printf("errors %u\n", errors);
        if (umount(MNT) != 0) {
            printf("umount: %s\n", strerror(errno));
            return 1;
        }
    }
    return 0;
}

/* ---- calls ---- */

static bool fails(long result, int err) { return result == -1 && errno == err; }

static bool mounts_show(const char *line)
{
    int fd = open("/proc/mounts", O_RDONLY);
    ssize_t n = read(fd, buffer, sizeof(buffer) - 1);

    close(fd);
    buffer[n > 0 ? n : 0] = 0;
    return strstr((char *)buffer, line) != NULL;
}

static void test_mounting(void)
{
    mkdir(MNT, 0755);
    mkdir("/a dir", 0755);
    ok(fails(mount("/dev/vda", MNT, "ext4", MS_RDONLY | MS_BIND, ""), EINVAL), "no bind");
    ok(fails(mount("/dev/vda", MNT, "ext4", MS_RDONLY, "data=none"), EINVAL), "unknown option");
    ok(fails(mount("/dev/vdb", MNT, "ext4", MS_RDONLY, ""), EINVAL), "no file system there");
    ok(fails(mount("/dev/vdz", MNT, "ext4", MS_RDONLY, ""), ENOENT), "no such disk");
    ok(fails(mount("/dev/null", MNT, "ext4", MS_RDONLY, ""), ENOTBLK), "no disk");
    ok(fails(mount("/dev/vda", "/none", "ext4", MS_RDONLY, ""), ENOENT), "no such folder");
    ok(fails(mount("/dev/vda", "/dev/vda", "ext4", MS_RDONLY, ""), ENOTDIR), "no folder");
    ok(fails(mount("/dev/vda", "/proc", "ext4", MS_RDONLY, ""), EBUSY), "covered already");
    ok(fails(mount("/dev/vda", "/", "ext4", MS_RDONLY, ""), EBUSY), "not over the root");
    ok(fails(mount("/dev/vda", "/proc/self", "ext4", MS_RDONLY, ""), EBUSY), "not in /proc");
    ok(fails(umount("/tmp"), EINVAL), "nothing is mounted there");
    ok(fails(umount("/proc"), EBUSY), "/proc stays");
    is(mount("/dev/vda", "/a dir", "ext4", MS_RDONLY | MS_NOATIME, "noload"), 0, "mounted");
    ok(mounts_show("/dev/vda /a\\040dir ext4 ro 0 0\n"), "and shown");
    ok(fails(mount("/dev/vda", MNT, "ext4", MS_RDONLY, ""), EBUSY), "once");
    ok(fails(rmdir("/a dir"), EBUSY), "the folder stays");
    ok(fails(rename("/a dir", "/b"), EBUSY), "where it is");
    is(umount("/a dir"), 0, "unmounted");
    ok(!mounts_show("/dev/vda"), "and not shown any more");
    is(rmdir("/a dir"), 0, "the folder may go");
}

static void test_reading(void)
{
    struct statfs f;
    struct stat st, dev;
    char path[200];
    int fd;

    is(mount_at("/dev/vda", NULL), 0, "mounted again");
    ok(statfs(MNT, &f) == 0 && f.f_type == 0xEF53 && f.f_blocks > 1000 && f.f_bfree < f.f_blocks,
       "statfs");
    ok(f.f_flags & 1, "it is read-only");
    ok(stat(MNT "/big", &st) == 0 && stat("/", &dev) == 0 && st.st_dev != dev.st_dev,
       "it is a device of its own");
    chdir(MNT "/deep/d0/d1");
    ok(getcwd(path, sizeof(path)) && !strcmp(path, MNT "/deep/d0/d1"), "the path is known");
    ok(chdir("../../..") == 0 && getcwd(path, sizeof(path)) && !strcmp(path, MNT), "upward");
    ok(chdir("..") == 0 && getcwd(path, sizeof(path)) && !strcmp(path, "/"), "and out");
    ok(fails(open(MNT "/big", O_RDWR), EROFS), "no file is opened for writing");
    ok(fails(open(MNT "/new", O_CREAT | O_WRONLY, 0644), EROFS), "nor made");
    ok(fails(mkdir(MNT "/new", 0755), EROFS), "nor a folder");
    ok(fails(unlink(MNT "/big"), EROFS), "nor removed");
    ok(fails(rename(MNT "/big", MNT "/new"), EROFS), "nor renamed");
    ok(fails(link(MNT "/big", MNT "/new"), EROFS), "nor linked");
    ok(fails(symlink("x", MNT "/new"), EROFS), "nor a link made");
    ok(fails(chmod(MNT "/big", 0600), EROFS), "no mode is changed");
    ok(fails(chown(MNT "/big", 1, 1), EROFS), "no owner");
    ok(fails(truncate(MNT "/big", 5), EROFS), "no length");
    ok(fails(access(MNT "/big", W_OK), EROFS) && access("/dev/null", W_OK) == 0, "access knows");
    ok(fails(open(MNT "/none", O_RDONLY), ENOENT), "what is not there is not found");
    ok(fails(open(MNT "/null", O_RDONLY), EACCES), "no device is opened");
    ok(stat(MNT "/null", &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3),
       "but seen");
    fd = open(MNT "/huge", O_RDONLY);
    ok(pread(fd, buffer, 100, (off_t)5 << 30) == 9 && !memcmp(buffer, "end of it", 9),
       "behind 4 GiB");
    ok(pread(fd, buffer, 8192, (off_t)4 << 30) == 8192 && buffer[0] == 0 && buffer[8191] == 0,
       "a hole");
    close(fd);
}

static void test_programs(void)
{
    int fd = open(MNT "/big", O_RDONLY), status;
    uint8_t *p = mmap(NULL, PART, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    uint8_t *q = mmap(NULL, PART, PROT_READ, MAP_SHARED, fd, 0);
    pid_t pid;

    ok(pread(fd, buffer, PART, 0) == (ssize_t)PART && memcmp(p, buffer, PART) == 0, "mapped");
    p[5] ^= 1;
    ok(p[5] != q[5] && q[5] == buffer[5], "a private page is copied");
    ok(mmap(NULL, PART, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED && errno == EACCES,
       "no shared mapping is written");
    close(fd);
    ok(fails(umount(MNT), EBUSY), "a mapping keeps the mount");
    munmap(p, PART);
    munmap(q, PART);
    pid = fork();
    if (pid == 0) {
        execl(MNT "/true", "true", NULL);
        _exit(99);
    }
    ok(waitpid(pid, &status, 0) == pid && status == 0, "a program runs from there");
}

static void test_busy(void)
{
    int fd = open(MNT "/many", O_RDONLY), status, ends[2];
    pid_t pid;
    char c;

    ok(fails(umount(MNT), EBUSY), "an open folder keeps the mount");
    close(fd);
    chdir(MNT);
    ok(fails(umount(MNT), EBUSY), "and a working directory");
    chdir("/");
    pipe(ends);
    pid = fork();
    if (pid == 0) {
        if (setuid(1000) || !fails(umount(MNT), EPERM) ||
            !fails(mount("/dev/vda", MNT, "ext4", MS_RDONLY, ""), EPERM))
            _exit(1);
        fd = open(MNT "/many", O_RDONLY);
        if (write(ends[1], "x", 1) != 1)
            _exit(1);
        close(ends[1]);
        _exit(read(ends[0], &c, 1) != 1 || fd < 0 || kill(getpid(), SIGSTOP) != 0);
    }
    waitpid(pid, &status, WUNTRACED);
    ok(WIFSTOPPED(status) && fails(umount(MNT), EBUSY), "and another process");
    kill(pid, SIGCONT);
    close(ends[0]);
    close(ends[1]);
    ok(waitpid(pid, &status, 0) == pid && status == 0, "which may not unmount it");
    is(umount2(MNT, 0), 0, "unmounted");
    ok(fails(umount(MNT), EINVAL), "once");
    ok(fails(open(MNT "/big", O_RDONLY), ENOENT), "and gone");
}

/* Mount, read, and unmount: 0, or what failed. Nothing is left mounted. */
static int use_once(void)
{
    char target[200] = "";
    ssize_t n;
    int err = 0, fd;

    if (mount_at("/dev/vda", "") != 0)
        return errno;
    fd = open(MNT "/deep/d0/d1/../../../big", O_RDONLY);
    n = fd < 0 ? -1 : pread(fd, buffer, 300000, 5);
    if (n != 300000)
        err = n < 0 ? errno : ENOMEM; /* a part is done */
    if (fd >= 0)
        close(fd);
    if (!err && readlink(MNT "/link 100", target, sizeof(target)) != 100)
        err = errno;
    while (umount(MNT) != 0) /* the one that fails may be here */
        if (errno != ENOMEM)
            return errno;
    return err;
}

static void test_failures(void)
{
    struct mega_failure f = {.fired = 1};
    unsigned long n;

    mkdir(MNT, 0755);
    is(use_once(), 0, "mounted, read and unmounted"); /* the program's own pages are there now */
    for (n = 1; f.fired && n < 2000; n++) {
        int err;

        if (mega$control(MEGA_CTL_FAIL_ARM, n, 0, 0, 0, 0) != SS$_NORMAL)
            break;
        err = use_once();
        mega$control(MEGA_CTL_FAIL_REPORT, (uint64_t)&f, 0, 0, 0, 0);
        if (err && ((err != ENOMEM && err != EMFILE) || !f.fired)) { /* EMFILE: the table */
            diag("failure %lu: %s", n, strerror(err));
            break;
        }
    }
    ok(!f.fired && n > 50, "each of %lu allocations fails in turn", n);
}

static int calls(void)
{
    test_failures();
    test_mounting();
    test_reading();
    test_programs();
    test_busy();
    return tap_done();
}

/* ---- errors, many processes, damage ---- */

static int refused(const char *disk, int err, const char *options)
{
    ok(fails(mount_at(disk, options), err), "%s: %s", disk, strerror(errno));
    ok(!mounts_show(disk), "it is not mounted");
    return tap_done();
}

static int faults(int err)
{
    int fd;

    is(mount_at("/dev/vda", ""), 0, "mounted");
    fd = open(MNT "/big", O_RDONLY);
    ok(fails(pread(fd, buffer, 100, 0), err), "a read fails");
    ok(pread(fd, buffer, 100, PART) == 100, "others do not");
    close(fd);
    is(umount(MNT), 0, "unmounted");
    return tap_done();
}

#define LOOKERS 4
#define ROUNDS  20

static void look(unsigned seed)
{
    char path[64];
    struct stat st;
    int fd;

    for (unsigned k = 0;; k++) {
        usleep(1000 + 700 * seed); /* now and then nobody is in it */
        snprintf(path, sizeof(path), MNT "/deep/d0/d%u", (seed + k) % 3 + 1);
        (void)stat(path, &st);
        fd = open(MNT "/big", O_RDONLY);
        if (fd < 0)
            continue;
        if (pread(fd, buffer, 20000, (off_t)(k % 70) * 20000) != 20000)
            _exit(1);
        close(fd);
    }
}

static int crowd(void)
{
    unsigned mounted = 0, busy = 0;
    pid_t pid[LOOKERS];
    int status;

    mkdir(MNT, 0755);
    for (unsigned k = 0; k < LOOKERS; k++)
        if ((pid[k] = fork()) == 0)
            look(k);
    while (mounted < ROUNDS) {
        if (mount_at("/dev/vda", "") == 0)
            mounted++;
        for (;;) {
            if (umount(MNT) == 0)
                break;
            if (errno != EBUSY)
                return 1;
            busy++;
        }
    }
    for (unsigned k = 0; k < LOOKERS; k++) {
        kill(pid[k], SIGKILL);
        ok(waitpid(pid[k], &status, 0) == pid[k] && WIFSIGNALED(status), "all reads were whole");
    }
    diag("%u times busy", busy);
    return tap_done();
}

static int hostile(int n, char **disks)
{
    for (int k = 0; k < n; k++) {
        int err = mount_at(disks[k], "noload") == 0 ? 0 : errno;
        unsigned errors = 0;

        if (!err) {
            names_left = NAMES_MOST;
            errors = walk(MNT, true);
            while (umount(MNT) != 0)
                if (errno != EBUSY)
                    return 1;
        }
        ok(err == 0 || err == EINVAL || err == EUCLEAN || err == EOPNOTSUPP || err == EFBIG ||
               err == EIO || err == ENOMEM,
           "%s: %s, %u errors", disks[k], strerror(err), errors);
    }
    return tap_done();
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";

    if (!strcmp(what, "tree"))
        return tree(argc - 2, argv + 2);
    if (!strcmp(what, "calls"))
        return calls();
    if (!strcmp(what, "refused") && argc > 3)
        return refused(argv[2], atoi(argv[3]), argc > 4 ? argv[4] : "");
    if (!strcmp(what, "faults") && argc > 2)
        return faults(atoi(argv[2]));
    if (!strcmp(what, "crowd"))
        return crowd();
    if (!strcmp(what, "hostile"))
        return hostile(argc - 2, argv + 2);
    return 2;
}
