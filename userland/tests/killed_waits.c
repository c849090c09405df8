// TAP
// RUN: --smp 1 --icount -m 1G
// RUN: --smp 2 -m 1G --reserve 'HELD 384 /ALLOCATE /NOZERO /PAGE_TABLES'
// RUN: --smp 4 -m 1G --reserve 'HELD 384 /ALLOCATE /NOZERO /PAGE_TABLES'
// SECONDS: 120
/*
 * A process that is killed while it waits for a mutex ends at once, although the holder keeps the
 * mutex for long: a file's, an address space's, that of a pipe whose writer or a socket whose
 * reader waits for its memory, that of the sections while one is created. Who polls the pipe or
 * uses an instance of epoll does not wait at all.
 *
 * Each holder makes one call again and again that keeps its mutex for tens of millions of
 * instructions, and counts the calls. A victim is killed during one of them; if its wait could not
 * be ended, it would be reaped in a later one. So it has to be reaped while the count stays the
 * same. Between two calls the mutex is free, and the host may stop the processes at any point: what
 * did not succeed is tried again.
 */
#define _GNU_SOURCE
#include <company.h>
#include <descrip.h>
#include <fcntl.h>
#include <megalith/info.h>
#include <poll.h>
#include <sched.h>
#include <secdef.h>
#include <signal.h>
#include <starlet.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <tap.h>
#include <vadef.h>

#define PAGE      8192ul
#define RW        (PROT_READ | PROT_WRITE)
#define VAST      (1ul << 33)
#define HELD_MAPS 300 /* times that the holder maps a file, so that each step of its call is long */
#define SPAN      (8ul << 20) /* what a page of page tables maps */
#define SPARSE    (1ul << 36) /* with a page in each SPAN: an mprotect looks at 8 million PTEs */
#define RESERVED  (384ul << 20)
#define TRIES     20

static struct shared {
    uint32_t steps;         /* of the victim: calls begun, and ended */
    uint32_t calls;         /* of the holder: begun, and ended */
    uint32_t writes;        /* to the pipe, likewise */
    uint32_t receives;      /* from the socket */
    uint32_t collects;      /* from the instance of epoll */
    uint32_t ready, finish; /* the family is, and is to */
    bool kept;              /* its part of the test */
} *shared;
static char *fresh; /* memory without pages */
static int held = -1;
static int ends[2], sockets[2];
static int instance; /* of epoll */
static pid_t holder;

static uint32_t load(const uint32_t *count) { return __atomic_load_n(count, __ATOMIC_ACQUIRE); }
static void count(uint32_t *n) { __atomic_fetch_add(n, 1, __ATOMIC_RELEASE); }

