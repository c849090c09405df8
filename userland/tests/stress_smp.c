// TAP
// SECONDS: 150
/*
 * Memory and processes under stress on all CPUs: workers fork, exec and wait, fill pipes, map,
 * protect and unmap, copy on write, share anonymous memory, and map and unmap sections through
 * shared page tables, while others end or are killed at any time. Every word that is written
 * identifies its writer and its place, and is checked later. At the end nothing has leaked.
 *
 * `stress_smp SEED SECONDS WORKERS` repeats a run or makes it longer.
 */
#define _GNU_SOURCE
#include <company.h>
#include <descrip.h>
#include <megalith/info.h>
#include <sched.h>
#include <settled.h>
#include <signal.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <tap.h>
#include <time.h>
#include <vadef.h>

#define PAGE          8192ul
#define WORKERS_MAX   16
#define SECTION_PAGES 2048ul /* mapped by two shared level-3 pages */
#define RW            (PROT_READ | PROT_WRITE)
/* Objects that forks created for this process's memory and that are not merged yet. */
#define POOL_NOISE 1024
#define FREE_NOISE 8 /* pages that this process touches for the first time at the end */

static uint64_t state;
static long end_ms;
static const char *self_path;

static uint64_t draw(uint64_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (state >> 11) % below;
}

static long now_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * 1000L + ts.tv_nsec / 1000000;
}

static void nap_us(long us) { nanosleep(&(struct timespec){0, us * 1000}, NULL); }

static void die(const char *why, uint64_t got, uint64_t want)
{
    diag("%s: got %#lx, want %#lx (pid %d)", why, (unsigned long)got, (unsigned long)want,
         getpid());
    _exit(9);
}

static void equal(const char *why, uint64_t got, uint64_t want)
{
    if (got != want)
        die(why, got, want);
}

static void *map(uint64_t pages, int flags)
{
    void *p = mmap(NULL, pages * PAGE, RW, flags | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED)
        die("mmap", (uint64_t)errno, 0);
    return p;
}

static void must_end(pid_t pid, int want)
{
    int status;

    while (waitpid(pid, &status, 0) != pid) {
        if (errno != EINTR)
            die("waitpid", (uint64_t)errno, 0);
    }
    equal("status of a child", (uint64_t)status, (uint64_t)want);
}

/* The value of word w of a page that `who` writes. */
static uint64_t mark(uint64_t who, uint64_t page, uint64_t w)
{
    return who << 32 ^ page << 12 ^ w ^ 0x5AA5000000000000;
}

static void fill(uint64_t *p, uint64_t who, uint64_t page)
{
    for (uint64_t w = 0; w < PAGE / 8; w += 31)
        p[w] = mark(who, page, w);
}

static void check(const char *why, const uint64_t *p, uint64_t who, uint64_t page)
{
    for (uint64_t w = 0; w < PAGE / 8; w += 31)
        equal(why, p[w], mark(who, page, w));
}

static void check_zero(const char *why, const uint64_t *p)
{
    for (uint64_t w = 0; w < PAGE / 8; w++)
        equal(why, p[w], 0);
}

/* ---- what the workers do ---- */

/* Private memory: generations of copies. Each changes some pages, and must find all others
 * unchanged. */
static void copies(void)
{
    uint64_t n = 1 + draw(40), me = draw(1u << 20), owner[40];
    char *m = map(n, MAP_PRIVATE);
    unsigned depth = 0, deepest = 1 + (unsigned)draw(5);
    pid_t child = 0;

    for (uint64_t i = 0; i < n; i++) {
        owner[i] = me;
        fill((uint64_t *)(m + i * PAGE), me, i);
    }
    for (; depth < deepest; depth++) {
        child = must_fork();
        if (child == 0)
            me++;
        state += 77 * depth + (child != 0);
        for (uint64_t i = 0; i < n; i++) {
            check("a page after fork", (uint64_t *)(m + i * PAGE), owner[i], i);
            if (draw(3) == 0) {
                owner[i] = me + 100 * (depth + 1);
                fill((uint64_t *)(m + i * PAGE), owner[i], i);
            }
        }
        if (child != 0)
            break;
    }
    if (draw(2))
        sched_yield();
    for (uint64_t i = 0; i < n; i++)
        check("a page of a copy", (uint64_t *)(m + i * PAGE), owner[i], i);
    if (child)
        must_end(child, 0);
    for (uint64_t i = 0; i < n; i++)
        check("a page when the copies are gone", (uint64_t *)(m + i * PAGE), owner[i], i);
    if (depth)
        _exit(0);
    munmap(m, n * PAGE);
}

