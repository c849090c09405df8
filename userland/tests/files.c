// TAP
/* Files, directories, descriptors, pipes and polling. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <tap.h>

static void test_file(void)
{
    char buf[64] = "";
    struct stat st;
    int fd = open("/tmp/f", O_RDWR | O_CREAT | O_EXCL, 0640), other;

    ok(fd >= 0, "open creates a new file");
    is(open("/tmp/f", O_RDWR | O_CREAT | O_EXCL, 0640), -1, "O_EXCL fails if the file exists");
    is(errno, EEXIST, "the error is EEXIST");
    is(write(fd, "hello world", 11), 11, "write writes all bytes");
    is(lseek(fd, 6, SEEK_SET), 6, "lseek goes to byte 6");
    is(read(fd, buf, sizeof(buf)), 5, "read returns the bytes up to the end");
    is_str(buf, "world", "read returns what was written");
    is(read(fd, buf, sizeof(buf)), 0, "read returns 0 at the end of the file");
    is(lseek(fd, -1, SEEK_SET), -1, "lseek refuses a negative position");
    is(lseek(fd, 100000, SEEK_SET), 100000, "lseek goes far beyond the end");
    is(write(fd, "!", 1), 1, "one byte is written there");
    is(fstat(fd, &st), 0, "fstat succeeds");
    is(st.st_size, 100001, "the size includes the hole");
    is(st.st_mode, S_IFREG | 0640, "the mode is that given to open");
    is(pread(fd, buf, 4, 50000), 4, "a part of the hole is read");
    ok(!buf[0] && !buf[3], "the hole is zero");
    is(ftruncate(fd, 5), 0, "ftruncate cuts the file");
    is(ftruncate(fd, 20000), 0, "ftruncate extends the file");
    is(pread(fd, buf, 11, 0), 11, "the start is read");
    ok(!memcmp(buf, "hello\0\0\0\0\0\0", 11), "what had been cut off is zero");
    other = open("/tmp/f", O_WRONLY | O_APPEND);
    is(write(other, "end", 3), 3, "a write with O_APPEND succeeds");
    is(lseek(fd, 0, SEEK_END), 20003, "O_APPEND writes at the end");
    is(read(other, buf, 1), -1, "a file open for writing only cannot be read");
    is(errno, EBADF, "the error is EBADF");
    close(other);
    close(fd);
    is(read(fd, buf, 1), -1, "a closed descriptor cannot be read");
    is(unlink("/tmp/f"), 0, "unlink removes the file");
    is(stat("/tmp/f", &st), -1, "the file is gone");
    is(errno, ENOENT, "the error is ENOENT");
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st, (void)type, (void)at;
    return remove(path);
}

static void test_names(void)
{
    char buf[256];
    struct stat st;
    int fd, n = 0, dots = 0;
    struct dirent *d;
    DIR *dir;

    is(mkdir("/tmp/d", 0755), 0, "mkdir creates a directory");
    is(mkdir("/tmp/d", 0755), -1, "mkdir of an existing directory fails");
    is(chdir("/tmp/d"), 0, "chdir to the directory works");
    is_str(getcwd(buf, sizeof(buf)), "/tmp/d", "getcwd returns its path");
    for (int k = 0; k < 40; k++) {
        snprintf(buf, sizeof(buf), "file%d", k);
        fd = open(buf, O_CREAT | O_WRONLY, 0600);
        close(fd);
    }
    dir = opendir(".");
    while ((d = readdir(dir))) {
        dots += d->d_name[0] == '.';
        n += d->d_type == DT_REG;
    }
    closedir(dir);
    is(n, 40, "readdir returns every file");
    is(dots, 2, "readdir returns . and ..");
    is(rename("file1", "renamed"), 0, "rename works");
    is(access("file1", F_OK), -1, "the old name is gone after rename");
    is(rename("file2", "renamed"), 0, "rename replaces another file");
    is(link("renamed", "linked"), 0, "link creates another name");
    is(stat("linked", &st), 0, "stat");
    is(st.st_nlink, 2, "a file with a link has two names");
    is(symlink("linked", "soft"), 0, "symlink creates a symbolic link");
    is(readlink("soft", buf, sizeof(buf)), 6, "readlink returns its target");
    is(lstat("soft", &st), 0, "lstat of a symbolic link works");
    ok(S_ISLNK(st.st_mode), "lstat returns the symbolic link");
    is(stat("soft", &st), 0, "stat of a symbolic link works");
    ok(S_ISREG(st.st_mode), "stat follows the symbolic link");
    (void)!symlink("loop2", "loop1");
    (void)!symlink("loop1", "loop2");
    is(open("loop1", O_RDONLY), -1, "a cycle of symbolic links cannot be opened");
    is(errno, ELOOP, "(ELOOP)");
    is(mkdir("sub", 0700), 0, "a subdirectory is created");
    is(rename("sub", "sub/sub"), -1, "a directory cannot be moved into itself");
    is(errno, EINVAL, "(EINVAL)");
    is(rmdir("/tmp/d"), -1, "a directory that is not empty cannot be removed");
    is(errno, ENOTEMPTY, "(ENOTEMPTY)");
    is(unlink("sub"), -1, "unlink refuses a directory");
    is(stat("sub/../sub/./..//file3", &st), 0, "a path may contain dots and repeated slashes");
    is(stat("file3/x", &st), -1, "a file in the middle of a path is an error");
    is(errno, ENOTDIR, "(ENOTDIR)");
    memset(buf, 'n', 255);
    is(open(strcpy(buf + 200, "xxx"), O_RDONLY), -1,
       "a long path to a file that does not exist cannot be opened");
    is(nftw("/tmp/d", remove_one, 8, FTW_DEPTH | FTW_PHYS), 0,
       "nftw removes everything in the directory");
    is(chdir("/"), 0, "chdir goes back to the root");
    is(access("/tmp/d", F_OK), -1, "the directory is gone");
    is(readlink("/proc/self/exe", buf, sizeof(buf)), (long)strlen("/tests/files"),
       "/proc/self/exe");
}

/* Run the shell under another name; its status. */
static int run_as(const char *path)
{
    char *argv[] = {"sh", "-c", "exit 7", NULL}, *none[] = {NULL};
    int status = -1;
    pid_t pid = fork();

    if (pid == 0) {
        execve(path, argv, none);
        _exit(1);
    }
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Short paths and texts of links are kept in other memory than long ones. */
static void test_lengths(void)
{
    static char path[300], text[4096], got[4096];
    bool names = true, links = true, programs = true, paths = true, refused;
    struct stat st;

    for (size_t n = 88; n < 112; n++) {
        memset(path, 'p', n);
        memcpy(path, "/tmp/", 5);
        path[n] = '\0';
        memset(text, 't', n);
        text[n] = '\0';
        names &= close(open(path, O_CREAT | O_WRONLY, 0600)) == 0 && stat(path, &st) == 0 &&
                 S_ISREG(st.st_mode) && unlink(path) == 0 && stat(path, &st) == -1;
        links &= symlink(text, path) == 0 && readlink(path, got, sizeof(got)) == (ssize_t)n &&
                 memcmp(got, text, n) == 0 && readlink(path, got, 90) == (ssize_t)(n < 90 ? n : 90);
        unlink(path);
        if (n % 4 == 3)
            programs &= link("/bin/sh", path) == 0 && run_as(path) == 7 && unlink(path) == 0;
    }
    ok(names, "files are found by paths of 88 to 111 bytes");
    ok(links, "links of 88 to 111 bytes are read");
    ok(programs, "programs are executed by such paths");
    memset(text, 't', sizeof(text) - 1);
    ok(symlink(text, "/tmp/longest") == 0 &&
           readlink("/tmp/longest", got, sizeof(got)) == sizeof(text) - 1 &&
           memcmp(got, text, sizeof(text) - 1) == 0,
       "the longest link is read");
    unlink("/tmp/longest");
    for (size_t n = 500; n < 524; n++) {
        memset(text, '/', n);
        memcpy(text + n - 8, "tmp/last", 9);
        paths &= close(open(text, O_CREAT | O_WRONLY, 0600)) == 0 && unlink("/tmp/last") == 0;
    }
    ok(paths, "a file is made by paths of 500 to 523 bytes");
    memset(text, '/', sizeof(text));
    refused = stat(text, &st) == -1 && errno == ENAMETOOLONG;
    text[sizeof(text) - 1] = '\0';
    ok(refused && stat(text, &st) == 0, "a path has at most 4,095 bytes");
}

static void test_descriptors(void)
{
    int fd = open("/dev/null", O_RDWR), n = 0, last = -1, more;

    is(write(fd, "x", 1), 1, "/dev/null accepts a write");
    is(dup2(fd, 50), 50, "dup2 works");
    is(fcntl(50, F_GETFD), 0, "fcntl: the descriptor stays open over exec");
    is(fcntl(50, F_SETFD, FD_CLOEXEC), 0, "F_SETFD sets FD_CLOEXEC");
    is(fcntl(50, F_GETFD), FD_CLOEXEC, "F_GETFD returns FD_CLOEXEC");
    is(fcntl(50, F_DUPFD, 60), 60, "F_DUPFD");
    is(close(50), 0, "close");
    is(close(50), -1, "once");
    close(60);
    is(dup2(fd, 100000), -1, "dup2 to a descriptor that is too large fails");
    is(errno, EBADF, "(EBADF)");
    is(dup(-1), -1, "dup of descriptor -1 fails");
    while ((more = dup(fd)) >= 0)
        last = more, n++;
    is(errno, EMFILE, "open fails with EMFILE when all descriptors are in use");
    ok(n > 200, "%d descriptors could be opened", n);
    for (int k = fd + 1; k <= last; k++)
        close(k);
    is(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDWR, "F_GETFL");
    close(fd);
    is(isatty(1), 0, "the output of a command is no terminal");
}

static void test_pipe(void)
{
    static char buf[200000];
    struct iovec v[3] = {{"one ", 4}, {"", 0}, {"two", 3}};
    int p[2], status, flags;
    long total = 0, n;
    pid_t pid;

    is(pipe(p), 0, "pipe creates a pipe");
    is(writev(p[1], v, 3), 7, "writev writes all parts");
    is(read(p[0], buf, 100), 7, "read returns all bytes");
    is(memcmp(buf, "one two", 7), 0, "read returns what writev wrote");
    pid = fork();
    if (pid == 0) {
        close(p[0]);
        for (long k = 0; k < 200000; k++)
            buf[k] = (char)(k * 7);
        _exit(write(p[1], buf, sizeof(buf)) == sizeof(buf) ? 0 : 1);
    }
    close(p[1]);
    status = 1;
    while ((n = read(p[0], buf, 3001)) > 0) {
        for (long k = 0; k < n; k++)
            if (buf[k] != (char)((total + k) * 7))
                status = 0;
        total += n;
    }
    is(total, 200000, "200,000 bytes come through a pipe");
    ok(status, "the bytes come in order");
    waitpid(pid, &status, 0);
    is(status, 0, "the writer has written all of them");
    close(p[0]);
    if (pipe(p))
        bail_out("pipe");
    flags = fcntl(p[1], F_GETFL);
    fcntl(p[1], F_SETFL, flags | O_NONBLOCK);
    fcntl(p[0], F_SETFL, O_NONBLOCK);
    is(read(p[0], buf, 1), -1, "a nonblocking read from an empty pipe fails");
    is(errno, EAGAIN, "(EAGAIN)");
    for (total = 0; (n = write(p[1], buf, 4096)) > 0; total += n)
        ;
    is(errno, EAGAIN, "a nonblocking write to a full pipe fails with EAGAIN");
    is(total, 65536, "a pipe holds 64 KiB");
    close(p[0]);
    close(p[1]);
}

/* A record that fits into the pipe, but lies across the end of the ring, is written as a whole, so
 * that no record of another writer comes between its parts. */
static void test_pipe_record_at_the_brim(void)
{
    char record[88] = {0};
    int p[2], n = 0;

    if (pipe(p))
        bail_out("pipe");
    fcntl(p[1], F_SETFL, O_NONBLOCK);
    while (write(p[1], record, sizeof(record)) == sizeof(record))
        n++;
    is(n, 65536 / 88, "the pipe takes as many records as fit");
    is(read(p[0], record, 40), 40, "reading makes room for one more record");
    is(write(p[1], record, sizeof(record)), 88, "the record is written as a whole");
    is(write(p[1], record, sizeof(record)), -1, "a record that does not fit is not written at all");
    close(p[0]);
    close(p[1]);
}

static void test_poll(void)
{
    struct timeval tv = {0, 20000};
    struct pollfd f[2];
    int p[2];
    fd_set set;
    pid_t pid;

    if (pipe(p))
        bail_out("pipe");
    f[0] = (struct pollfd){.fd = p[0], .events = POLLIN};
    f[1] = (struct pollfd){.fd = p[1], .events = POLLOUT};
    is(poll(f, 1, 0), 0, "poll: an empty pipe is not readable");
    is(poll(f, 2, -1), 1, "poll: the write end is writable");
    is(f[1].revents, POLLOUT, "poll returns POLLOUT for the write end");
    is(poll(f, 1, 20), 0, "poll ends at its time limit");
    FD_ZERO(&set);
    FD_SET(p[0], &set);
    is(select(p[0] + 1, &set, NULL, NULL, &tv), 0, "select ends at its time limit");
    pid = fork();
    if (pid == 0) {
        usleep(20000);
        (void)!write(p[1], "x", 1);
        _exit(0);
    }
    is(poll(f, 1, -1), 1, "poll waits for data");
    is(f[0].revents, POLLIN, "poll returns POLLIN when there is data");
    FD_SET(p[0], &set);
    is(select(p[0] + 1, &set, NULL, NULL, NULL), 1, "select returns when there is data");
    waitpid(pid, NULL, 0);
    close(p[1]);
    (void)!read(p[0], &set, 1);
    is(poll(f, 1, -1), 1, "poll returns when the write end is closed");
    is(f[0].revents, POLLHUP, "poll returns POLLHUP for it");
    close(p[0]);
    is(poll(f, 1, -1), 1, "poll returns for a closed descriptor");
    is(f[0].revents, POLLNVAL, "poll returns POLLNVAL for it");
}

/* Many small messages between a reader and a writer in two processes. */
static void test_ping_pong(void)
{
    int a[2], b[2], n;
    pid_t pid;

    if (pipe(a) || pipe(b))
        bail_out("pipe");
    pid = fork();
    if (pid == 0) {
        while (read(a[0], &n, sizeof(n)) == sizeof(n) && n >= 0) {
            n++;
            (void)!write(b[1], &n, sizeof(n));
        }
        _exit(0);
    }
    n = 0;
    for (int k = 0; k < 2000; k++) {
        (void)!write(a[1], &n, sizeof(n));
        if (read(b[0], &n, sizeof(n)) != sizeof(n))
            bail_out("the answer is missing");
    }
    is(n, 2000, "2000 round trips complete");
    n = -1;
    (void)!write(a[1], &n, sizeof(n));
    waitpid(pid, NULL, 0);
}

static void test_user(void)
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        int fd = open("/tmp/secret", O_CREAT | O_WRONLY, 0600);
        int good = fd >= 0 && setuid(100) == 0 && getuid() == 100 && geteuid() == 100;

        good &= open("/tmp/secret", O_RDONLY) == -1 && errno == EACCES;
        good &= open("/newfile", O_CREAT | O_WRONLY, 0600) == -1 && errno == EACCES;
        good &= unlink("/tmp/secret") == -1 && errno == EPERM;
        good &= setuid(0) == -1 && errno == EPERM;
        good &= kill(1, SIGTERM) == -1 && errno == EPERM;
        good &= open("/tmp/mine", O_CREAT | O_RDWR, 0600) >= 0 && unlink("/tmp/mine") == 0;
        _exit(good ? 0 : 1);
    }
    waitpid(pid, &status, 0);
    is(status, 0, "another user can do only what the modes allow");
    unlink("/tmp/secret");
}

