/* A folder of the host, mounted at the path that is the first argument: names, contents, mappings,
 * attributes. tests/test_share.py runs it and looks at the folder afterwards. */
#define _GNU_SOURCE
#include <descrip.h>
#include <dirent.h>
#include <fcntl.h>
#include <iledef.h>
#include <linux/futex.h>
#include <lnmdef.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <tap.h>
#include <time.h>

#define PAGE   8192u
#define BIG    (1u << 20)
#define FILES  1300
#define ROUNDS 300

static char big[BIG], back[BIG];

static void fill(char *p, size_t n, unsigned seed)
{
    for (size_t k = 0; k < n; k++) {
        seed = seed * 1103515245u + 12345u;
        p[k] = (char)(seed >> 16);
    }
}

static void test_host_files(void)
{
    struct stat st;
    struct statfs fs;
    char buf[64] = "";
    int fd = open("from_host", O_RDONLY);

    ok(fd >= 0, "a file of the host is opened");
    is(read(fd, buf, sizeof(buf)), 17, "all of it is read");
    is_str(buf, "text of the host\n", "with its contents");
    is(fstat(fd, &st), 0, "fstat succeeds");
    is(st.st_size, 17, "the size is that on the host");
    is(st.st_mode, S_IFREG | 0640, "and the mode");
    is(st.st_mtime, 1000000000, "and the time of the last change");
    close(fd);
    is(readlink("link_of_host", buf, sizeof(buf)), 9, "a link of the host is read");
    is(memcmp(buf, "from_host", 9), 0, "with its target");
    is(stat("link_of_host", &st), 0, "and followed");
    is(open("missing", O_RDONLY), -1, "a file that is not there cannot be opened");
    is(errno, ENOENT, "the error is ENOENT");
    is(open("from_host/x", O_RDONLY), -1, "a file is no directory");
    is(errno, ENOTDIR, "the error is ENOTDIR");
    is(statfs(".", &fs), 0, "statfs succeeds");
    is(fs.f_type, 0x01021997, "the type is that of 9P");
    ok(fs.f_blocks > 0 && fs.f_bavail <= fs.f_blocks, "the host's storage is shown");
}

static void test_contents(void)
{
    struct stat st;
    int fd = open("big", O_RDWR | O_CREAT | O_EXCL, 0600), other;

    fill(big, BIG, 1);
    ok(fd >= 0, "a file is created");
    is(open("big", O_RDWR | O_CREAT | O_EXCL, 0600), -1, "once");
    is(errno, EEXIST, "the error is EEXIST");
    is(write(fd, big, BIG), BIG, "a mebibyte is written");
    is(pread(fd, back, BIG, 0), BIG, "and read back");
    is(memcmp(big, back, BIG), 0, "as it was written");
    is(pwrite(fd, "abc", 3, 12345), 3, "three bytes in the middle are written");
    memcpy(big + 12345, "abc", 3);
    other = open("big", O_RDONLY);
    is(read(other, back, BIG), BIG, "another open file reads all of it");
    is(memcmp(big, back, BIG), 0, "with the change");
    is(ftruncate(fd, 10000), 0, "the file is cut");
    is(fstat(other, &st), 0, "fstat succeeds");
    is(st.st_size, 10000, "the other open file sees the length");
    is(ftruncate(fd, 30000), 0, "and made longer");
    is(pread(other, back, 20000, 9000), 20000, "the new part is read");
    ok(memcmp(back, big + 9000, 1000) == 0 && !back[1000] && !back[19999], "it is zero");
    is(pwrite(fd, "end", 3, 100000), 3, "a write far behind the end");
    is(fstat(fd, &st), 0, "fstat succeeds");
    is(st.st_size, 100003, "makes it longer");
    is(pread(fd, back, 5, 50000), 5, "the hole is read");
    ok(!back[0] && !back[4], "as zeroes");
    is(fsync(fd), 0, "fsync succeeds");
    is(fdatasync(fd), 0, "fdatasync succeeds");
    close(other);
    close(fd);
    fd = open("big", O_WRONLY | O_APPEND);
    is(write(fd, "more", 4), 4, "bytes are appended");
    close(fd);
    fd = open("big", O_RDONLY);
    is(pread(fd, back, 10, 100000), 7, "they follow the others");
    is(memcmp(back, "endmore", 7), 0, "in order");
    is(write(fd, "x", 1), -1, "a file open for reading cannot be written");
    close(fd);
}

