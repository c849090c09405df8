// TAP
/*
 * Every pointer argument of POSIX calls gets every kind of bad pointer. The call must return EFAULT
 * even if the address is valid for the kernel. bad_arguments.c does the same for services;
 * hostile.c tries random arguments.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <tap.h>
#include <time.h>

#define PAGE 8192UL
#define MOST 6

/*
 * Kinds of arguments: v a value; r data that the call reads, w data that it writes, s a path; R and
 * W the same, but 0 is valid and means that the argument is absent.
 */
struct call {
    const char *name, *kinds;
    long number;
    unsigned long right[MOST];
};

static char path[] = "/tmp/bad_pointers", other[] = "/tmp/bad_pointers_2", room[1024];
static unsigned long none[4], usr1 = 1UL << (SIGUSR1 - 1), limit[2], cpus = 1;
static struct timespec no_time;
static struct iovec part = {room, 8};
static struct pollfd polled = {-1, 0, 0};
static unsigned long how[3] = {O_RDWR, 0, 0};
static unsigned long at_start;
static unsigned word = 1;
static int fd, folder, ends[2];

#define A(p) ((unsigned long)(p))
#define ROOM A(room)

/* Fills in the arguments that are known only when the files are open. */
#define FD     1000
#define FOLDER 1001
#define READ   1002
#define WRITE  1003

static const struct call calls[] = {
    {"read", "vwv", SYS_read, {FD, ROOM, 8}},
    {"write", "vrv", SYS_write, {FD, ROOM, 8}},
    {"pread", "vwvv", SYS_pread64, {FD, ROOM, 8, 0}},
    {"pwrite", "vrvv", SYS_pwrite64, {FD, ROOM, 8, 0}},
    {"readv", "vrv", SYS_readv, {FD, A(&part), 1}},
    {"writev", "vrv", SYS_writev, {FD, A(&part), 1}},
    {"write to a pipe", "vrv", SYS_write, {WRITE, ROOM, 8}},
    {"read from a pipe", "vwv", SYS_read, {READ, ROOM, 8}},
    {"splice, from a file", "vwvvvv", SYS_splice, {FD, A(&at_start), WRITE, 0, 8, 0}},
    {"splice, to a file", "vvvwvv", SYS_splice, {READ, 0, FD, A(&at_start), 8, 0}},
    {"vmsplice", "vrvv", SYS_vmsplice, {WRITE, A(&part), 1, 0}},
    {"vmsplice, out", "vrvv", SYS_vmsplice, {READ, A(&part), 1, 0}},
    {"ioctl", "vvw", SYS_ioctl, {READ, FIONREAD, ROOM}},
    {"pipe2", "wv", SYS_pipe2, {ROOM, 0}},
    {"open", "svv", SYS_open, {A(path), O_RDWR, 0}},
    {"openat", "vsvv", SYS_openat, {FOLDER, A(path), O_RDWR, 0}},
    {"openat2", "vsrv", 547, {FOLDER, A(path), A(how), 24}},
    {"chroot", "s", SYS_chroot, {A("/")}},
    {"access", "sv", SYS_access, {A(path), F_OK}},
    {"stat", "sw", SYS_stat64, {A(path), ROOM}},
    {"lstat", "sw", SYS_lstat64, {A(path), ROOM}},
    {"fstat", "vw", SYS_fstat64, {FD, ROOM}},
    {"fstatat", "vswv", SYS_fstatat64, {FOLDER, A(path), ROOM, 0}},
    {"truncate", "sv", SYS_truncate, {A(path), 100}},
    {"chmod", "sv", SYS_chmod, {A(path), 0600}},
    {"chown", "svv", SYS_chown, {A(path), 0, 0}},
    {"utimensat", "vsRv", SYS_utimensat, {FOLDER, A(path), A(none), 0}},
    {"link", "ss", SYS_link, {A(path), A(other)}},
    {"unlink", "s", SYS_unlink, {A(other)}},
    {"symlink", "ss", SYS_symlink, {A(path), A(other)}},
    {"readlink", "swv", SYS_readlink, {A(other), ROOM, 100}},
    {"rename", "ss", SYS_rename, {A(other), A(other)}},
    {"unlinkat", "vsv", SYS_unlinkat, {FOLDER, A(other), 0}},
    {"mkdir", "sv", SYS_mkdir, {A(other), 0700}},
    {"chdir", "s", SYS_chdir, {A(other)}},
    {"getcwd", "wv", SYS_getcwd, {ROOM, 100}},
    {"rmdir", "s", SYS_rmdir, {A(other)}},
    {"getdents", "vwv", SYS_getdents64, {FOLDER, ROOM, 1024}},
    {"poll", "rvv", SYS_poll, {A(&polled), 1, 0}},
    {"select", "vRRRR", SYS_select, {1, A(none), A(none), A(none), A(none)}},
    {"uname", "w", SYS_uname, {ROOM}},
    {"sysinfo", "w", SYS_sysinfo, {ROOM}},
    {"times", "W", SYS_times, {ROOM}},
    {"getrusage", "vw", SYS_getrusage, {0, ROOM}},
    {"getrlimit", "vw", SYS_getrlimit, {3, A(limit)}},
    {"setrlimit", "vr", SYS_setrlimit, {3, A(limit)}},
    {"prlimit", "vvRW", SYS_prlimit64, {0, 3, A(limit), ROOM}},
    {"getresuid", "www", SYS_getresuid, {ROOM, ROOM, ROOM}},
    {"getrandom", "wvv", SYS_getrandom, {ROOM, 64, 0}},
    {"getcpu", "WWv", SYS_getcpu, {ROOM, ROOM, 0}},
    {"sched_getaffinity", "vvw", SYS_sched_getaffinity, {0, 8, ROOM}},
    {"sched_setaffinity", "vvr", SYS_sched_setaffinity, {0, 8, A(&cpus)}},
    {"gettimeofday", "WW", SYS_gettimeofday, {ROOM, ROOM}},
    {"clock_gettime", "vw", SYS_clock_gettime, {CLOCK_MONOTONIC, ROOM}},
    {"clock_getres", "vW", SYS_clock_getres, {CLOCK_MONOTONIC, ROOM}},
    {"nanosleep", "rv", SYS_nanosleep, {A(&no_time), 0}},
    {"clock_nanosleep", "vvrv", SYS_clock_nanosleep, {CLOCK_MONOTONIC, 0, A(&no_time), 0}},
    {"getitimer", "vw", SYS_getitimer, {ITIMER_REAL, ROOM}},
    {"setitimer", "vRW", SYS_setitimer, {ITIMER_REAL, A(none), ROOM}},
    {"sigaltstack", "vW", SYS_sigaltstack, {0, ROOM}},
    {"sigaction", "vRWv", SYS_rt_sigaction, {SIGUSR1, A(none), ROOM, 8}},
    {"sigprocmask", "vRWv", SYS_rt_sigprocmask, {SIG_BLOCK, A(&usr1), ROOM, 8}},
    {"sigpending", "wv", SYS_rt_sigpending, {ROOM, 8}},
    {"sigtimedwait", "rvrv", SYS_rt_sigtimedwait, {A(&usr1), 0, A(&no_time), 8}},
    {"execve", "sRR", SYS_execve, {A("/tmp"), 0, 0}},
    {"futex", "rvvvvv", SYS_futex, {A(&word), 0, 0, 0, 0, 0}},
};
#define CALLS (sizeof(calls) / sizeof(calls[0]))

