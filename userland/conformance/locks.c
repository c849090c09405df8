/* File locks: fcntl's, those of open file descriptions, and flock: ranges, conflicts, who loses
   them when; from fcntl(2), fcntl_locking(2) and flock(2). */
#include "conformance.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

static volatile int never = 0; /* so that a bad constant is no error of the compiler's */
static int file, rdonly, wronly, ends[2];

static int lock(int fd, int cmd, int type, long start, long len)
{
    struct flock l = {.l_type = (short)type, .l_whence = SEEK_SET, .l_start = start, .l_len = len};

    return fcntl(fd, cmd, &l);
}

static int lock_from(int fd, int whence, int type, long start, long len)
{
    struct flock l = {
        .l_type = (short)type, .l_whence = (short)whence, .l_start = start, .l_len = len};

    return fcntl(fd, F_SETLK, &l);
}

/* The first lock that another process would meet in the range, as "type start length". */
static void met_as_child(const char *name, int fd, int type, long start, long len)
{
    int status;

    fflush(stdout);
    if (fork() == 0) {
        struct flock l = {
            .l_type = (short)type, .l_whence = SEEK_SET, .l_start = start, .l_len = len};

        if (fcntl(fd, F_GETLK, &l))
            TEXT(name, "error %s", strerrorname_np(errno));
        else if (l.l_type == F_UNLCK)
            TEXT(name, "none");
        else
            TEXT(name, "%s %ld %ld %s", l.l_type == F_RDLCK ? "shared" : "exclusive",
                 (long)l.l_start, (long)l.l_len, l.l_pid == getppid() ? "parent" : "other");
        _exit(0);
    }
    wait(&status);
}

static void arguments(void)
{
    struct flock l = {.l_type = F_UNLCK, .l_whence = SEEK_SET};

    CASE(lock(99, F_SETLK, F_RDLCK, 0, 1));
    CASE(lock(file, F_SETLK, 99, 0, 1));
    CASE(lock(file, F_GETLK, 99, 0, 1));
    CASE(lock(file, F_GETLK, F_UNLCK, 0, 1));
    CASE(lock(file, F_SETLK, F_RDLCK, -1, 1));
    CASE(lock(file, F_SETLK, F_RDLCK, 5, -6));
    CASE(lock(file, F_SETLK, F_RDLCK, INT64_MAX, 2));
    CASE(lock_from(file, 7, F_RDLCK, 0, 1));
    CASE(lock_from(file, SEEK_CUR, F_RDLCK, -1, 1));
    CASE(lock(rdonly, F_SETLK, F_WRLCK, 0, 1));
    CASE(lock(wronly, F_SETLK, F_RDLCK, 0, 1));
    CASE(lock(rdonly, F_SETLK, F_UNLCK, 0, 1));
    CASE(fcntl(file, F_SETLK, (struct flock *)(8 + (long)never)));
    l.l_pid = 5;
    CASE(fcntl(file, F_OFD_SETLK, &l));
    CASE(flock(99, LOCK_SH));
    CASE(flock(file, 0));
    CASE(flock(file, LOCK_SH | LOCK_EX));
}

static void ranges(void)
{
    CASE(lock(file, F_SETLK, F_WRLCK, 10, 10));
    met_as_child("the lock", file, F_RDLCK, 0, 0);
    met_as_child("before it", file, F_RDLCK, 0, 10);
    met_as_child("its last byte", file, F_RDLCK, 19, 1);
    met_as_child("after it", file, F_WRLCK, 20, 0);
    CASE(lock(file, F_SETLK, F_WRLCK, 20, 10));
    met_as_child("merged", file, F_RDLCK, 0, 0);
    CASE(lock(file, F_SETLK, F_RDLCK, 14, 2));
    met_as_child("split: the first part", file, F_RDLCK, 0, 0);
    met_as_child("split: the middle, shared", file, F_WRLCK, 14, 1);
    met_as_child("split: the middle is shared", file, F_RDLCK, 14, 2);
    met_as_child("split: the last part", file, F_RDLCK, 14, 10);
    CASE(lock(file, F_SETLK, F_UNLCK, 12, 16));
    met_as_child("unlocked: left", file, F_RDLCK, 0, 0);
    met_as_child("unlocked: right", file, F_RDLCK, 12, 0);
    CASE(lock(file, F_SETLK, F_UNLCK, 0, 0));
    met_as_child("all unlocked", file, F_WRLCK, 0, 0);
    CASE(lock(file, F_SETLK, F_WRLCK, 100, 0));
    met_as_child("to the end", file, F_RDLCK, 1L << 40, 1);
    CASE(lock(file, F_SETLK, F_UNLCK, 200, 100));
    met_as_child("with a hole: before", file, F_RDLCK, 0, 0);
    met_as_child("with a hole: after", file, F_RDLCK, 200, 0);
    CASE_AS("unlock again", lock(file, F_SETLK, F_UNLCK, 0, 0));
    ftruncate(file, 1000);
    lseek(file, 500, SEEK_SET);
    CASE(lock_from(file, SEEK_CUR, F_WRLCK, -10, 5));
    met_as_child("SEEK_CUR", file, F_RDLCK, 0, 0);
    CASE(lock_from(file, SEEK_END, F_WRLCK, -10, -5));
    met_as_child("SEEK_END and a negative length", file, F_RDLCK, 900, 0);
    lock(file, F_SETLK, F_UNLCK, 0, 0);
}