static void test_mapping(void)
{
    int fd = open("mapped", O_RDWR | O_CREAT, 0644), status;
    char *p, *q, buf[8] = "";

    is(ftruncate(fd, 40 * PAGE + 100), 0, "a file of 41 pages");
    p = mmap(NULL, 41 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ok(p != MAP_FAILED, "is mapped");
    for (unsigned k = 0; k <= 40; k++)
        p[k * PAGE + k] = (char)(k + 1);
    is(pread(fd, buf, 1, 7 * PAGE + 7), 1, "read");
    is(buf[0], 8, "sees what was stored");
    is(pwrite(fd, "W", 1, 3 * PAGE), 1, "write");
    is(p[3 * PAGE], 'W', "is seen through the mapping");
    is(msync(p, 41 * PAGE, MS_SYNC), 0, "msync succeeds");
    is(msync(p, 41 * PAGE, MS_ASYNC), 0, "with each flag");
    if (fork() == 0) {
        p[5 * PAGE] = 'C';
        _exit(p[3 * PAGE] == 'W' ? 0 : 1);
    }
    wait(&status);
    is(status, 0, "a child has the same mapping");
    is(p[5 * PAGE], 'C', "and its stores are seen");
    q = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 3 * PAGE);
    q[0] = 'P';
    is(p[3 * PAGE], 'W', "a private mapping changes nothing");
    munmap(q, PAGE);
    p[40 * PAGE + 99] = 'E';
    munmap(p, 41 * PAGE);
    close(fd);
}

static sigjmp_buf no_page;

static void on_bus(int sig)
{
    (void)sig;
    siglongjmp(no_page, 1);
}

/* Store to pages and write them back, again and again, while the file has them. */
static void store_and_sync(char *p)
{
    signal(SIGBUS, on_bus);
    for (;;)
        if (sigsetjmp(no_page, 1) == 0) {
            for (int n = 1; n < 4; n++)
                p[n * PAGE] = 1;
            msync(p, 4 * PAGE, MS_SYNC);
        }
}

/* One process truncates a file whose pages another one writes back at that moment. No page may
 * reach the server behind the truncation, which would make the file longer again. */
static void test_truncation(void)
{
    int fd = open("cut", O_RDWR | O_CREAT, 0600), wrong = 0;
    char *p = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    pid_t pid = fork();

    if (pid == 0)
        store_and_sync(p);
    for (int k = 0; k < 60; k++) {
        struct stat st;
        int other;

        ftruncate(fd, 4 * PAGE);
        usleep(1000);
        ftruncate(fd, 100);
        usleep(1000);                  /* what is on its way arrives */
        other = open("cut", O_RDONLY); /* asks the server */
        wrong += fstat(other, &st) != 0 || st.st_size != 100;
        close(other);
    }
    is(wrong, 0, "a file that is truncated stays so");
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    munmap(p, 4 * PAGE);
    close(fd);
    unlink("cut");
}

/* A file is found by one name and another in turn, so that it stands on the server under new
 * numbers, while others find other files. What is asked for by the old numbers is still meant for
 * the file. */
static void test_numbers(void)
{
    int fd = open("name1", O_CREAT | O_RDWR, 0600), wrong = 0;
    pid_t pid[3];
    struct stat st;
    char name[16];

    is(link("name1", "name2"), 0, "a file has two names");
    for (int k = 0; k < 8; k++) {
        snprintf(name, sizeof(name), "other%d", k);
        close(open(name, O_CREAT | O_RDWR, 0600));
    }
    for (int n = 0; n < 3; n++) {
        pid[n] = fork();
        for (int k = 0; pid[n] == 0; k++) {
            snprintf(name, sizeof(name), n < 2 ? "name%d" : "other%d", n < 2 ? k % 2 + 1 : k % 8);
            stat(name, &st);
        }
    }
    for (int k = 0; k < ROUNDS; k++)
        wrong += fchmod(fd, 0640 + (k & 7)) != 0 || fstat(fd, &st) != 0 ||
                 (st.st_mode & 0777) != 0640u + (k & 7);
    for (int n = 0; n < 3; n++) {
        kill(pid[n], SIGKILL);
        waitpid(pid[n], NULL, 0);
    }
    is(wrong, 0, "its mode is changed, by whichever name it was found");
    for (int k = wrong = 0; k < 8; k++) {
        snprintf(name, sizeof(name), "other%d", k);
        wrong += stat(name, &st) != 0 || (st.st_mode & 0777) != 0600;
        unlink(name);
    }
    is(wrong, 0, "and that of no other file");
    unlink("name1");
    unlink("name2");
    close(fd);
}