static char *edge, *read_only; /* the page after edge's is not accessible */

static const unsigned long wild[] = {8,
                                     0x1FF8,
                                     0x40000000000,
                                     0x7FFFFFFFFFFFFFF8,
                                     0xFFFFFC0000310000,
                                     0xFFFFFE0000000000,
                                     0xFFFFFFFE00000000,
                                     0xFFFFFFFFFFFFFFF8};
#define WILD (sizeof(wild) / sizeof(wild[0]))

/* The k-th bad pointer for an argument of this kind; 0: there are no more. */
static unsigned long bad(char kind, unsigned k)
{
    if (k < WILD)
        return wild[k];
    if (k == WILD)
        return A(edge) + PAGE;
    if (k == WILD + 1) /* aligned, so valid for a call that takes an int; too short for others */
        return A(edge) + PAGE - (kind == 's' ? 2 : 0);
    return k == WILD + 2 && strchr("wW", kind) ? A(read_only) : 0;
}

static long result(const struct call *c, const unsigned long *a)
{
    unsigned long x[MOST];
    long r;

    for (unsigned i = 0; i < MOST; i++)
        x[i] = a[i] == FD       ? (unsigned long)fd
               : a[i] == FOLDER ? (unsigned long)folder
               : a[i] == READ   ? (unsigned long)ends[0]
               : a[i] == WRITE  ? (unsigned long)ends[1]
                                : a[i];
    errno = 0;
    r = syscall(c->number, x[0], x[1], x[2], x[3], x[4], x[5]);
    return r == -1 && errno ? -errno : r;
}