static void other_process(void)
{
    int again = open("locks.file", O_RDWR);

    CASE_AS("child: a conflict", lock(file, F_SETLK, F_WRLCK, 5, 1));
    CASE_AS("child: shared too", lock(file, F_SETLK, F_RDLCK, 5, 1));
    CASE_AS("child: beside it", lock(file, F_SETLK, F_WRLCK, 15, 1));
    CASE_AS("child: unlocking what is not its own", lock(file, F_SETLK, F_UNLCK, 0, 0));
    CASE_AS("child: still a conflict", lock(file, F_SETLK, F_WRLCK, 5, 1));
    close(again);
}

static void closing(void)
{
    int again;

    lock(file, F_SETLK, F_RDLCK, 0, 10);
    in_child("a child", other_process);
    met_as_child("before another descriptor is closed", file, F_WRLCK, 0, 0);
    again = open("locks.file", O_RDONLY);
    close(again);
    met_as_child("after it was closed", file, F_WRLCK, 0, 0);
    lock(file, F_SETLK, F_WRLCK, 0, 10);
    again = dup(file);
    dup2(ends[0], again);
    met_as_child("dup2 over a descriptor closes too", file, F_WRLCK, 0, 0);
    close(again);
}

static void child_holds(void)
{
    if (lock(file, F_SETLK, F_WRLCK, 0, 0))
        _exit(1);
}

static void on_alarm(int sig) { (void)sig; }

static void waiting(void)
{
    struct sigaction act = {.sa_handler = on_alarm};
    char c;
    int status;
    pid_t child;

    in_child("a child that ends with a lock", child_holds);
    CASE_AS("which is gone with it", lock(file, F_SETLK, F_WRLCK, 0, 0));
    lock(file, F_SETLK, F_UNLCK, 0, 0);
    fflush(stdout);
    if (fork() == 0) {
        lock(file, F_SETLK, F_WRLCK, 0, 10);
        write(ends[1], "x", 1);
        usleep(100000);
        _exit(0); /* unlocks */
    }
    read(ends[0], &c, 1);
    CASE_AS("another process has it", lock(file, F_SETLK, F_RDLCK, 0, 10));
    CASE_AS("waited for it", lock(file, F_SETLKW, F_RDLCK, 0, 10));
    wait(&status);
    lock(file, F_SETLK, F_UNLCK, 0, 0);
    fflush(stdout);
    child = fork();
    if (child == 0) {
        lock(file, F_SETLK, F_WRLCK, 0, 10);
        write(ends[1], "x", 1);
        sleep(20);
        _exit(0);
    }
    read(ends[0], &c, 1);
    sigaction(SIGALRM, &act, NULL);
    ualarm(50000, 0);
    CASE_AS("a signal ends the wait", lock(file, F_SETLKW, F_RDLCK, 0, 10));
    alarm(CASES_SECONDS);
    kill(child, SIGKILL);
    wait(&status);
}