static mode_t mode_of(const char *name)
{
    struct stat st;

    return stat(name, &st) == 0 ? st.st_mode & 07777 : 0;
}

static void test_set_ids(void)
{
    int fd = open("trusted", O_CREAT | O_RDWR, 06755);

    is(mode_of("trusted"), 06755, "a file is made with set-id bits");
    is(write(fd, "x", 1), 1, "it is written to");
    is(mode_of("trusted"), 0755, "and loses them");
    fchmod(fd, 06745);
    ftruncate(fd, 100);
    is(mode_of("trusted"), 02745, "so it does by another length, but for the bit of locks");
    fchmod(fd, 06755);
    is(fchown(fd, 12, 34), 0, "it gets another owner");
    is(mode_of("trusted"), 0755, "and loses them");
    close(fd);
    unlink("trusted");
}

/* While one appends, others ask the server how long the file is. What it said before the last
 * write is not believed: that would cut the file, and the next write would overwrite the last. */
static void test_append(void)
{
    int fd = open("appended", O_CREAT | O_RDWR | O_APPEND, 0600), wrong = 0;
    struct stat st;
    pid_t pid[2];

    for (int n = 0; n < 2; n++) {
        pid[n] = fork();
        while (pid[n] == 0)
            close(open("appended", O_RDONLY));
    }
    for (int k = 0; k < 200; k++)
        wrong += write(fd, "12345", 5) != 5;
    for (int n = 0; n < 2; n++) {
        kill(pid[n], SIGKILL);
        waitpid(pid[n], NULL, 0);
    }
    is(wrong, 0, "a file is appended to while others open it");
    is(fstat(fd, &st), 0, "and has");
    is(st.st_size, 1000, "all that was written");
    close(fd);
    unlink("appended");
}

static void set_limit(const char *parameter, long value)
{
    if (mega$control(MEGA_CTL_SET_PARAM, (uint64_t)parameter, (uint64_t)value, 0, 0, 0) !=
        SS$_NORMAL)
        bail_out("%s cannot be set", parameter);
}

/* A user may have a few inodes. Those that nobody uses give way, although many others that are in
 * use were looked up before. */
static void test_inodes(void)
{
    int fd[40], status = -1;
    char name[32];

    mkdir("limited", 0777);
    for (int k = 0; k < 80; k++) {
        snprintf(name, sizeof(name), "limited/f%d", k);
        close(open(name, O_CREAT | O_RDWR, 0666));
    }
    for (int k = 0; k < 40; k++) {
        snprintf(name, sizeof(name), "limited/f%d", k);
        fd[k] = open(name, O_RDONLY);
    }
    set_limit("USER_INODES", 20);
    if (fork() == 0) {
        struct stat st;
        int wrong = 0;

        wrong = setuid(1000);
        for (int k = 0; k < 80; k++) {
            snprintf(name, sizeof(name), "limited/new%d", k);
            wrong += mknod(name, S_IFREG | 0600, 0) != 0 || stat(name, &st) != 0;
        }
        _exit(wrong);
    }
    wait(&status);
    set_limit("USER_INODES", -1);
    is(WEXITSTATUS(status), 0, "files that nobody uses give way when a user has many");
    for (int k = 0; k < 80; k++) {
        snprintf(name, sizeof(name), "limited/f%d", k);
        if (k < 40)
            close(fd[k]);
        unlink(name);
        snprintf(name, sizeof(name), "limited/new%d", k);
        unlink(name);
    }
    rmdir("limited");
}

/* The server knows files by their names. What is done to one that was removed must not happen to
 * another one that got its name. */