static void *map(uint64_t bytes, int flags)
{
    void *p = mmap(NULL, bytes, RW, flags | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (p == MAP_FAILED)
        bail_out("no memory");
    return p;
}

static void await_count(const uint32_t *n, uint32_t want)
{
    for (unsigned tries = 0; load(n) < want; tries++) {
        if (tries == 20000)
            bail_out("a process is not ready");
        usleep(1000);
    }
    usleep(2000);
}

static bool end(pid_t pid)
{
    int status = 0;

    return kill(pid, SIGKILL) == 0 && waitpid(pid, &status, 0) == pid && WIFSIGNALED(status);
}

static void __attribute__((noreturn)) repeat(void (*const *fn)(void))
{
    for (;;) {
        count(&shared->steps);
        (*fn)();
        count(&shared->steps);
    }
}

static pid_t start(void (*const *fn)(void))
{
    pid_t pid = must_fork();

    if (pid == 0)
        repeat(fn);
    return pid;
}

typedef pid_t start_fn(void (*const *fn)(void));

/* Does the victim stay in its call? */
static bool waits(void)
{
    uint32_t step;

    await_count(&shared->steps, 1);
    step = load(&shared->steps);
    usleep(2000);
    return step % 2 == 1 && load(&shared->steps) == step;
}

/* Kill a process that makes the call *fn again and again. True: it was in it and has ended, and the
 * holder, as `calls` counts, has stayed in one and the same call. */
static bool kill_waiter(void (*const *fn)(void), start_fn *starts, const uint32_t *calls)
{
    pid_t victim;
    uint32_t before;
    bool wait;

    for (unsigned tries = 0; load(calls) % 2 == 0 && tries < 5000; tries++)
        usleep(1000);
    __atomic_store_n(&shared->steps, 0, __ATOMIC_RELEASE);
    victim = starts(fn);
    wait = waits();
    before = load(calls);
    wait &= end(victim);
    usleep(2000); /* a call whose end has woken the victim is counted by now */
    return wait && before % 2 == 1 && load(calls) == before;
}

/* Each of the calls in turn. */
static bool try_waits(void (*const *fns)(void), start_fn *starts, const uint32_t *calls)
{
    bool kept = true;

    await_count(calls, 1);
    for (; *fns && kept; fns++) {
        kept = false;
        for (unsigned i = 0; i < TRIES && !kept; i++)
            kept = kill_waiter(fns, starts, calls);
    }
    return kept;
}

/* The opposite: processes that make each of the calls again and again get on while the holder stays
 * in one and the same call. */
static bool all_get_on(void (*const *fns)(void), const uint32_t *calls)
{
    bool on = true;

    await_count(calls, 1);
    for (; *fns && on; fns++) {
        pid_t pid;

        __atomic_store_n(&shared->steps, 0, __ATOMIC_RELEASE);
        pid = start(fns);
        await_count(&shared->steps, 1);
        on = false;
        for (unsigned i = 0; i < TRIES && !on; i++) {
            uint32_t before = load(calls), step = load(&shared->steps);

            while (load(calls) == before && load(&shared->steps) <= step + 2)
                usleep(500);
            on = before % 2 == 1 && load(calls) == before;
        }
        end(pid);
    }
    return on;
}

/* ---- a file ---- */

/* There are no pages to clear, but each hole takes some hundred million instructions. */
static void hold_file(void)
{
    for (unsigned i = 0; i < HELD_MAPS; i++)
        if (mmap(NULL, VAST, RW, MAP_SHARED | MAP_NORESERVE, held, 0) == MAP_FAILED)
            _exit(1);
    for (;;) {
        if (ftruncate(held, VAST)) /* again, as a victim may have cut it off */
            _exit(1);
        count(&shared->calls);
        fallocate(held, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, VAST);
        count(&shared->calls);
    }
}
static void wait_read(void) { pread(held, fresh, PAGE, 0); }
static void wait_write(void) { pwrite(held, fresh, PAGE, 0); }
static void wait_position(void) { lseek(held, 0, SEEK_END); }
static void wait_truncate(void) { ftruncate(held, PAGE); }
static void wait_allocate(void) { fallocate(held, 0, 0, PAGE); }

static void file(void)
{
    static void (*const waits[])(void) = {wait_read,     wait_write,    wait_position,
                                          wait_truncate, wait_allocate, NULL};

    held = open("/tmp/held", O_RDWR | O_CREAT | O_TRUNC, 0600);
    holder = must_fork();
    if (holder == 0)
        hold_file();
    ok(try_waits(waits, start, &shared->calls),
       "who waits for the mutex of a file is killed while its holder keeps it");
    ok(end(holder), "and so is the holder");
    close(held);
    unlink("/tmp/held");
}

/* ---- an address space; a pipe, a socket, an instance of epoll whose user waits for it ---- */

static char *sparse;

/* Change the protection of memory in which there is a page for each table. */
static int __attribute__((noreturn)) hold_space(void *arg)
{
    (void)arg;
    for (int prot = PROT_READ;; prot ^= PROT_WRITE) {
        count(&shared->calls);
        mprotect(sparse, SPARSE, prot);
        count(&shared->calls);
    }
}

/* Each byte comes from a page that is not there yet. */
static int __attribute__((noreturn)) write_fresh(void *arg)
{
    (void)arg;
    for (char *p = fresh + SPAN;; p += PAGE) {
        count(&shared->writes);
        write(ends[1], p, 1);
        count(&shared->writes);
    }
}

/* So does this need one for each look at a byte that stays where it is, */
static int __attribute__((noreturn)) receive_fresh(void *arg)
{
    (void)arg;
    for (char *p = fresh + VAST / 4;; p += PAGE) {
        count(&shared->receives);
        recv(sockets[1], p, 1, MSG_PEEK);
        count(&shared->receives);
    }
}

/* and for each report that the pipe takes bytes. */
static int __attribute__((noreturn)) collect_fresh(void *arg)
{
    (void)arg;
    for (char *p = fresh + VAST / 4 * 3;; p += PAGE) {
        count(&shared->collects);
        epoll_wait(instance, (struct epoll_event *)p, 1, -1);
        count(&shared->collects);
    }
}

static int __attribute__((noreturn)) repeat_shared(void *arg) { repeat(arg); }

/* Processes that share the address space of the one that starts them. */
static pid_t sharer(int (*fn)(void *), void *arg)
{
    static char stacks[5][2 * PAGE] __attribute__((aligned(16)));
    static unsigned next;
    pid_t pid = clone(fn, stacks[next] + sizeof(stacks[next]), CLONE_VM | SIGCHLD, arg);

    next = next < 4 ? next + 1 : 4; /* there is one victim at a time */
    if (pid < 0)
        _exit(1);
    return pid;
}
static pid_t start_sharer(void (*const *fn)(void)) { return sharer(repeat_shared, (void *)fn); }

static void use_memory(void)
{
    static uint64_t at = VAST / 2;

    fresh[at] = 1;
    at += PAGE;
}
static void map_memory(void) { munmap(map(PAGE, MAP_PRIVATE), PAGE); }
static void forget_memory(void) { madvise(fresh, PAGE, MADV_DONTNEED); }
static void lock_memory(void) { mlock(fresh, PAGE); }
static void look_at_memory(void)
{
    unsigned char there;

    mincore(fresh, PAGE, &there);
}

/* A process whose address space is kept by one that shares it; another that shares it writes to the
   pipe. */
static void family(void)
{
    static void (*const waits[])(void) = {use_memory,     map_memory,  forget_memory,
                                          look_at_memory, lock_memory, NULL};
    pid_t keeper, writer, receiver, collector;

    sparse = map(SPARSE, MAP_PRIVATE);
    for (uint64_t at = 0; at < SPARSE; at += SPAN)
        sparse[at] = 1;
    keeper = sharer(hold_space, NULL);
    writer = sharer(write_fresh, NULL);
    receiver = sharer(receive_fresh, NULL);
    collector = sharer(collect_fresh, NULL);
    shared->kept = try_waits(waits, start_sharer, &shared->calls);
    count(&shared->ready);
    while (!load(&shared->finish))
        usleep(1000);
    _exit(!end(keeper) || !end(writer) || !end(receiver) || !end(collector));
}

static char maps[40];
static void read_maps(void)
{
    char text[4096];
    int fd = open(maps, O_RDONLY);

    while (read(fd, text, sizeof(text)) > 0)
        ;
    close(fd);
}
static void read_pipe(void)
{
    char c;

    read(ends[0], &c, 1);
}
static void write_pipe(void) { write(ends[1], "x", 1); }
static void poll_pipe(void)
{
    struct pollfd p = {ends[1], POLLOUT, 0};

    poll(&p, 1, 1);
}
static void ask_pipe(void)
{
    int n;

    ioctl(ends[0], FIONREAD, &n);
}

static void read_socket(void)
{
    char c;

    recv(sockets[1], &c, 1, MSG_PEEK);
}
static void ask_instance(void)
{
    struct epoll_event e;

    epoll_wait(instance, &e, 1, 0);
}
static void change_instance(void)
{
    struct epoll_event e = {.events = EPOLLOUT};

    epoll_ctl(instance, EPOLL_CTL_MOD, ends[1], &e);
}
/* The end of a file that an instance watches. */
static void end_watched(void)
{
    struct epoll_event e = {.events = EPOLLIN};
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

    epoll_ctl(instance, EPOLL_CTL_ADD, fd, &e);
    close(fd);
}

static void make_files(void)
{
    struct epoll_event e = {.events = EPOLLOUT};

    if (pipe(ends) || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) ||
        write(sockets[0], "x", 1) != 1)
        bail_out("no pipe or sockets");
    instance = epoll_create1(0);
    if (instance < 0 || epoll_ctl(instance, EPOLL_CTL_ADD, ends[1], &e))
        bail_out("no instance of epoll");
}

