// TAP
/* Processes: fork, exec, wait, posix_spawn, system, vfork, exit statuses, parents and children;
 * damaged ELF files; no leaks. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <grp.h>
#include <megalith/info.h>
#include <pthread.h>
#include <sched.h>
#include <settled.h>
#include <signal.h>
#include <spawn.h>
#include <starlet.h>
#include <sys/fsuid.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <tap.h>

extern char **environ;
static char *self;

static int status_of(pid_t pid)
{
    int status = -1;

    return waitpid(pid, &status, 0) == pid ? status : -1;
}

static void test_fork(void)
{
    volatile int private = 1;
    pid_t pid = fork();

    if (pid == 0) {
        private = 2;
        _exit(getppid() == 1 ? 42 : 43);
    }
    ok(pid > 1, "fork returns the child's pid");
    is(status_of(pid), 42 << 8, "waitpid returns the child's exit status");
    is(private, 1, "the child's store is its own");
    is(waitpid(-1, NULL, WNOHANG), -1, "no other child exists");
    is(errno, ECHILD, "the error is ECHILD");
}

static void test_registers(void)
{
    register double f asm("$f5") = 1.5;
    pid_t pid;

    asm volatile("" : "+f"(f));
    pid = fork();
    asm volatile("" : "+f"(f));
    if (pid == 0)
        _exit(f == 1.5 ? 0 : 1);
    is(status_of(pid), 0, "a child inherits floating-point registers");
    ok(f == 1.5, "the parent keeps its floating-point registers");
}

static void test_wait(void)
{
    siginfo_t info = {0};
    struct rusage usage;
    int status, go[2];
    pid_t a, b;
    char c;

    is(pipe(go), 0, "a pipe is created");
    a = fork();
    if (a == 0) {
        close(go[1]);
        (void)!read(go[0], &c, 1);
        _exit(1);
    }
    close(go[0]);
    is(waitpid(a, &status, WNOHANG), 0, "waitpid with WNOHANG returns 0 while the child runs");
    b = fork();
    if (b == 0)
        _exit(2);
    is(waitpid(b, &status, 0), b, "waitpid waits for the second child");
    is(WEXITSTATUS(status), 2, "its status is returned");
    close(go[1]);
    is(waitid(P_PID, (id_t)a, &info, WEXITED | WNOWAIT), 0,
       "waitid with WNOWAIT leaves the child a zombie");
    is(info.si_pid, a, "waitid returns the pid");
    is(info.si_code, CLD_EXITED, "waitid returns CLD_EXITED");
    is(info.si_status, 1, "waitid returns the status");
    is(wait4(a, &status, 0, &usage), a, "wait4 reaps the child afterwards");
    is(WEXITSTATUS(status), 1, "wait4 returns its status");
    is(waitpid(a, &status, 0), -1, "a child can be reaped only once");
}

static void test_orphan(void)
{
    int p[2];
    char c = 0;
    pid_t middle;

    is(pipe(p), 0, "a pipe is created");
    middle = fork();
    if (middle == 0) {
        if (fork() == 0) {
            close(p[0]);
            while (getppid() != 1) /* for as long as the run may take */
                usleep(1000);
            (void)!write(p[1], "y", 1);
            _exit(0);
        }
        _exit(0);
    }
    close(p[1]);
    status_of(middle);
    is(read(p[0], &c, 1), 1, "a grandchild continues when its parent has ended");
    is(c, 'y', "its parent is process 1");
    is(read(p[0], &c, 1), 0, "it ends by itself");
    close(p[0]);
}

static void test_exec(void)
{
    char *argv[] = {self, "child", "two words", "", NULL}, *env[] = {"A=1", "EMPTY=", NULL};
    pid_t pid = fork();

    if (pid == 0) {
        execve(self, argv, env);
        _exit(99);
    }
    is(status_of(pid), 7 << 8, "execve passes arguments and environment");
    is(execve("/nowhere", argv, env), -1, "execve of a program that does not exist fails");
    is(errno, ENOENT, "the error is ENOENT");
    is(execve("/tmp", argv, env), -1, "execve of a directory fails");
    is(errno, EACCES, "the error is EACCES");
    is(syscall(SYS_execve, self, 8L, env), -1, "execve with arguments that cannot be read fails");
    is(errno, EFAULT, "the error is EFAULT");
}