static void test_removed(void)
{
    int fd = open("removed", O_CREAT | O_RDWR, 0600), other;
    char buf[8] = "";
    struct stat st;

    write(fd, "old contents", 12);
    unlink("removed");
    other = open("removed", O_CREAT | O_EXCL | O_RDWR, 0600);
    write(other, "new", 3);
    is(ftruncate(fd, 4), 0, "a file that was removed gets shorter");
    is(ftruncate(fd, 8), 0, "and longer");
    is(fchmod(fd, 0640), 0, "and another mode");
    is(pread(fd, buf, 8, 0), 8, "all of it is read");
    is(memcmp(buf, "old \0\0\0\0", 8), 0, "with zeroes where it was cut");
    is(fstat(fd, &st) == 0 && st.st_size == 8 && (st.st_mode & 0777) == 0640, 1, "stat agrees");
    is(stat("removed", &st) == 0 && st.st_size == 3 && (st.st_mode & 0777) == 0600, 1,
       "a new file with its name is left alone");
    close(fd);
    is(link("removed", "second"), 0, "a file has two names");
    unlink("removed");
    close(open("removed", O_CREAT | O_EXCL | O_RDWR, 0600));
    (void)!ftruncate(other, 1);
    (void)!fchmod(other, 0604);
    is(mode_of("removed"), 0600, "a new file with the first one is left alone");
    is(link("second", "third"), 0, "it is found by its second name");
    is(fchmod(other, 0604), 0, "and changed");
    is(mode_of("second"), 0604, "as a look shows");
    close(other);
    unlink("removed");
    unlink("second");
    unlink("third");
}

static void test_names(void)
{
    struct stat st, st2;
    int fd;
    char cwd[256];

    is(mkdir("dir", 0750), 0, "a directory is made");
    is(mkdir("dir", 0750), -1, "once");
    is(errno, EEXIST, "the error is EEXIST");
    is(mkdir("dir/sub", 0755), 0, "another one in it");
    is(rmdir("dir"), -1, "it cannot be removed then");
    is(errno, ENOTEMPTY, "the error is ENOTEMPTY");
    fd = open("dir/sub/file", O_CREAT | O_WRONLY, 0644);
    is(write(fd, "moved", 5), 5, "a file is written there");
    close(fd);
    is(rename("dir/sub", "sub2"), 0, "the directory is moved");
    is(stat("sub2/file", &st), 0, "its file is found there");
    is(chdir("sub2"), 0, "the directory is entered");
    ok(getcwd(cwd, sizeof(cwd)) != NULL, "its path is found");
    ok(strlen(cwd) > 5 && strcmp(cwd + strlen(cwd) - 5, "/sub2") == 0, "with its new name");
    is(chdir(".."), 0, "and left");
    is(link("sub2/file", "hard"), 0, "a second name");
    is(stat("hard", &st2), 0, "is found");
    ok(st.st_ino == st2.st_ino && st2.st_nlink == 2, "as the same file with two links");
    is(symlink("sub2/file", "soft"), 0, "a symbolic link");
    is(stat("soft", &st2), 0, "is followed");
    ok(st.st_ino == st2.st_ino, "to the file");
    is(rename("hard", "sub2/file3"), 0, "a name is moved");
    is(unlink("sub2/file"), 0, "and the first one removed");
    is(stat("sub2/file3", &st2), 0, "the file is still there");
    is(st2.st_nlink, 1, "with one link");
    is(chmod("sub2/file3", 0604), 0, "chmod succeeds");
    is(stat("sub2/file3", &st2), 0, "stat succeeds");
    is(st2.st_mode & 07777, 0604, "the mode has changed");
    is(utimensat(AT_FDCWD, "sub2/file3", (struct timespec[]){{5, 6}, {1234567890, 7}}, 0), 0,
       "times are set");
    is(stat("sub2/file3", &st2), 0, "stat succeeds");
    is(st2.st_mtime, 1234567890, "as asked for");
    fd = open("sub2/gone", O_CREAT | O_RDWR, 0600);
    is(write(fd, "still", 5), 5, "a file is written");
    is(unlink("sub2/gone"), 0, "and removed while it is open");
    is(pwrite(fd, "S", 1, 0), 1, "it can be written");
    is(pread(fd, back, 9, 0), 5, "and read");
    is(memcmp(back, "Still", 5), 0, "with its contents");
    is(fstat(fd, &st2), 0, "fstat succeeds");
    is(st2.st_nlink, 0, "without a name");
    close(fd);
    is(stat("fifo", &st2), 0, "a FIFO of the host is found");
    ok(S_ISFIFO(st2.st_mode), "as one");
    is(unlink("fifo"), 0, "and removed");
    is(mkdir("empty", 0700), 0, "an empty directory");
    is(rmdir("empty"), 0, "is removed");
    is(stat("empty", &st2), -1, "and is gone");
}