/* Mappings, holes and protections. Memory that is mapped again must be zero. */
static void maps(void)
{
    uint64_t n = 16 + draw(48), who = draw(1u << 20);
    bool there[64] = {false}, readonly[64] = {false};
    char *m = map(n, MAP_PRIVATE);

    for (unsigned round = 0; round < 30; round++) {
        uint64_t i = draw(n), k = 1 + draw(n - i);
        char *at = m + i * PAGE;

        switch (draw(4)) {
        case 0:
            if (munmap(at, k * PAGE) != 0 ||
                mmap(at, k * PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != at)
                die("munmap and mmap", (uint64_t)errno, 0);
            for (uint64_t j = i; j < i + k; j++)
                there[j] = readonly[j] = false;
            break;
        case 1:
            if (mprotect(at, k * PAGE, PROT_READ) != 0)
                die("mprotect", (uint64_t)errno, 0);
            for (uint64_t j = i; j < i + k; j++)
                readonly[j] = true;
            break;
        case 2:
            if (mprotect(at, k * PAGE, RW) != 0)
                die("mprotect", (uint64_t)errno, 0);
            for (uint64_t j = i; j < i + k; j++)
                readonly[j] = false;
            break;
        default:
            for (uint64_t j = i; j < i + k; j++) {
                if (readonly[j])
                    continue;
                fill((uint64_t *)(m + j * PAGE), who, j);
                there[j] = true;
            }
        }
        for (uint64_t j = 0; j < n; j += 1 + draw(4)) {
            if (there[j])
                check("a mapped page", (uint64_t *)(m + j * PAGE), who, j);
            else
                check_zero("a fresh page", (uint64_t *)(m + j * PAGE));
        }
    }
    munmap(m, n * PAGE);
}

/* Shared anonymous memory: children increment the same words, and each has pages of its own. */
static void shared(void)
{
    uint64_t n = 2 + draw(6), pages = 1 + 4 * n;
    char *m = map(pages, MAP_SHARED);
    pid_t pid[8];

    for (uint64_t k = 0; k < n; k++) {
        pid[k] = must_fork();
        if (pid[k] == 0) {
            for (uint64_t i = 0; i < 4; i++) {
                fill((uint64_t *)(m + (1 + 4 * k + i) * PAGE), k, i);
                for (unsigned j = 0; j < 50; j++)
                    __atomic_fetch_add((uint64_t *)m + j, 1, __ATOMIC_RELAXED);
            }
            _exit(0);
        }
    }
    for (uint64_t k = 0; k < n; k++)
        must_end(pid[k], 0);
    for (unsigned j = 0; j < 50; j++)
        equal("a shared counter", ((uint64_t *)m)[j], 4 * n);
    for (uint64_t k = 0; k < n; k++) {
        for (uint64_t i = 0; i < 4; i++)
            check("a shared page", (uint64_t *)(m + (1 + 4 * k + i) * PAGE), k, i);
    }
    munmap(m, pages * PAGE);
}

/* A new program, which gets its task by its arguments, checks its memory, and sends a result. */
static void execute(void)
{
    char number[24];
    pid_t pid;
    int p[2];
    uint64_t back = 0, want = draw(1u << 30);

    if (pipe(p) != 0)
        die("pipe", (uint64_t)errno, 0);
    snprintf(number, sizeof(number), "%lu", (unsigned long)want);
    pid = draw(2) ? must_fork() : vfork();
    if (pid == 0) {
        char *const argv[] = {(char *)self_path, "--child", number, NULL};
        char *const envp[] = {NULL};

        dup2(p[1], 30);
        execve(self_path, argv, envp);
        _exit(8);
    }
    close(p[1]);
    equal("bytes from the program", (uint64_t)read(p[0], &back, 8), 8);
    equal("the program's answer", back, want * 3);
    close(p[0]);
    must_end(pid, 7 << 8);
}

static int program(uint64_t number)
{
    uint64_t answer = number * 3;
    char *m = map(8, MAP_PRIVATE);

    for (uint64_t i = 0; i < 8; i++) {
        check_zero("a new program's memory", (uint64_t *)(m + i * PAGE));
        fill((uint64_t *)(m + i * PAGE), number, i);
    }
    if (write(30, &answer, 8) != 8)
        return 6;
    for (uint64_t i = 0; i < 8; i++)
        check("a new program's page", (uint64_t *)(m + i * PAGE), number, i);
    return 7;
}

static void through_pipe(void)
{
    unsigned char buf[6000];
    uint64_t total = 1 + draw(120000), seen = 0, sent = 0;
    pid_t pid;
    int p[2];

    if (pipe(p) != 0)
        die("pipe", (uint64_t)errno, 0);
    pid = must_fork();
    if (pid == 0) {
        close(p[0]);
        while (sent < total) {
            size_t n = 1 + draw(sizeof(buf));
            ssize_t w;

            n = n < total - sent ? n : total - sent;
            for (size_t i = 0; i < n; i++)
                buf[i] = (unsigned char)((sent + i) * 13 + ((sent + i) >> 8));
            w = write(p[1], buf, n);
            if (w <= 0 && errno != EINTR)
                _exit(3);
            sent += w > 0 ? (uint64_t)w : 0;
        }
        _exit(0);
    }
    close(p[1]);
    state += 3;
    for (;;) {
        ssize_t r = read(p[0], buf, 1 + draw(sizeof(buf)));

        if (r < 0 && errno == EINTR)
            continue;
        if (r <= 0)
            break;
        for (ssize_t i = 0; i < r; i++, seen++)
            equal("a byte from a pipe", buf[i], (unsigned char)(seen * 13 + (seen >> 8)));
    }
    equal("bytes from a pipe", seen, total);
    close(p[0]);
    must_end(pid, 0);
}

static void name_of(struct dsc$descriptor_s *d, char text[16], uint64_t k)
{
    *d = (struct dsc$descriptor_s){
        (unsigned short)snprintf(text, 16, "STRESS%lu", (unsigned long)k), DSC$K_DTYPE_T,
        DSC$K_CLASS_S, text};
}

/* Page i of section k has the same contents for all processes. */
static void touch_section(uint64_t *p, uint64_t k, uint64_t i)
{
    uint64_t want = mark(1000 + k, i, 0), seen = __atomic_load_n(&p[5], __ATOMIC_RELAXED);

    if (seen != 0)
        equal("a word of a section", seen, want);
    __atomic_store_n(&p[5], want, __ATOMIC_RELAXED);
    __atomic_fetch_add(&p[6], 1, __ATOMIC_RELAXED);
    equal("a word of a section, again", __atomic_load_n(&p[5], __ATOMIC_RELAXED), want);
}

/* Sections that any worker creates, maps in a region with shared page tables or without, and
 * deletes. A section may have lost its name and still exist in mappings; its contents must be
 * right. */
static void sections(void)
{
    struct _generic_64 region = {.gen64$q_quadword = VA$C_P0};
    uint64_t k = draw(3), length = 0, region_length, offset, n;
    struct dsc$descriptor_s name;
    bool tables = draw(3) != 0;
    void *va = NULL, *base;
    char text[16];
    int status;

    name_of(&name, text, k);
    status = sys$create_gdzro(&name, 0, 0, SECTION_PAGES * PAGE, 0, SEC$M_SYSGBL);
    if (!(status & 1) && status != SS$_DUPLNAM)
        die("sys$create_gdzro", (uint64_t)status, SS$_CREATED);
    if (tables) {
        status = sys$create_region_64(4 * SECTION_PAGES * PAGE, VA$C_REGION_UCREATE_UOWN,
                                      VA$M_SHARED_PTS, &region, &base, &region_length);
        if (!(status & 1))
            die("sys$create_region_64", (uint64_t)status, SS$_NORMAL);
    }
    offset = tables ? 0 : PAGE * draw(64);
    n = SECTION_PAGES - offset / PAGE;
    status = sys$mgblsc_64(&name, 0, &region, offset, n * PAGE, 3,
                           SEC$M_EXPREG | SEC$M_SYSGBL | SEC$M_WRT, &va, &length);
    if (!(status & 1) && status != SS$_NOSUCHSEC)
        die("sys$mgblsc_64", (uint64_t)status, SS$_NORMAL);
    if (status & 1) {
        pid_t pid = draw(2) ? must_fork() : -1;

        state += pid == 0;
        for (unsigned j = 0; j < 40; j++) {
            uint64_t i = draw(n);

            touch_section((uint64_t *)((char *)va + i * PAGE), k, i + offset / PAGE);
        }
        if (pid == 0 && draw(2))
            kill(getpid(), SIGKILL);
        if (pid == 0)
            _exit(0);
        if (draw(2)) {
            status = sys$deltva_64(&region, va, length, 3, &va, &length);
            if (!(status & 1))
                die("sys$deltva_64", (uint64_t)status, SS$_NORMAL);
        }
        if (pid > 0)
            waitpid(pid, NULL, 0);
    }
    if (draw(4) == 0)
        sys$dgblsc(SEC$M_SYSGBL, &name, 0);
    if (tables) {
        status = sys$delete_region_64(&region, 3, &va, &length);
        if (!(status & 1))
            die("sys$delete_region_64", (uint64_t)status, SS$_NORMAL);
    } else if (status & 1) {
        sys$deltva_64(&region, va, length, 3, &va, &length);
    }
}

static volatile sig_atomic_t handled;
static void on_signal(int sig)
{
    (void)sig;
    handled = handled + 1;
}

/* Signals during accesses and system calls: all registers and words must be preserved. */
static void signals(void)
{
    uint64_t who = draw(1u << 20), n = 8;
    char *m = map(n, MAP_PRIVATE);
    pid_t parent = getpid(), pid;

    handled = 0;
    pid = must_fork();
    if (pid == 0) {
        for (unsigned j = 0; j < 40; j++) {
            kill(parent, SIGUSR1);
            if (j % 4 == 0)
                sched_yield();
        }
        _exit(0);
    }
    for (unsigned round = 0; round < 10; round++) {
        for (uint64_t i = 0; i < n; i++)
            fill((uint64_t *)(m + i * PAGE), who + round, i);
        getppid();
        for (uint64_t i = 0; i < n; i++)
            check("a page between signals", (uint64_t *)(m + i * PAGE), who + round, i);
    }
    must_end(pid, 0);
    if (handled == 0)
        die("signals handled", 0, 40);
    munmap(m, n * PAGE);
}

/* A child is stopped, continued, and finally killed. */
static void stop_and_go(void)
{
    pid_t pid = must_fork();
    int status;

    if (pid == 0) {
        char *m = map(4, MAP_PRIVATE);

        for (uint64_t k = 0;; k++) {
            fill((uint64_t *)(m + k % 4 * PAGE), k, k % 4);
            check("a page between stops", (uint64_t *)(m + k % 4 * PAGE), k, k % 4);
        }
    }
    for (unsigned j = 0; j < 3; j++) {
        kill(pid, SIGSTOP);
        if (waitpid(pid, &status, WUNTRACED) != pid || !WIFSTOPPED(status))
            die("stop", (uint64_t)status, 0x117F);
        kill(pid, SIGCONT);
    }
    if (draw(2))
        kill(pid, SIGSTOP);
    kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) == pid && !WIFSIGNALED(status))
        ;
    equal("end of a stopped process", (uint64_t)status, SIGKILL);
}