static void space(void)
{
    static void (*const readers[])(void) = {read_maps, NULL};
    static void (*const users[])(void) = {read_pipe, write_pipe, ask_pipe, NULL};
    static void (*const receivers[])(void) = {read_socket, NULL};
    static void (*const lookers[])(void) = {poll_pipe, NULL};
    static void (*const others[])(void) = {ask_instance, change_instance, end_watched, NULL};
    pid_t pid;
    int status;

    make_files();
    __atomic_store_n(&shared->calls, 0, __ATOMIC_RELAXED);
    pid = must_fork();
    if (pid == 0)
        family();
    await_count(&shared->ready, 1);
    ok(shared->kept, "who waits for its address space is killed while another keeps it");
    snprintf(maps, sizeof(maps), "/proc/%d/maps", pid);
    ok(try_waits(readers, start, &shared->calls), "and so is a reader of /proc/PID/maps");
    ok(try_waits(users, start, &shared->writes),
       "who waits for a pipe is killed while a writer that has it waits for its memory");
    ok(all_get_on(lookers, &shared->writes), "who polls the pipe does not wait");
    ok(try_waits(receivers, start, &shared->receives),
       "who waits to read a socket is killed likewise");
    ok(all_get_on(others, &shared->collects),
       "who uses an instance of epoll, or closes what it watches, does not wait for a collector");
    count(&shared->finish);
    ok(waitpid(pid, &status, 0) == pid && status == 0, "and so are the holders");
}