static void test_many(void)
{
    static unsigned char seen[FILES];
    char name[32];
    int made = 0, twice = 0, found = 0, removed = 0;
    struct dirent *e;
    DIR *d;

    is(mkdir("many", 0755), 0, "a directory for many files");
    for (int k = 0; k < FILES; k++) {
        int fd;

        snprintf(name, sizeof(name), "many/f%d", k);
        fd = open(name, O_CREAT | O_WRONLY | O_EXCL, 0644);
        made += fd >= 0 && write(fd, name, strlen(name)) == (ssize_t)strlen(name);
        close(fd);
    }
    is(made, FILES, "all are made");
    d = opendir("many");
    while ((e = readdir(d)) != NULL) {
        int k = e->d_name[0] == 'f' ? atoi(e->d_name + 1) : -1;

        if (k < 0 || k >= FILES)
            continue;
        twice += seen[k];
        found += !seen[k];
        seen[k] = 1;
    }
    closedir(d);
    is(found, FILES, "readdir finds all of them");
    is(twice, 0, "each once");
    for (int k = 0; k < FILES; k += 2) {
        snprintf(name, sizeof(name), "many/f%d", k);
        removed += unlink(name) == 0;
    }
    is(removed, FILES / 2, "every second one is removed");
}

/* Processes that write, read and are killed in the middle. */
static void test_killed(void)
{
    int wrong = 0;

    for (int k = 0; k < 12; k++) {
        int status;
        pid_t pid = fork();

        if (pid == 0) {
            int fd = open("victim", O_CREAT | O_RDWR, 0600);

            for (;;)
                if (pwrite(fd, big, 300000, 0) < 0 || pread(fd, back, 300000, 0) < 0 || fsync(fd) ||
                    unlink("victim2") + 1 > 1 || link("victim", "victim2") > 0)
                    _exit(1);
        }
        usleep((useconds_t)(3000 + 7000 * k));
        kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
        wrong += !WIFSIGNALED(status);
    }
    is(wrong, 0, "processes in the middle of requests are killed");
    unlink("victim2");
    is(unlink("victim"), 0, "and the folder goes on working");
}

static void test_processes(void)
{
    int bad = 0, status;

    for (int k = 0; k < 4; k++)
        if (fork() == 0) {
            char name[16], *mine = malloc(100000), *got = malloc(100000);
            int fd, wrong = 0;

            snprintf(name, sizeof(name), "own%d", k);
            fill(mine, 100000, (unsigned)k);
            for (int n = 0; n < 5; n++) {
                fd = open(name, O_CREAT | O_RDWR | O_TRUNC, 0600);
                wrong += write(fd, mine, 100000) != 100000;
                wrong += pread(fd, got, 100000, 0) != 100000 || memcmp(mine, got, 100000) != 0;
                close(fd);
            }
            _exit(wrong);
        }
    for (int k = 0; k < 4; k++) {
        wait(&status);
        bad += status != 0;
    }
    is(bad, 0, "four processes write and read files at the same time");
}

static void contents(const char *path, char *to, size_t n)
{
    int fd = open(path, O_RDONLY);
    ssize_t got = read(fd, to, n - 1);

    to[got > 0 ? got : 0] = 0;
    close(fd);
}

/* What the host changes while this runs: it waits for "ready" and then makes "go". */
static int test_host_changes(void)
{
    char buf[64], *p;
    int fd = open("changing", O_RDONLY);

    contents("changing", buf, sizeof(buf));
    is_str(buf, "one", "a file as the host has made it");
    p = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
    is(memcmp(p, "one", 4), 0, "is mapped");
    close(open("ready", O_CREAT | O_WRONLY, 0600));
    for (int k = 0; k < 3000 && access("go", F_OK) != 0; k++)
        usleep(10000);
    is(access("go", F_OK), 0, "a name that the host makes is seen");
    contents("changing", buf, sizeof(buf));
    is_str(buf, "the second", "who opens the file after the host's change sees it");
    is(memcmp(p, "the second", 11), 0, "and so does the mapping from then on");
    contents("renamed/inner", buf, sizeof(buf));
    is_str(buf, "inner", "a directory that the host has renamed has its files");
    return tap_done();
}