static void (*const works[])(void) = {copies,   maps,     shared,  execute,    through_pipe,
                                      sections, sections, signals, stop_and_go};

static void any_work(void) { works[draw(sizeof(works) / sizeof(works[0]))](); }

/* Children with any task, each killed at any moment together with its descendants (its group). */
static void killing(void)
{
    pid_t pid[4];
    int status;

    for (unsigned k = 0; k < 4; k++) {
        pid[k] = must_fork();
        if (pid[k] == 0) {
            setpgid(0, 0);
            state += 1000 * k + 1;
            for (;;)
                any_work();
        }
    }
    nap_us((long)draw(30000));
    for (unsigned k = 0; k < 4; k++) {
        kill(-pid[k], SIGKILL);
        kill(pid[k], SIGKILL);
    }
    for (unsigned k = 0; k < 4; k++) {
        if (waitpid(pid[k], &status, 0) != pid[k])
            die("waitpid of a killed child", (uint64_t)errno, 0);
        if (WIFEXITED(status))
            die("a child to be killed", (uint64_t)status, SIGKILL);
    }
    for (unsigned k = 0; k < 4;
         k++) /* also kills a process that was being forked when the group was killed */
        kill(-pid[k], SIGKILL);
}

static void work(uint64_t seed, unsigned k)
{
    state = (seed * 1000003 + k) * 0x9E3779B97F4A7C15 | 1;
    signal(SIGUSR1, on_signal);
    while (now_ms() < end_ms) {
        if (draw(6) == 0)
            killing();
        else
            any_work();
    }
    _exit(0);
}

