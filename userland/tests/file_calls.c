// TAP
/* Calls on files beyond open, read and write: what file systems and files tell of themselves,
 * times, places (O_PATH), calls that write back. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <tap.h>
#include <unistd.h>

#define TMPFS 0x01021994
#define PROC  0x9FA0
#define PIPES 0x50495045

/* The call failed with this error. */
static void fails(long r, int err, const char *what)
{
    if (r == -1 && errno != err)
        diag("error %d, not %d", errno, err);
    ok(r == -1 && errno == err, "%s", what);
}

static int new_file(const char *path) { return open(path, O_RDWR | O_CREAT | O_TRUNC, 0644); }

static void test_statfs(void)
{
    struct statfs s;
    int ends[2], fd;

    is(statfs("/tmp", &s), 0, "statfs succeeds");
    is(s.f_type, TMPFS, "/tmp is a tmpfs");
    is(s.f_bsize, getpagesize(), "its blocks are pages");
    is(s.f_namelen, 255, "names have up to 255 bytes");
    ok(s.f_blocks >= s.f_bfree && s.f_bfree >= s.f_bavail && s.f_bavail > 0, "counts of blocks");
    ok(s.f_files >= s.f_ffree && s.f_ffree > 0, "counts of inodes");
    is(statfs("/proc/self", &s), 0, "statfs of a process's directory");
    is(s.f_type, PROC, "is of /proc");
    fails(statfs("/tmp/none", &s), ENOENT, "statfs of a missing file");
    fails(statfs("/dev/null/x", &s), ENOTDIR, "statfs below a file");
    fails(statfs("/tmp", (void *)8), EFAULT, "statfs to an address without memory");
    pipe(ends);
    is(fstatfs(ends[0], &s), 0, "fstatfs of a pipe");
    is(s.f_type, PIPES, "tells that it is one");
    close(ends[0]);
    close(ends[1]);
    fails(fstatfs(ends[0], &s), EBADF, "fstatfs of a closed descriptor");
    fd = open("/proc/self/status", O_RDONLY);
    is(fstatfs(fd, &s), 0, "fstatfs of a file of /proc");
    is(s.f_type, PROC, "is of /proc");
    close(fd);
    fails(syscall(SYS_statfs64, "/tmp", 7, &s), EINVAL, "statfs64 wants the size of its structure");
    fails(syscall(327, 9999, &s), EINVAL, "ustat of a device without file system");
}

static void test_statx(void)
{
    struct stat st, dev;
    struct statx x;
    int fd = new_file("/tmp/x"), ends[2];

    write(fd, "abc", 3);
    fstat(fd, &st);
    is(statx(AT_FDCWD, "/tmp/x", 0, STATX_BASIC_STATS, &x), 0, "statx succeeds");
    is(x.stx_mask & STATX_BASIC_STATS, STATX_BASIC_STATS, "all basic attributes are there");
    ok(x.stx_ino == st.st_ino && x.stx_size == 3 && x.stx_mode == st.st_mode && x.stx_nlink == 1,
       "they are those of stat");
    is(x.stx_mtime.tv_nsec, st.st_mtim.tv_nsec, "with nanoseconds");
    is(x.stx_dev_minor, minor(st.st_dev), "and the device");
    is(statx(fd, "", AT_EMPTY_PATH, STATX_ALL, &x), 0, "statx of a descriptor");
    is(x.stx_ino, st.st_ino, "is that of its file");
    is(statx(AT_FDCWD, "", AT_EMPTY_PATH, STATX_ALL, &x), 0, "AT_FDCWD is the working directory");
    ok(S_ISDIR(x.stx_mode), "a directory");
    pipe(ends);
    is(statx(ends[1], "", AT_EMPTY_PATH, STATX_ALL, &x), 0, "statx of a pipe");
    ok(S_ISFIFO(x.stx_mode), "tells that it is one");
    close(ends[0]);
    close(ends[1]);
    is(statx(AT_FDCWD, "/dev/null", 0, STATX_ALL, &x), 0, "statx of a device");
    ok(x.stx_rdev_major == 1 && x.stx_rdev_minor == 3, "shows its numbers");
    fails(statx(AT_FDCWD, "", 0, STATX_ALL, &x), ENOENT, "an empty path without AT_EMPTY_PATH");
    fails(statx(AT_FDCWD, "/tmp/x", AT_REMOVEDIR, STATX_ALL, &x), EINVAL, "an unknown flag");
    fails(statx(AT_FDCWD, "/tmp/x", 0x6000, STATX_ALL, &x), EINVAL, "contradictory flags");
    fails(statx(AT_FDCWD, "/tmp/x", 0, 0x80000000u, &x), EINVAL, "a reserved bit of the mask");
    fails(statx(99, "x", 0, STATX_ALL, &x), EBADF, "a bad descriptor");
    fails(statx(fd, "x", 0, STATX_ALL, &x), ENOTDIR, "a descriptor of a file, and a path");
    fails(statx(AT_FDCWD, "/tmp/x", 0, STATX_ALL, (void *)8), EFAULT, "no memory at the address");
    is(fstatat(AT_FDCWD, "", &st, AT_EMPTY_PATH), 0, "fstatat of AT_FDCWD");
    stat("/proc/version", &dev);
    ok(dev.st_dev != st.st_dev, "two file systems have two device numbers");
    close(fd);
    unlink("/tmp/x");
}