/* A file larger than memory, and then a program that needs most of it: pages that are only kept
 * give way. */
static int test_memory(void)
{
    int fd = open("large", O_CREAT | O_RDWR, 0600), wrong = 0;
    char *p;

    for (int k = 0; k < 90; k++) {
        memset(big, k + 1, BIG);
        wrong += pwrite(fd, big, BIG, (off_t)k * BIG) != BIG;
    }
    is(wrong, 0, "a file is written");
    for (int k = 0; k < 90; k++) {
        wrong += pread(fd, back, BIG, (off_t)k * BIG) != BIG;
        wrong += back[0] != k + 1 || memcmp(back, back + 1, BIG - 1) != 0;
    }
    is(wrong, 0, "and read");
    p = mmap(NULL, 48u * BIG, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (size_t k = 0; k < 48u * BIG; k += PAGE)
        p[k] = 1;
    ok(p != MAP_FAILED && p[0] == 1, "memory is there for programs then");
    return tap_done();
}

static long now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* One process locks a futex with inheritance in a page that the server has yet to bring. The locks
 * of others do not wait for that. */
static void test_slow_lock(void)
{
    static uint32_t words[1024];
    int fd = open("from_host", O_RDWR), status;
    uint32_t *p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)510 * PAGE);
    long most = 0;
    pid_t pid;

    is(pread(fd, back, 1, (off_t)511 * PAGE), 1, "the first request is answered at once");
    pid = fork();
    if (pid == 0)
        _exit(syscall(SYS_futex, p, FUTEX_LOCK_PI, 0, NULL, NULL, 0) != 0);
    usleep(300000);
    for (int k = 0; k < 1024; k++) {
        long before = now_ms(), after;

        if (syscall(SYS_futex, &words[k], FUTEX_TRYLOCK_PI_PRIVATE, 0, NULL, NULL, 0) != 0)
            most = 1000000;
        after = now_ms();
        most = after - before > most ? after - before : most;
    }
    is(waitpid(pid, &status, WNOHANG), 0, "a lock is in a page that is not there yet");
    ok(most < 400, "others are taken meanwhile (%ld ms)", most);
    waitpid(pid, &status, 0);
    is(status, 0, "and it is taken in the end");
    munmap(p, PAGE);
    close(fd);
}

/* ---- logical names whose translations go to pages that the server has yet to bring ---- */

#define ANSWERS  500
#define FAMILIES 12

static char *answers; /* one page, mapped by turns from the server and as ordinary memory */

static struct dsc$descriptor_s text(char *s)
{
    return (struct dsc$descriptor_s){(unsigned short)strlen(s), DSC$K_DTYPE_T, DSC$K_CLASS_S, s};
}

static int __attribute__((noreturn)) translate_for_ever(void *arg)
{
    static ILE3 items[ANSWERS + 1];
    struct dsc$descriptor_s table = text("LNM$PROCESS"), name = text("SLOW");

    (void)arg;
    for (unsigned k = 0; k < ANSWERS; k++)
        items[k] = (ILE3){4, LNM$_STRING, answers + 8 * k, NULL};
    for (;;) {
        sys$trnlnm(NULL, &table, &name, NULL, items);
    }
}