static void try_call(const struct call *c)
{
    unsigned tried = 0, wrong = 0;
    unsigned long a[MOST], p;

    for (unsigned i = 0; c->kinds[i]; i++)
        for (unsigned k = 0; c->kinds[i] != 'v' && (p = bad(c->kinds[i], k)) != 0; k++) {
            memcpy(a, c->right, sizeof(a));
            a[i] = p;
            tried++;
            if (result(c, a) != -EFAULT && ++wrong < 4)
                diag("%s: argument %u, %#lx: %ld", c->name, i, p, result(c, a));
        }
    ok(tried >= WILD && wrong == 0, "%s: EFAULT for %u bad pointers (%u other results)", c->name,
       tried, wrong);
}

/* Copy n bytes between the file's byte `at` and the end of the page `edge` but `gap` bytes, where
 * the next page cannot be accessed. Are they the same then, and the bytes around as before? */
static bool copied(bool out, char *mapped, unsigned at, unsigned gap, unsigned n)
{
    char *mine = edge + PAGE - gap - n, *from = out ? mapped + at : mine;
    char *to = out ? mine : mapped + at;

    for (unsigned i = 0; i < n; i++)
        from[i] = (char)(i * 7 + n + gap);
    to[-1] = 'b';
    if (!out || gap)
        to[n] = 'a';
    if ((out ? pread(fd, mine, n, at) : pwrite(fd, mine, n, at)) != n || memcmp(from, to, n) != 0)
        return false;
    return to[-1] == 'b' && ((out && !gap) || to[n] == 'a');
}

/* A copy neither fails because of the memory behind a buffer nor changes it. */
static void try_ends(void)
{
    char *mapped = mmap(0, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    unsigned wrong[2] = {0, 0};

    if (mapped == MAP_FAILED || ftruncate(fd, PAGE) != 0)
        bail_out("a mapped file");
    for (unsigned at = 8; at < 16; at++)
        for (unsigned gap = 0; gap < 8; gap++)
            for (unsigned n = 0; n < 600; n += n == 149 ? 90 : 1) {
                wrong[0] += !copied(false, mapped, at, gap, n);
                wrong[1] += !copied(true, mapped, at, gap, n);
            }
    is(wrong[0], 0, "copies from memory up to the end of a page, every alignment and length");
    is(wrong[1], 0, "copies to it");
    munmap(mapped, PAGE);
    memset(edge, 'x', PAGE);
}

/* A path of n bytes that ends, with its NUL, `gap` bytes before the end of the page. Is the file
 * found by it, and without its NUL none, because the memory behind it cannot be read? */
static bool path_copied(unsigned gap, unsigned n)
{
    char *mine = edge + PAGE - gap - n - 1;
    unsigned name = sizeof(path) - 1 - strlen("/tmp");

    memset(edge, 'x', PAGE);
    memset(mine, '/', n);
    memcpy(mine, "/tmp", strlen("/tmp"));
    memcpy(mine + n - name, path + strlen("/tmp"), name);
    mine[n] = '\0';
    if (access(mine, F_OK) != 0)
        return false;
    memset(mine + n, 'x', gap + 1);
    return access(mine, F_OK) == -1 && errno == EFAULT;
}

/* Lengths on both sides of that up to which paths are kept on the stack. */
static void try_paths(void)
{
    unsigned wrong = 0;

    for (unsigned gap = 0; gap < 16; gap++)
        for (unsigned n = sizeof(path) - 1; n < 120; n++)
            wrong += !path_copied(gap, n);
    is(wrong, 0, "paths up to the end of a page, every alignment, many lengths");
    memset(edge, 'x', PAGE);
}

int main(void)
{
    edge = mmap(0, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(edge, 'x', PAGE);
    mprotect(edge + PAGE, PAGE, PROT_NONE);
    read_only = mmap(0, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    folder = open("/tmp", O_RDONLY);
    if (fd < 0 || folder < 0 || pipe(ends) != 0)
        bail_out("files");
    try_ends();
    try_paths();
    for (unsigned i = 0; i < CALLS; i++) {
        const struct call *c = &calls[i];
        long r;

        if (c->number == SYS_read) /* so that there is something to read */
            ok(pwrite(fd, room, 1024, 0) == 1024 && lseek(fd, 0, SEEK_SET) == 0,
               "a file with contents is open");
        if (c->right[0] == READ && c->number == SYS_ioctl)
            ok(write(ends[1], room, 8) == 8, "a pipe has contents");
        try_call(c);
        r = result(c, c->right);
        ok(r >= 0 || r == -EACCES || r == -EAGAIN, "%s: a valid pointer is not EFAULT (%ld)",
           c->name, r);
    }
    close(fd);
    unlink(path);
    return tap_done();
}