static void test_times(void)
{
    struct timespec t[2] = {{1000000001, 123456789}, {-5, 999999999}};
    struct timeval v[2] = {{77, 500000}, {88, 600000}};
    struct stat was, st;
    volatile char *map;
    char c;
    int fd = new_file("/tmp/t"), ends[2];

    is(utimensat(AT_FDCWD, "/tmp/t", t, 0), 0, "utimensat sets both times");
    stat("/tmp/t", &st);
    ok(st.st_atim.tv_sec == 1000000001 && st.st_atim.tv_nsec == 123456789, "the time of access");
    ok(st.st_mtim.tv_sec == -5 && st.st_mtim.tv_nsec == 999999999, "of change, before 1970");
    ok(st.st_ctim.tv_sec != -5 && st.st_ctim.tv_sec != 1000000001, "the third is the present");
    t[0].tv_nsec = UTIME_OMIT;
    t[1] = (struct timespec){5, 6};
    is(futimens(fd, t), 0, "futimens with UTIME_OMIT");
    fstat(fd, &st);
    ok(st.st_atim.tv_sec == 1000000001 && st.st_mtim.tv_sec == 5 && st.st_mtim.tv_nsec == 6,
       "changes one of them");
    t[1].tv_nsec = UTIME_NOW;
    is(futimens(fd, t), 0, "futimens with UTIME_NOW");
    fstat(fd, &st);
    ok(st.st_mtim.tv_sec == st.st_ctim.tv_sec, "sets the present");
    t[1].tv_nsec = 1000000000;
    fails(futimens(fd, t), EINVAL, "a second of nanoseconds");
    t[1].tv_nsec = -1;
    fails(futimens(fd, t), EINVAL, "negative nanoseconds");
    t[1].tv_nsec = UTIME_OMIT;
    is(utimensat(AT_FDCWD, "/tmp/none", t, 0), 0, "nothing to set: the file is not looked for");
    t[1].tv_nsec = 0;
    fails(utimensat(AT_FDCWD, "/tmp/none", t, 0), ENOENT, "a missing file");
    fails(utimensat(AT_FDCWD, "/tmp/t", t, 0x10000), EINVAL, "an unknown flag");
    fails(syscall(SYS_utimensat, AT_FDCWD, 0, t, 0), EFAULT, "no path and no descriptor");
    fails(syscall(SYS_utimensat, fd, 0, t, AT_SYMLINK_NOFOLLOW), EINVAL, "a flag without a path");
    fails(syscall(SYS_utimensat, 99, 0, t, 0), EBADF, "a bad descriptor");
    is(syscall(SYS_utimensat, fd, "", t, AT_EMPTY_PATH), 0, "AT_EMPTY_PATH");
    is(utimes("/tmp/t", v), 0, "utimes");
    stat("/tmp/t", &st);
    ok(st.st_atim.tv_sec == 77 && st.st_atim.tv_nsec == 500000000, "in microseconds");
    v[1].tv_usec = 1000000;
    fails(utimes("/tmp/t", v), EINVAL, "a second of microseconds");
    is(futimesat(AT_FDCWD, "/tmp/t", NULL), 0, "futimesat of a path");
    symlink("t", "/tmp/l");
    t[0] = t[1] = (struct timespec){9, 0};
    is(utimensat(AT_FDCWD, "/tmp/l", t, AT_SYMLINK_NOFOLLOW), 0, "the times of a link");
    lstat("/tmp/l", &st);
    is(st.st_mtime, 9, "are its own");
    stat("/tmp/l", &st);
    ok(st.st_mtime != 9, "and not its target's");
    unlink("/tmp/l");

    t[0] = t[1] = (struct timespec){100, 0};
    futimens(fd, t);
    write(fd, "x", 1);
    fstat(fd, &st);
    ok(st.st_atime == 100 && st.st_mtime > 100, "a write changes the time of change only");
    pread(fd, &c, 1, 0);
    fstat(fd, &was);
    ok(was.st_atim.tv_sec > 100, "a read after that changes the time of access");
    ok(was.st_mtim.tv_sec == st.st_mtim.tv_sec && was.st_mtim.tv_nsec == st.st_mtim.tv_nsec,
       "and no other");
    futimens(fd, t);
    chmod("/tmp/t", 0600);
    stat("/tmp/t", &st);
    ok(st.st_mtime == 100 && st.st_ctime > 100, "chmod changes the third time only");
    close(fd);
    fd = open("/tmp/t", O_RDONLY | O_NOATIME);
    futimens(fd, t);
    read(fd, &c, 1);
    fstat(fd, &st);
    is(st.st_atime, 100, "a read with O_NOATIME changes nothing");
    close(fd);
    fd = open("/tmp/t", O_RDWR);
    futimens(fd, t);
    map = mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    fstat(fd, &st);
    ok(st.st_atime > 100 && st.st_mtime == 100, "mmap changes the time of access");
    futimens(fd, t);
    *map = 'y';
    fstat(fd, &st);
    ok(st.st_mtime > 100 && st.st_ctime > 100, "the first store to a mapping the other two");
    munmap((void *)map, 1);
    close(fd);
    link("/tmp/t", "/tmp/t2");
    utimensat(AT_FDCWD, "/tmp/t", t, 0);
    stat("/tmp/t", &was);
    unlink("/tmp/t2");
    stat("/tmp/t", &st);
    ok(st.st_mtime == 100 && memcmp(&st.st_ctim, &was.st_ctim, sizeof(st.st_ctim)) != 0,
       "the removal of a name changes the third time");
    pipe(ends);
    is(futimens(ends[0], NULL), 0, "the times of a pipe are set to no effect");
    close(ends[0]);
    close(ends[1]);
}