static void __attribute__((noreturn)) change_answers(unsigned family)
{
    static char stack[4 * PAGE] __attribute__((aligned(16)));
    int fd = open("from_host", O_RDWR);

    answers = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (clone(translate_for_ever, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL) < 0)
        _exit(1);
    for (unsigned k = 0;; k++) {
        mmap(answers, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        *(volatile char *)answers = 1;
        usleep(k % 50);
        mmap(answers, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd,
             (off_t)(family * 40 + k % 40) * PAGE);
        usleep(k % 70);
    }
}

/* A process has a name translated again and again, while another thread changes the memory for the
 * answers between the check and the writing. Who defines names does not wait for the server. */
static void test_slow_translation(void)
{
    struct dsc$descriptor_s table = text("LNM$PROCESS"), name = text("SLOW");
    ILE3 items[] = {{4, LNM$_STRING, "slow", NULL}, {0}};
    long most = 0, begin = now_ms();
    bool wrong = !(sys$crelnm(NULL, &table, &name, NULL, items) & 1);
    pid_t pid = fork();

    if (pid == 0) {
        setpgid(0, 0);
        for (unsigned k = 1; k < FAMILIES; k++)
            if (fork() == 0)
                change_answers(k);
        change_answers(0);
    }
    while (now_ms() - begin < 3000) {
        long before = now_ms(), after;

        wrong |= !(sys$crelnm(NULL, &table, &name, NULL, items) & 1);
        after = now_ms();
        most = after - before > most ? after - before : most;
        usleep(100);
    }
    kill(-pid, SIGKILL);
    waitpid(pid, NULL, 0);
    ok(!wrong && most < 400, "names are defined while translations wait for memory (%ld ms)", most);
}

/* The server answers once in a second or later: who waits for it can be killed at once. */
static int test_slow(void)
{
    test_slow_lock();
    test_slow_translation();
    for (int k = 0; k < 3; k++) {
        struct timespec before, after;
        pid_t pid = fork();
        int status;

        if (pid == 0) {
            int fd = open("from_host", O_RDWR);

            for (;;)
                if (k == 0)
                    (void)!pread(fd, back, BIG, 0);
                else if (k == 1)
                    (void)!pwrite(fd, big, BIG, 0);
                else
                    fsync(fd);
        }
        usleep(900000);
        clock_gettime(CLOCK_MONOTONIC, &before);
        kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
        clock_gettime(CLOCK_MONOTONIC, &after);
        ok(WIFSIGNALED(status) && after.tv_sec * 1000 + after.tv_nsec / 1000000 <
                                      before.tv_sec * 1000 + before.tv_nsec / 1000000 + 500,
           "a process that waits for the server is killed at once");
    }
    return tap_done();
}

/* ---- watches ---- */

static int watching;

/* Is the next event this one? */
static void next_event(uint32_t mask, const char *name)
{
    char buf[512] __attribute__((aligned(8)));
    const struct inotify_event *e = (const struct inotify_event *)buf;
    ssize_t n = read(watching, buf, sizeof(*e) + (*name ? 16 : 0)); /* one event */

    ok(n > 0 && e->mask == mask && strcmp(e->len ? e->name : "", name) == 0,
       "event %x of %s, and not %x of %s", mask, name, n > 0 ? e->mask : 0,
       n > 0 && e->len ? e->name : "");
}

static void test_watches(void)
{
    int fd, wd;

    mkdir("watched", 0755);
    watching = inotify_init1(IN_NONBLOCK);
    wd = inotify_add_watch(watching, "watched", IN_ALL_EVENTS & ~IN_ACCESS);
    ok(wd > 0, "a directory of the host is watched");
    fd = open("watched/new", O_CREAT | O_RDWR, 0644);
    next_event(IN_CREATE, "new");
    next_event(IN_OPEN, "new");
    is(write(fd, "text", 4), 4, "a file in it is written");
    next_event(IN_MODIFY, "new");
    is(fchmod(fd, 0600), 0, "and changed");
    next_event(IN_ATTRIB, "new");
    rename("watched/new", "watched/other");
    next_event(IN_MOVED_FROM, "new");
    next_event(IN_MOVED_TO, "other");
    is(write(fd, "text", 4), 4, "it is written under its new name");
    next_event(IN_MODIFY, "other");
    close(fd);
    next_event(IN_CLOSE_WRITE, "other");
    unlink("watched/other");
    next_event(IN_DELETE, "other");
    rmdir("watched");
    next_event(IN_DELETE_SELF, "");
    next_event(IN_IGNORED, "");
    is(inotify_rm_watch(watching, wd), -1, "the watch has ended with the directory");
    close(watching);
}

int main(int argc, char **argv)
{
    if (argc < 2 || chdir(argv[1]) != 0) {
        printf("Bail out! no folder\n");
        return 1;
    }
    umask(0);
    if (argc > 2 && strcmp(argv[2], "slow") == 0)
        return test_slow();
    if (argc > 2)
        return strcmp(argv[2], "memory") == 0 ? test_memory() : test_host_changes();
    test_host_files();
    test_contents();
    test_mapping();
    test_truncation();
    test_numbers();
    test_set_ids();
    test_append();
    test_inodes();
    test_removed();
    test_names();
    test_many();
    test_processes();
    test_watches();
    test_killed();
    return tap_done();
}
