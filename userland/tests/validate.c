// TAP
// KERNEL: test
// RUN: -m 256M
// RUN: --reserve 'HINTED 16 /ALLOCATE /ZERO /PAGE_TABLES' --reserve 'PROMISED 8 /NOALLOCATE'
// SECONDS: 120
/*
 * The kernel's self-check. It must find no error in a consistent system, also while processes fork,
 * exec, wait for pipes, map sections and die. It must find each error that is planted. Several
 * processes may call it at once. It requires a privilege.
 */
#define _GNU_SOURCE
#include <descrip.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <pty.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <tap.h>
#include <test_kernel.h>
#include <time.h>
#include <unistd.h>
#include <vadef.h>

#define PAGE    8192ul
#define MIB     0x100000ul
#define WORKERS 6
#define RW      (PROT_READ | PROT_WRITE)

static const char *self_path;

static void nap_ms(long ms) { nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL); }

static long now_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * 1000L + ts.tv_nsec / 1000000;
}

/* Run the check, print its errors, and return their number. */
static uint64_t errors_now(struct mega_validate *m)
{
    int status = mega$info(MEGA_INFO_VALIDATE, 0, m, sizeof(*m));

    if (status != SS$_NORMAL || m->timed_out)
        diag("status %s, %s", mega$condition_text(status), m->text);
    if (m->errors)
        diag("%s", m->text);
    return status == SS$_NORMAL && !m->timed_out ? m->errors : UINT64_MAX;
}

static uint64_t sum_of(const struct mega_validate *m)
{
    uint64_t sum = 0;

    for (int i = 0; i < MEGA_PAGES_KINDS; i++)
        sum += m->pages[i];
    return sum;
}

static int map_section(const char *name, uint64_t bytes, bool shared, void **va)
{
    struct dsc64$descriptor d = {1,  DSC64$K_DTYPE_T, DSC64$K_CLASS_S,
                                 -1, strlen(name),    (char *)name};
    struct _generic_64 id;
    uint64_t length;
    int status = sys$create_region_64(bytes, VA$C_REGION_UCREATE_UOWN, shared ? VA$M_SHARED_PTS : 0,
                                      &id, va, &length);

    if (!(status & 1))
        return status;
    return sys$crmpsc_gdzro_64(&d, NULL, 0, bytes, &id, 0, 3,
                               SEC$M_SYSGBL | SEC$M_EXPREG | SEC$M_WRT | SEC$M_DZRO | SEC$M_GBL, va,
                               &length, NULL, 0);
}

/* ---- planted errors ---- */