static void test_big_arguments(void)
{
    static char big[200000];
    char *argv[] = {self, "big", big, NULL}, *few[] = {NULL};
    pid_t pid;

    memset(big, 'x', sizeof(big) - 1);
    pid = fork();
    if (pid == 0) {
        execve(self, argv, few);
        _exit(99);
    }
    is(status_of(pid), 0, "execve passes an argument of 200,000 bytes");
    char *many[] = {self, "big", big, big, NULL};

    is(execve(self, many, few), -1, "execve with two such arguments fails");
    is(errno, E2BIG, "the error is E2BIG");
}

static void test_library(void)
{
    char *argv[] = {self, "exit3", NULL};
    pid_t pid = -1;

    is(posix_spawn(&pid, self, NULL, NULL, argv, environ), 0, "posix_spawn starts a program");
    is(WEXITSTATUS(status_of(pid)), 3, "the spawned program's status is returned");
    is(posix_spawn(&pid, "/nowhere", NULL, NULL, argv, environ), ENOENT,
       "posix_spawn of a program that does not exist fails");
    is(WEXITSTATUS(system("exit 5")), 5, "system returns the exit status of the command");
    is(system(NULL), 1, "system(NULL) reports that there is a shell");
    pid = vfork();
    if (pid == 0)
        _exit(4);
    is(WEXITSTATUS(status_of(pid)), 4, "vfork");
}

/* The parent of a vfork is killed while the child uses its memory. */
static void test_vfork_killed(void)
{
    pid_t parent = fork();

    if (parent == 0) {
        if (vfork() == 0) {
            kill(getppid(), SIGKILL);
            usleep(30000);
            _exit(0);
        }
        _exit(1);
    }
    is(status_of(parent), SIGKILL, "a parent that waits in vfork can be killed");
    usleep(60000);
}

static void try_image(const unsigned char *image, size_t n, const char *what)
{
    char *argv[] = {"/tmp/bad", NULL};
    int fd = open("/tmp/bad", O_CREAT | O_TRUNC | O_WRONLY, 0755);
    pid_t pid;
    int status;

    if (write(fd, image, n) != (ssize_t)n)
        bail_out("cannot write /tmp/bad (fd %d, %zu bytes): %s", fd, n, strerror(errno));
    close(fd);
    pid = fork();
    if (pid == 0) {
        execve("/tmp/bad", argv, environ);
        _exit(errno == ENOEXEC || errno == ENOMEM || errno == EACCES ? 0 : 100);
    }
    status = status_of(pid);
    if (status != 0 && !WIFSIGNALED(status))
        ok(0, "%s: status %#x", what, status);
}

/* Each byte of the headers of a real program is inverted, and the file is truncated at each length
 * within its headers. */
static void test_hostile_elf(void)
{
    static unsigned char image[8192];
    int fd = open("/bin/true", O_RDONLY);
    ssize_t n = read(fd, image, sizeof(image));
    size_t heads = 64 + 56 * 8;

    close(fd);
    ok(n > (ssize_t)heads, "a program to damage is read");
    for (size_t k = 0; k < heads; k++) {
        unsigned char was = image[k];

        image[k] = (unsigned char)~was;
        try_image(image, (size_t)n, "a turned byte");
        image[k] = was;
    }
    for (size_t k = 0; k < heads; k += 7)
        try_image(image, k, "a cut file");
    unlink("/tmp/bad");
    ok(1, "damaged programs are refused or killed, and the system survives");
}

static void churn(int n)
{
    for (int k = 0; k < n; k++) {
        pid_t pid = fork();

        if (pid == 0)
            _exit(0);
        if (pid < 0 || status_of(pid) != 0)
            bail_out("fork %d: %s", k, strerror(errno));
    }
}

static int leave_soon(void *arg)
{
    (void)arg;
    usleep(20000);
    return 5;
}