/* ---- the parent ---- */

struct totals {
    uint64_t free, pt_pages, promised, nonpaged, paged, sections, processes;
};

static struct totals totals(void)
{
    struct totals t = {0};
    struct mega_memory m = {0};
    struct mega_pool pool = {0};
    struct mega_section s;
    struct mega_process p;

    mega$info(MEGA_INFO_POOL, 0, &pool, sizeof(pool));
    t.nonpaged = pool.in_use;
    mega$info(MEGA_INFO_POOL, 1, &pool, sizeof(pool));
    t.paged = pool.in_use;
    while (mega$info(MEGA_INFO_SECTION, (int64_t)t.sections, &s, sizeof(s)) == SS$_NORMAL)
        t.sections++;
    while (mega$info(MEGA_INFO_PROCESS, (int64_t)t.processes, &p, sizeof(p)) == SS$_NORMAL)
        t.processes++;
    mega$info(MEGA_INFO_MEMORY, 0, &m, sizeof(m));
    t.pt_pages = m.pt_pages;
    t.promised = m.promised_unused;
    return t;
}

static struct totals settled(void)
{
    struct dsc$descriptor_s name;
    char text[16];

    for (unsigned i = 0; i < 300 && totals().processes > 1; i++)
        nap_us(10000); /* waits for orphans that were killed */
    for (uint64_t k = 0; k < 3; k++) {
        name_of(&name, text, k);
        sys$dgblsc(SEC$M_SYSGBL, &name, 0);
    }
    long free = settled_pages();
    struct totals t = totals();