/* ---- sections ---- */

static bool map_section(const char *section, uint64_t bytes)
{
    static struct _generic_64 region;
    struct dsc64$descriptor d = {1,  DSC64$K_DTYPE_T, DSC64$K_CLASS_S,
                                 -1, strlen(section), (char *)section};
    uint64_t length;
    void *va;
    int status;

    sys$create_region_64(bytes, VA$C_REGION_UCREATE_UOWN, VA$M_SHARED_PTS, &region, &va, &length);
    count(&shared->calls);
    status = sys$crmpsc_gdzro_64(&d, NULL, 0, bytes, &region, 0, 3,
                                 SEC$M_SYSGBL | SEC$M_EXPREG | SEC$M_WRT, &va, &length);
    count(&shared->calls);
    if (status & 1)
        memset(va, 1, length); /* its pages have to be zeroed again */
    sys$delete_region_64(&region, 3, &va, &length);
    return status & 1;
}
static void __attribute__((noreturn)) hold_sections(void)
{
    while (map_section("HELD", RESERVED))
        ;
    _exit(1);
}
static void find_section(void)
{
    static struct mega_section s;

    mega$info(MEGA_INFO_SECTION, 0, &s, sizeof(s));
}

static void sections(void)
{
    static void (*const waits[])(void) = {find_section, NULL};
    pid_t pid;

    __atomic_store_n(&shared->calls, 0, __ATOMIC_RELAXED);
    pid = must_fork();
    if (pid == 0)
        hold_sections();
    ok(try_waits(waits, start, &shared->calls),
       "who waits for the sections is killed while one is created");
    ok(end(pid), "and so is its creator");
}

int main(void)
{
    shared = map(PAGE, MAP_SHARED);
    fresh = map(VAST, MAP_PRIVATE);
    file();
    space();
    if (mega$info(MEGA_INFO_CPU, 1, &(struct mega_cpu){0}, sizeof(struct mega_cpu)) & 1)
        sections(); /* on one CPU a victim hardly ever runs while one is created */
    return tap_done();
}