static void planted(void)
{
    static const struct {
        const char *what, *said;
    } plants[] = {
        {"a lost page", "is lost"},
        {"a doubled page", "is counted twice"},
        {"a wrong share count", "shares"},
        {"a wrong hint", "wrong hints"},
        {"a wrong count of PTEs", "its count says"},
        {"a wrong owner", "it is private"},
        {"a wrong state", "state 0"},
        {"a wrong fluid count", "the fluid count is"},
        {"a wrong list count", "not as long as its count says"},
        {"a wrong count of references", "refs"},
        {"a PTE with too much access", "says more than its entry"},
        {"a page at another offset", "offset"},
        {"a demand-zero PTE of user space", "is demand zero, which nothing makes there"},
        {"a PTE with a page-file slot", "has a slot that is not there"},
        {"a PTE in transition", "is in transition, which nothing makes there"},
        {"a private page with a reference too many", "is mapped by 1 PTEs"},
        {"a map entry with a page too many in its object", "or other pages"},
        {"a table without marks of its PTEs", "has PTEs in groups"},
    };
    struct mega_validate m;
    volatile char *memory = mmap(NULL, 8 * PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    volatile char *shared = mmap(NULL, 8 * PAGE, RW, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    void *va;
    int i;

    memory[0] = 1;
    shared[0] = 1; /* memory with an object */
    memory[PAGE * 2] = 1;
    volatile char *fresh = mmap(NULL, 8 * PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    fresh[0] = 1; /* private memory, with a free PTE after it */
    is_status(map_section("HINTED", 16 * MIB, true, &va), SS$_CREATED_SHPT,
              "a section with hints is created and mapped");
    for (i = 0; i < (int)(sizeof(plants) / sizeof(plants[0])); i++) {
        int status = mega$info(MEGA_INFO_TEST_PLANT, i, &m, sizeof(m));

        if (!ok(status == SS$_NORMAL && m.errors > 0 && strstr(m.text, plants[i].said),
                "%s is found", plants[i].what))
            diag("%s, %lu errors: %s", mega$condition_text(status), (unsigned long)m.errors,
                 m.text);
    }
    is_status(mega$info(MEGA_INFO_TEST_PLANT, i, &m, sizeof(m)), SS$_NONEXPR,
              "there is no other planted error");
    is(errors_now(&m), 0, "all planted errors were undone");
    is_status(mega$info(MEGA_INFO_VALIDATE, 1, &m, sizeof(m)), SS$_NONEXPR,
              "there is only one check");
}

/* ---- a busy system ---- */

static void worker(int kind)
{
    int fd[2];

    for (;;) {
        volatile char *p = mmap(NULL, 64 * PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        pid_t pid;
        void *va;

        for (int i = 0; i < 64; i += 3)
            p[i * PAGE] = 1;
        pid = fork();
        if (pid == 0) {
            if (kind % 3 == 0) {
                execl(self_path, self_path, "nothing", (char *)NULL);
                _exit(1);
            }
            if (kind % 3 == 1 && pipe(fd) == 0) {
                if (fork() == 0) {
                    nap_ms(2);
                    if (write(fd[1], "x", 1) != 1)
                        _exit(1);
                    _exit(0);
                }
                if (read(fd[0], &fd[1], 1) != 1)
                    _exit(1);
            }
            if (kind % 3 == 2) {
                map_section(kind == 2 ? "BUSY" : "PROMISED", 8 * MIB, kind & 1, &va);
                for (int i = 0; i < 64; i++)
                    p[i * PAGE] = 2;
            }
            _exit(0);
        }
        waitpid(pid, NULL, 0);
        munmap((void *)p, 64 * PAGE);
    }
}

static void busy(void)
{
    pid_t pids[WORKERS];
    struct mega_validate m;
    long end = now_ms() + 1500, worst = 0;
    uint64_t spaces = 0, pipes = 0, mappings = 0;
    int runs = 0, good = 0;

    for (int i = 0; i < WORKERS; i++)
        if ((pids[i] = fork()) == 0)
            worker(i);
    while (now_ms() < end) {
        long before = now_ms();

        runs++;
        good += errors_now(&m) == 0 && sum_of(&m) == m.total;
        worst = now_ms() - before > worst ? now_ms() - before : worst;
        spaces = m.spaces > spaces ? m.spaces : spaces;
        pipes += m.pages[MEGA_PAGES_PIPE];
        mappings += m.mappings;
        nap_ms(20);
    }
    is(good, runs, "every check of a busy system counts every page once");
    ok(spaces > WORKERS + 1 && pipes > 0 && mappings > 1,
       "the checks have met processes in all states");
    ok(worst < 10000, "each check took less than %ld ms", worst + 1);
    diag("%d checks, the longest took %ld ms", runs, worst);
    for (int i = 0; i < WORKERS; i++)
        kill(pids[i], SIGKILL);
    while (wait(NULL) > 0)
        ;
    is(errors_now(&m), 0, "there is no error after the processes were killed");
}

static void *stay(void *arg)
{
    for (;;)
        pause();
    return arg;
}

static void exec_among_threads(void)
{
    pthread_t t;

    for (int i = 0; i < 6; i++)
        pthread_create(&t, NULL, stay, NULL);
    execl(self_path, self_path, "worker", NULL);
    _exit(1);
}

/* Several checks at once, each of which waits for its turn. */
static void at_once(void)
{
    int failed = 0, status;

    for (int i = 0; i < 4; i++)
        if (fork() == 0) {
            struct mega_validate m;
            uint64_t errors = 0;

            for (int n = 0; n < 5; n++)
                errors |= errors_now(&m);
            _exit(errors != 0);
        }
    while (wait(&status) > 0)
        failed += status != 0;
    is(failed, 0, "four processes can check at the same time");
}

/* A check while one process waits in sendfile for room in a pipe, and others replace programs with
 * several threads: what such calls hold is counted too. */
static void in_calls(void)
{
    struct mega_validate m;
    int ends[2], n = 0, failed = 0, status;
    FILE *f = fopen("/tmp/long", "w+");
    pid_t sender, caller;

    ftruncate(fileno(f), 32 * PAGE);
    if (pipe(ends))
        bail_out("no pipe");
    sender = fork();
    if (sender == 0)
        _exit(sendfile(ends[1], fileno(f), NULL, 32 * PAGE) < 0);
    for (int i = 0; i < 1000 && n < (int)(8 * PAGE); i++, nap_ms(2))
        ioctl(ends[0], FIONREAD, &n);
    is(n, 8 * PAGE, "a process waits in sendfile, with a full pipe");
    is(errors_now(&m), 0, "there is no error meanwhile");
    kill(sender, SIGKILL);
    waitpid(sender, &status, 0);
    fclose(f);
    unlink("/tmp/long");
    close(ends[0]);
    close(ends[1]);
    caller = fork();
    if (caller == 0)
        for (;;) {
            pid_t pid = fork();

            if (pid == 0)
                exec_among_threads();
            waitpid(pid, NULL, 0);
        }
    for (int i = 0; i < 30; i++, nap_ms(3))
        failed += errors_now(&m) != 0;
    is(failed, 0, "nor while processes with several threads replace their programs");
    kill(caller, SIGKILL);
    waitpid(caller, &status, 0);
}

/* What a child does while the system is checked. */
static void populate(void *word)
{
    (void)word;
    for (;;)
        munmap(mmap(NULL, 96 * MIB, RW, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0),
               96 * MIB);
}

static void wait_for_word(void *word)
{
    for (;;)
        syscall(SYS_futex, word, FUTEX_WAIT, 0, NULL, NULL, 0);
}

/* The second of two writers to the master of a terminal that nobody reads: the first has its turn,
 * for ever. */
static void write_master(void *arg)
{
    static char text[20000];
    int master, slave;

    (void)arg;
    if (openpty(&master, &slave, NULL, NULL, NULL) != 0)
        _exit(1);
    if (fork() == 0)
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;)
        write(master, text, sizeof(text));
}

/* A file without a name, with pages. */
static int nameless(void)
{
    int fd = open("/tmp/nameless", O_RDWR | O_CREAT, 0600);

    unlink("/tmp/nameless");
    for (int i = 0; i < 4; i++)
        pwrite(fd, "x", 1, (off_t)(i * 3 * PAGE));
    return fd;
}

/* Of a file without a name and of a pipe with a byte in it, a message that nobody has received has
 * the only descriptors. */
static void send_away(void *arg)
{
    char space[CMSG_SPACE(3 * sizeof(int))] = {0};
    struct iovec byte = {"x", 1};
    struct msghdr message = {
        .msg_iov = &byte, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof(space)};
    struct cmsghdr *c = CMSG_FIRSTHDR(&message);
    int socket[2], sent[3] = {nameless()};

    (void)arg;
    if (pipe(sent + 1) || write(sent[2], "x", 1) != 1 ||
        socketpair(AF_UNIX, SOCK_STREAM, 0, socket))
        _exit(1);
    *c = (struct cmsghdr){CMSG_LEN(sizeof(sent)), SOL_SOCKET, SCM_RIGHTS};
    memcpy(CMSG_DATA(c), sent, sizeof(sent));
    if (sendmsg(socket[0], &message, 0) != 1)
        _exit(1);
    for (int i = 0; i < 3; i++)
        close(sent[i]);
    for (;;)
        pause();
}

/* Children that end with an instance of inotify whose watches take some time, which is closed
 * before a file without a name. */
static void end_slowly(void *arg)
{
    char name[32];

    (void)arg;
    mkdir("/tmp/watched", 0700);
    for (int i = 0; i < 400; i++) {
        snprintf(name, sizeof(name), "/tmp/watched/%d", i);
        close(open(name, O_CREAT | O_WRONLY, 0600));
    }
    for (;;) {
        pid_t pid = fork();

        if (pid == 0) {
            int in = inotify_init();

            nameless();
            for (int i = 0; i < 400; i++) {
                snprintf(name, sizeof(name), "/tmp/watched/%d", i);
                inotify_add_watch(in, name, IN_ALL_EVENTS);
            }
            _exit(0);
        }
        waitpid(pid, NULL, 0);
    }
}

/* Thirty checks while a child is in such a call. */
static void beside(void (*call)(void *), void *word, const char *what)
{
    struct mega_validate m;
    int failed = 0, status;
    pid_t child = fork();

    if (child == 0)
        call(word);
    for (int i = 0; i < 30; i++, nap_ms(3))
        failed += errors_now(&m) != 0;
    is(failed, 0, "there is no error while a process %s", what);
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    is(errors_now(&m), 0, "nor after its end");
}

/* A wait that only another program ends: no lock that the check needs may be held in it. */
static void turns(void) { beside(write_master, NULL, "writes to a terminal that nobody reads"); }

/* References that only the thread in a call has, at a point where it may be stopped. */
static void references(void)
{
    void *shared = mmap(NULL, PAGE, RW, MAP_SHARED | MAP_ANONYMOUS, -1, 0), *section;

    beside(populate, NULL, "maps and populates shared memory");
    beside(wait_for_word, shared, "waits for a word of shared memory");
    is_status(map_section("HINTED", 16 * MIB, true, &section), SS$_NORMAL, "a section is mapped");
    beside(wait_for_word, section, "waits for a word of a memory-resident section");
    beside(send_away, NULL, "has sent the last descriptors of a file and a pipe");
    beside(end_slowly, NULL, "has children that end with many watches");
}

static void refused(void)
{
    int status;

    if (fork() == 0) {
        struct mega_validate m;

        if (setuid(1000))
            _exit(2);
        _exit(mega$info(MEGA_INFO_VALIDATE, 0, &m, sizeof(m)) != SS$_NOPRIV ||
              mega$info(MEGA_INFO_TEST_PLANT, 0, &m, sizeof(m)) != SS$_NOPRIV);
    }
    wait(&status);
    is(status, 0, "the check requires a privilege");
}

int main(int argc, char **argv)
{
    struct mega_validate m;

    self_path = argv[0];
    if (argc > 1) /* the program that workers exec */
        return 0;
    if (!is_test_kernel())
        bail_out(NEEDS_TEST_KERNEL);
    is(errors_now(&m), 0, "a system that has just started is consistent");
    is(sum_of(&m), m.total, "every page is counted");
    planted();
    busy();
    at_once();
    in_calls();
    references();
    turns();
    refused();
    return tap_done();
}