/* A child that shares the descriptors or the working directory with this process, but no memory. */
static pid_t clone_sharing(unsigned long flags)
{
    return (pid_t)syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);
}

static int end_of(pid_t pid)
{
    int status = -1;

    return waitpid(pid, &status, 0) == pid ? status : -1;
}

#define SHARERS 3
#define TURNS   3000

/* Several processes with one table of descriptors open and close descriptors. A descriptor that is
 * given to two of them would be closed twice. */
static int take_and_give(void)
{
    for (int k = 0; k < TURNS; k++) {
        int fd = k % 3 ? dup(0) : open("/dev/null", O_RDONLY);

        if (fd < 0 || close(fd) != 0)
            return 1;
    }
    return 0;
}

static void test_shared_table(void)
{
    char *argv[] = {"true", NULL}, c = 0;
    int p[2], fd, before, bad = 0;
    pid_t pid, some[SHARERS];

    pid = clone_sharing(CLONE_FILES);
    if (pid == 0) {
        fd = open("/dev/null", O_RDWR);
        _exit(fd);
    }
    fd = end_of(pid) >> 8;
    ok(fd > 2 && fcntl(fd, F_GETFD) == 0,
       "a descriptor opened by a process that shares the table is open here");
    is(fcntl(fd, F_SETFD, FD_CLOEXEC), 0, "the descriptor is set to be closed by exec");
    pid = clone_sharing(CLONE_FILES);
    if (pid == 0) {
        execv("/bin/true", argv);
        _exit(1);
    }
    is(end_of(pid), 0, "a process that shares the table execs");
    is(fcntl(fd, F_GETFD), FD_CLOEXEC, "exec closes it in a copy of the table only");
    pid = clone_sharing(CLONE_FILES);
    if (pid == 0) /* CLOSE_RANGE_UNSHARE */
        _exit(syscall(SYS_close_range, 3, ~0u, 2) != 0 || fcntl(fd, F_GETFD) != -1);
    is(end_of(pid), 0, "a process that shares the table closes all in one of its own");
    is(fcntl(fd, F_GETFD), FD_CLOEXEC, "and none here");
    pid = clone_sharing(CLONE_FILES);
    if (pid == 0)
        _exit(close(fd));
    is(end_of(pid), 0, "a process that shares the table closes the descriptor");
    is(fcntl(fd, F_GETFD), -1, "the descriptor is closed here, too");

    is(pipe(p), 0, "a pipe is created");
    pid = clone_sharing(CLONE_FILES);
    if (pid == 0) {
        usleep(50000); /* by then the other process waits in read */
        _exit(close(p[0]) || write(p[1], "x", 1) != 1);
    }
    is(read(p[0], &c, 1), 1, "a read continues when another process closes the descriptor");
    is(c, 'x', "the read returns what was written");
    is(end_of(pid), 0, "the closing process ends with status 0");
    is(read(p[0], &c, 1), -1, "afterwards the descriptor is closed");
    close(p[1]);

    before = dup(0);
    close(before);
    for (int k = 0; k < SHARERS; k++) {
        some[k] = clone_sharing(CLONE_FILES);
        if (some[k] == 0)
            _exit(take_and_give());
    }
    bad += take_and_give();
    for (int k = 0; k < SHARERS; k++)
        bad += end_of(some[k]) != 0;
    is(bad, 0, "%d processes open and close descriptors of one table", SHARERS + 1);
    fd = dup(0);
    is(fd, before, "afterwards the lowest free descriptor is the same");
    close(fd);
}