    t.free = (uint64_t)free;
    return t;
}

/* Measured by another process, because fork changes how the memory of this one is stored. */
static int round_of(uint64_t seed, unsigned workers, long ms)
{
    pid_t conductor = must_fork();
    int status = -1, bad = 0;

    if (conductor) {
        waitpid(conductor, &status, 0);
        return status;
    }
    end_ms = now_ms() + ms;
    for (unsigned k = 0; k < workers; k++) {
        if (must_fork() == 0)
            work(seed, k);
    }
    for (unsigned k = 0; k < workers; k++) {
        if (wait(&status) < 0 || status != 0)
            bad = 1;
    }
    _exit(bad);
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoul(argv[1], NULL, 0) : 1;
    long seconds = argc > 2 ? atol(argv[2]) : 2;
    unsigned workers = argc > 3 ? (unsigned)atoi(argv[3]) : 6;
    struct totals before = {0}, after;

    self_path = argv[0];
    if (argc > 2 && strcmp(argv[1], "--child") == 0)
        return program(strtoul(argv[2], NULL, 10));
    if (workers > WORKERS_MAX)
        workers = WORKERS_MAX;
    diag("seed %lu, %ld s, %u workers", (unsigned long)seed, seconds, workers);
    round_of(seed + 77, workers, 500); /* allocates what is allocated only once */
    if (!in_company())
        before = settled();
    is(round_of(seed, workers, seconds * 1000), 0, "all workers find what they wrote");
    if (in_company())
        return tap_done();
    after = settled();
    is(after.processes, before.processes, "as many processes exist as before");
    is(after.sections, before.sections, "as many sections exist as before");
    is(after.pt_pages, before.pt_pages, "as many page-table pages are in use as before");
    is(after.promised, before.promised, "as many pages are promised as before");
    ok(after.nonpaged <= before.nonpaged + POOL_NOISE,
       "nonpaged pool in use: %lu bytes before, %lu afterwards", before.nonpaged, after.nonpaged);
    is(after.paged, before.paged, "as much paged pool is in use as before");
    ok(after.free + FREE_NOISE >= before.free, "free pages: %lu before, %lu afterwards",
       before.free, after.free);
    return tap_done();
}
