// TAP
// SECONDS: 120
/* Nothing that a program passes to a system call may stop the kernel: every call gets wild
 * pointers, lengths and numbers. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <tap.h>

#define PAGE      8192L
#define FIRST_VMS 0x1000
#define LAST_VMS  0x1900

static char *edge; /* the page after this one is not mapped */
static unsigned long state;

static unsigned long next(void)
{
    state = state * 6364136223846793005UL + 1442695040888963407UL;
    return state >> 16;
}

static const unsigned long wild[] = {
    0,
    1,
    2,
    3,
    7,
    8,
    0x1fff,
    0x2000,
    0x10000,
    0x7fffffff,
    0x80000000,
    0xffffffff,
    0x100000000,
    0x3ffffffffff,
    0x40000000000,
    0x3fffffffff8,
    0x7fffffffffffffff,
    0x8000000000000000,
    0xffffffffffffffff,
    0xfffffffffffffff8,
    0xfffffc0000000000,
    0xfffffc0000310000,
    0xfffffd01fc0003f8,
    0xfffffe0000000000,
    0xfffffffe00000000,
    0xffffffffffffe000,
    0xffffffffffffff9c,
};

static unsigned long argument(void)
{
    unsigned long r = next();

    switch (r % 8) {
    case 0:
        return (unsigned long)edge + PAGE - r / 8 % 64;
    case 1:
        return (unsigned long)edge + r / 8 % PAGE;
    case 2:
        return r / 8 % 70;
    case 3:
        return next() << 16 ^ next();
    case 4:
        return (unsigned long)"/tmp/hostile";
    default:
        return wild[r / 8 % (sizeof(wild) / sizeof(*wild))];
    }
}

/* Calls that would end, stop or mislead the test itself. */
static int left_out(long number)
{
    switch (number) {
    case SYS_exit:
    case SYS_exit_group:
    case SYS_kill:
    case SYS_tkill:
    case SYS_tgkill:
    case SYS_ptrace:
    case SYS_process_vm_writev:
    case SYS_fork:
    case SYS_vfork:
    case SYS_clone:
    case SYS_rt_sigsuspend:
    case SYS_sigreturn:
    case SYS_rt_sigreturn:
    case SYS_setuid:
    case SYS_setreuid:
    case SYS_setresuid:
        return 1;
    default:
        return number >= 0x1800; /* mega$info can crash the kernel on purpose */
    }
}

/* The calling process ends if its next call blocks. */
static void end_if_it_blocks(void)
{
    const struct itimerval soon = {.it_value = {.tv_usec = 200000}};

    setitimer(ITIMER_REAL, &soon, NULL);
}

/* One child: wild calls until its alarm expires, or until it is killed as a result of one. */
static void child(unsigned long seed, long first, long last)
{
    state = seed;
    signal(SIGALRM, SIG_DFL);
    close(1);
    close(2);
    for (int k = 0; k < 4000; k++) {
        long number = first + (long)(next() % (unsigned long)(last - first));

        end_if_it_blocks();
        if (!left_out(number))
            syscall(number, argument(), argument(), argument(), argument(), argument(), argument());
    }
    _exit(0);
}

static void storm(const char *what, long first, long last, unsigned rounds)
{
    for (unsigned k = 0; k < rounds; k++) {
        unsigned long seed = 1000 * (unsigned long)first + k;
        pid_t pid = fork();
        int status;

        if (pid == 0)
            child(seed, first, last);
        if (pid < 0 || waitpid(pid, &status, 0) != pid)
            bail_out("%s, seed %lu", what, seed);
        if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
            diag("%s, seed %lu: killed", what, seed);
    }
    ok(1, "%s: the system survives %u times 4000 wild calls", what, rounds);
}

/* Each call with each wild value in each of the first arguments. */
static void sweep(void)
{
    pid_t pid;
    int status;

    for (long number = 0; number < 560; number++) {
        if (left_out(number))
            continue;
        pid = fork();
        if (pid == 0) {
            close(1);
            close(2);
            for (unsigned k = 0; k < sizeof(wild) / sizeof(*wild); k++) {
                end_if_it_blocks();
                syscall(number, wild[k], wild[k], wild[k], wild[k], wild[k], wild[k]);
                syscall(number, 0L, wild[k], 16L, 0L, 0L, 0L);
                syscall(number, "/tmp/hostile", wild[k], wild[k], 0L, 0L, 0L);
            }
            _exit(0);
        }
        if (waitpid(pid, &status, 0) != pid)
            bail_out("call %ld", number);
    }
    ok(1, "the system survives every call number with every wild value");
}

static void test_pointers(void)
{
    int fd = open("/tmp/hostile", O_RDWR | O_CREAT | O_TRUNC, 0600), p[2];
    static char text[PAGE];

    is(write(fd, (void *)0xfffffc0000310000, 100), -1,
       "a write from the kernel's memory is refused");
    is(errno, EFAULT, "(EFAULT)");
    is(write(fd, text, 5000), 5000, "5000 bytes are written");
    is(lseek(fd, 0, SEEK_SET), 0, "lseek goes to the start");
    is(read(fd, (void *)0xfffffc0000310000, 100), -1, "a read into the kernel's memory is refused");
    is(errno, EFAULT, "(EFAULT)");
    is(read(fd, edge + PAGE - 100, 200), -1,
       "a buffer that extends into an unmapped page is refused");
    is(errno, EFAULT, "(EFAULT)");
    is(syscall(SYS_write, fd, text, -1L), -1, "a length of -1 is refused");
    is(syscall(SYS_write, fd, 0x3fffffff000, 0x2000L), -1,
       "a buffer that extends past the end of the address space is refused");
    is(syscall(SYS_pipe2, 0xfffffc0000310000, 0L), -1,
       "pipe2 with a result in the kernel's memory is refused");
    is(pipe(p), 0, "a pipe is created");
    is(p[0], fd + 1, "the refused pipe2 has left no descriptor open");
    is(write(p[1], edge + PAGE - 10, 20), -1,
       "a write of a half readable buffer to a pipe is refused");
    is(syscall(SYS_stat64, "/tmp", (char *)text + 1), 0,
       "an odd address for the result of stat is accepted");
    is(syscall(SYS_open, edge + PAGE - 4, 0L, 0L), -1, "a path at the end of a page is refused");
    memset(edge + PAGE - 4, 'a', 4);
    is(syscall(SYS_open, edge + PAGE - 4, 0L, 0L), -1,
       "a path that does not end before an unmapped page is EFAULT");
    is(errno, EFAULT, "(EFAULT)");
    memset(text, 'a', sizeof(text));
    is(syscall(SYS_open, text, 0L, 0L), -1, "a path of 8192 characters is refused");
    is(errno, ENAMETOOLONG, "(ENAMETOOLONG)");
    close(fd);
    close(p[0]);
    close(p[1]);
}

int main(void)
{
    edge = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(edge + PAGE, PAGE);
    test_pointers();
    sweep();
    storm("POSIX", 0, 600, 20);
    storm("services", FIRST_VMS, LAST_VMS, 20);
    storm("no numbers", -100, 100000, 5);
    unlink("/tmp/hostile");
    return tap_done();
}