static void test_shared_directory(void)
{
    char buf[64];
    struct stat st;
    int bad = 0;
    pid_t pid;

    mkdir("/tmp/one", 0755);
    mkdir("/tmp/two", 0755);
    umask(022);
    pid = clone_sharing(CLONE_FS);
    if (pid == 0)
        _exit(chdir("/tmp/one") || umask(027) != 022);
    is(end_of(pid), 0, "a process that shares them changes directory and mask");
    ok(getcwd(buf, sizeof(buf)) && !strcmp(buf, "/tmp/one"), "they change here, too");
    is(umask(022), 027, "umask returns the mask that the other process set");
    pid = clone_sharing(CLONE_FS);
    if (pid == 0) {
        for (int k = 0; k < TURNS; k++)
            bad += chdir("/tmp/two") != 0 || rmdir("/tmp/one") != 0 || mkdir("/tmp/one", 0755) ||
                   chdir("/tmp/one") != 0;
        _exit(bad != 0);
    }
    while (waitpid(pid, &bad, WNOHANG) == 0)
        (void)stat(".", &st);
    is(bad, 0, "directories are removed while relative paths start there");
    pid = fork();
    if (pid == 0)
        _exit(chdir("/"));
    is(end_of(pid), 0, "a child of fork changes its own directory");
    ok(getcwd(buf, sizeof(buf)) && !strcmp(buf, "/tmp/one"), "the directory here is unchanged");
    is(chdir("/"), 0, "chdir goes back to the root");
    is(rmdir("/tmp/one") | rmdir("/tmp/two"), 0, "the directories are removed");
}

int main(void)
{
    test_file();
    test_names();
    test_lengths();
    test_descriptors();
    test_pipe();
    test_pipe_record_at_the_brim();
    test_poll();
    test_ping_pong();
    test_shared_table();
    test_shared_directory();
    test_user();
    return tap_done();
}