/* Two processes that wait for each other: one of them is told. */
static void deadlock(void)
{
    char c;
    int status, r, error;

    fflush(stdout);
    lock(file, F_SETLK, F_WRLCK, 0, 1);
    if (fork() == 0) {
        lock(file, F_SETLK, F_WRLCK, 1, 1);
        write(ends[1], "x", 1);
        _exit(lock(file, F_SETLKW, F_WRLCK, 0, 1) ? 1 : 0);
    }
    read(ends[0], &c, 1);
    usleep(100000);
    r = lock(file, F_SETLKW, F_WRLCK, 1, 1);
    error = errno;
    lock(file, F_SETLK, F_UNLCK, 0, 0);
    wait(&status);
    TEXT("a deadlock", "%d %s, the other one exits with %d", r, r ? strerrorname_np(error) : "",
         WEXITSTATUS(status));
}

static void open_files(void)
{
    int other = open("locks.file", O_RDWR), same = dup(file);
    struct flock l = {.l_type = F_RDLCK, .l_whence = SEEK_SET};

    CASE(lock(file, F_OFD_SETLK, F_WRLCK, 0, 10));
    CASE_AS("another open file", lock(other, F_OFD_SETLK, F_RDLCK, 5, 1));
    CASE_AS("the same open file", lock(same, F_OFD_SETLK, F_RDLCK, 5, 1));
    CASE_AS("the process's own lock conflicts", lock(file, F_SETLK, F_WRLCK, 0, 1));
    CASE(fcntl(other, F_OFD_GETLK, &l));
    TEXT("F_OFD_GETLK", "%s %ld %ld pid %d", l.l_type == F_WRLCK ? "exclusive" : "other",
         (long)l.l_start, (long)l.l_len, l.l_pid);
    close(same);
    CASE_AS("closing a duplicate keeps it", lock(other, F_OFD_SETLK, F_WRLCK, 0, 1));
    CASE(lock(wronly, F_OFD_SETLK, F_RDLCK, 20, 1));
    CASE(lock(file, F_OFD_SETLK, F_UNLCK, 0, 0));
    CASE(lock(other, F_OFD_SETLK, F_WRLCK, 0, 0));
    close(other);
    CASE_AS("closing the open file ends it", lock(file, F_SETLK, F_WRLCK, 0, 0));
    lock(file, F_SETLK, F_UNLCK, 0, 0);
}

static void flock_in_child(void)
{
    int own = open("locks.file", O_RDONLY);

    CASE_AS("child: flock by another open file", flock(own, LOCK_EX | LOCK_NB));
    CASE_AS("child: flock shared", flock(own, LOCK_SH | LOCK_NB));
    CASE_AS("child: the inherited open file has the lock", flock(file, LOCK_SH | LOCK_NB));
    CASE_AS("child: and may unlock it", flock(file, LOCK_UN));
}

static void flocks(void)
{
    int other = open("locks.file", O_RDONLY), folder = open(".", O_RDONLY | O_DIRECTORY);

    CASE(flock(file, LOCK_EX));
    CASE(flock(other, LOCK_EX | LOCK_NB));
    CASE(flock(other, LOCK_SH | LOCK_NB));
    CASE_AS("fcntl's locks are apart", lock(file, F_SETLK, F_WRLCK, 0, 0));
    lock(file, F_SETLK, F_UNLCK, 0, 0);
    CASE_AS("to shared", flock(file, LOCK_SH));
    CASE_AS("both shared", flock(other, LOCK_SH | LOCK_NB));
    CASE_AS("to exclusive fails", flock(other, LOCK_EX | LOCK_NB));
    CASE_AS("and has lost the shared one", flock(file, LOCK_EX | LOCK_NB));
    in_child("a child with the open file", flock_in_child);
    CASE_AS("unlocked by the child", flock(other, LOCK_EX | LOCK_NB));
    CASE(flock(folder, LOCK_EX | LOCK_NB));
    close(other);
    CASE_AS("closed by another", flock(file, LOCK_EX | LOCK_NB));
    close(folder);
}

int main(void)
{
    cases_begin();
    file = open("locks.file", O_RDWR | O_CREAT | O_TRUNC, 0644);
    rdonly = open("locks.file", O_RDONLY);
    wronly = open("locks.file", O_WRONLY);
    if (file < 0 || rdonly < 0 || wronly < 0 || pipe(ends))
        return 1;
    arguments();
    ranges();
    closing();
    waiting();
    deadlock();
    open_files();
    flocks();
    unlink("locks.file");
    return 0;
}