/* As another user. */
static void test_times_rights(void)
{
    struct timespec t[2] = {{1, 0}, {1, 0}};
    int status;

    chmod("/tmp/t", 0666);
    new_file("/tmp/mine");
    if (fork() == 0) {
        setgid(50);
        setuid(50);
        if (utimensat(AT_FDCWD, "/tmp/t", t, 0) != -1 || errno != EPERM)
            _exit(1);
        if (utimensat(AT_FDCWD, "/tmp/t", NULL, 0) != 0)
            _exit(2);
        if (utimensat(AT_FDCWD, "/tmp/mine", NULL, 0) != -1 || errno != EACCES)
            _exit(3);
        _exit(0);
    }
    wait(&status);
    is(status, 0, "another user may set the present only, and only with the right to write");
    unlink("/tmp/mine");
    unlink("/tmp/t");
}

static void test_sync(void)
{
    int fd = new_file("/tmp/s"), dir = open("/tmp", O_RDONLY), null = open("/dev/null", O_RDWR);
    int ends[2];

    pipe(ends);
    sync();
    is(fsync(fd), 0, "fsync of a file");
    is(fsync(dir), 0, "of a directory");
    is(fdatasync(fd), 0, "fdatasync of a file");
    fails(fsync(ends[1]), EINVAL, "fsync of a pipe");
    fails(fdatasync(ends[1]), EINVAL, "fdatasync of a pipe");
    fails(fsync(null), EINVAL, "fsync of a device");
    fails(fsync(99), EBADF, "fsync of a bad descriptor");
    is(syncfs(fd), 0, "syncfs");
    fails(syncfs(99), EBADF, "syncfs of a bad descriptor");
    is(sync_file_range(fd, 0, 10, 7), 0, "sync_file_range");
    fails(sync_file_range(fd, 0, 10, 8), EINVAL, "with an unknown flag");
    fails(sync_file_range(fd, -1, 10, 2), EINVAL, "with a negative offset");
    fails(sync_file_range(fd, INT64_MAX, 10, 2), EINVAL, "with an end beyond all files");
    fails(sync_file_range(ends[1], 0, 1, 2), ESPIPE, "of a pipe");
    is(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0, "posix_fadvise");
    is(posix_fadvise(fd, 0, 0, 6), EINVAL, "of an unknown kind");
    is(posix_fadvise(fd, 0, -1, 0), EINVAL, "with a negative length");
    is(posix_fadvise(ends[0], 0, 0, 0), ESPIPE, "of a pipe");
    is(posix_fadvise(99, 0, 0, 0), EBADF, "of a bad descriptor");
    is(readahead(fd, 0, 100), 0, "readahead");
    fails(readahead(ends[0], 0, 100), EINVAL, "of a pipe");
    fails(readahead(ends[1], 0, 100), EBADF, "of a file that cannot be read");
    close(ends[0]);
    close(ends[1]);
    close(null);
    close(dir);
    close(fd);
    unlink("/tmp/s");
}