/* A word in shared memory that the kernel clears, with a futex wake-up, when the child ends. */
static void test_clear_tid(void)
{
    static char stack[16384] __attribute__((aligned(16)));
    static int word = 77;
    pid_t pid = clone(leave_soon, stack + sizeof(stack), CLONE_VM | CLONE_CHILD_CLEARTID | SIGCHLD,
                      NULL, NULL, NULL, &word);

    ok(pid > 0, "a child that shares memory is created");
    while (__atomic_load_n(&word, __ATOMIC_ACQUIRE) == 77)
        syscall(SYS_futex, &word, 0, 77, NULL);
    is(word, 0, "the word is cleared at its end, and the waiter is woken");
    is(status_of(pid), 5 << 8, "the child has ended");
}

static void test_leaks(void)
{
    long before, after;

    churn(300); /* lets the pools allocate what they keep */
    before = settled_pages();
    churn(1000);
    after = settled_pages();
    ok(before > 0 && after >= before, "1000 forks leave no page behind (%ld before, %ld after)",
       before, after);
}

/* ---- groups ---- */

#define GROUPS 32

/* In ascending order; group 500 is the last of one set and the first of the other. */
static gid_t sets[2][GROUPS];
static int changes, enough; /* atomic */

static void *change_groups(void *arg)
{
    /* The system call: the library would stop the other thread to have it make the call too. */
    while (!__atomic_load_n(&enough, __ATOMIC_RELAXED))
        syscall(SYS_setgroups, GROUPS, sets[__atomic_fetch_add(&changes, 1, __ATOMIC_RELAXED) & 1]);
    return arg;
}

static int is_one_set(void)
{
    gid_t has[GROUPS];

    return getgroups(GROUPS, has) == GROUPS &&
           (!memcmp(has, sets[0], sizeof(has)) || !memcmp(has, sets[1], sizeof(has)));
}

/* While one thread changes between two sets of groups, another always has either. */
static void test_groups(void)
{
    int mixed = 0, refused = 0, fd = open("/tmp/group", O_CREAT | O_RDWR, 0600);
    pthread_t other;

    for (unsigned i = 0; i < GROUPS; i++) {
        sets[0][i] = i < GROUPS - 1 ? 1 + i : 500;
        sets[1][i] = 500 + i;
    }
    fchown(fd, 0, 500);
    fchmod(fd, 0040);
    close(fd);
    setgroups(GROUPS, sets[0]);
    setfsuid(1000);
    pthread_create(&other, NULL, change_groups, NULL);
    for (int i = 0; i < 2000 || __atomic_load_n(&changes, __ATOMIC_RELAXED) < 100; i++) {
        mixed += !is_one_set();
        refused += faccessat(AT_FDCWD, "/tmp/group", R_OK, AT_EACCESS) != 0;
    }
    __atomic_store_n(&enough, 1, __ATOMIC_RELAXED);
    pthread_join(other, NULL);
    setfsuid(0);
    setgroups(0, NULL);
    unlink("/tmp/group");
    is(mixed, 0, "getgroups returns the old set or the new one");
    is(refused, 0, "a group that is in both always counts");
}

int main(int argc, char **argv, char **env)
{
    self = argv[0];
    if (argc > 1 && !strcmp(argv[1], "child"))
        _exit(argc == 4 && !strcmp(argv[2], "two words") && !*argv[3] && !strcmp(env[0], "A=1") &&
                      !strcmp(env[1], "EMPTY=") && !env[2]
                  ? 7
                  : 8);
    if (argc > 1 && !strcmp(argv[1], "exit3"))
        exit(3);
    if (argc > 1 && !strcmp(argv[1], "big"))
        _exit(argc == 3 && strlen(argv[2]) == 199999 ? 0 : 1);
    is(getpid(), 1, "the command is process 1");
    is(getppid(), 0, "process 1 has no parent");
    test_fork();
    test_registers();
    test_wait();
    test_orphan();
    test_exec();
    test_big_arguments();
    test_library();
    test_vfork_killed();
    test_clear_tid();
    test_hostile_elf();
    test_groups();
    test_leaks();
    is(syscall(599), -1, "a system call number that does not exist fails");
    is(errno, ENOSYS, "the error is ENOSYS");
    is(syscall(123456), -1, "a system call number that is too large fails");
    is(errno, ENOSYS, "too");
    return tap_done();
}