static void test_path_descriptor(void)
{
    struct pollfd p = {.events = POLLIN};
    struct stat st;
    char text[16];
    int fd, dir, other;

    close(new_file("/tmp/f"));
    chmod("/tmp/f", 0);
    symlink("f", "/tmp/l");
    fd = open("/tmp/f", O_PATH);
    ok(fd >= 0, "O_PATH opens a file");
    is(fcntl(fd, F_GETFL) & ~0400000, O_PATH, "and says so");
    fails(read(fd, text, 1), EBADF, "it cannot be read");
    fails(write(fd, text, 1), EBADF, "nor written");
    fails(lseek(fd, 0, SEEK_SET), EBADF, "nor positioned");
    fails(ftruncate(fd, 0), EBADF, "nor cut");
    fails(fchmod(fd, 0644), EBADF, "nor given another mode");
    fails(fchown(fd, 0, 0), EBADF, "nor another owner");
    fails(ioctl(fd, FIONREAD, text), EBADF, "nor controlled");
    fails(fcntl(fd, F_SETFL, O_APPEND), EBADF, "nor given flags");
    fails(fsync(fd), EBADF, "nor synchronised");
    fails(futimens(fd, NULL), EBADF, "nor given times");
    is(fstat(fd, &st), 0, "its attributes can be read");
    p.fd = fd;
    is(poll(&p, 1, 0), 1, "poll returns");
    is(p.revents, POLLNVAL, "that it is not open");
    other = dup(fd);
    ok(other > fd, "it can be duplicated");
    close(other);
    close(fd);
    fd = open("/tmp/l", O_PATH | O_NOFOLLOW);
    ok(fd >= 0, "O_PATH with O_NOFOLLOW opens a symbolic link");
    fstat(fd, &st);
    ok(S_ISLNK(st.st_mode), "itself");
    is(readlinkat(fd, "", text, sizeof(text)), 1, "its target can be read");
    close(fd);
    fails(open("/tmp/l", O_RDONLY | O_NOFOLLOW), ELOOP, "which without O_PATH is refused");
    dir = open("/tmp", O_PATH | O_DIRECTORY);
    fd = openat(dir, "f", O_RDONLY);
    ok(fd >= 0, "paths start at a directory opened with O_PATH");
    close(fd);
    fails(syscall(SYS_getdents64, dir, text, sizeof(text)), EBADF, "which cannot be listed");
    is(fchdir(dir), 0, "but entered");
    chdir("/");
    close(dir);
    fails(open("/tmp/f", O_PATH | O_DIRECTORY), ENOTDIR, "O_PATH heeds O_DIRECTORY");
    fails(open("/tmp/none", O_PATH | O_CREAT, 0600), ENOENT, "but not O_CREAT");
    unlink("/tmp/l");
    unlink("/tmp/f");
}

int main(void)
{
    test_statfs();
    test_statx();
    test_times();
    test_times_rights();
    test_sync();
    test_path_descriptor();
    return tap_done();
}
