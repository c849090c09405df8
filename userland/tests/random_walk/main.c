/*
 * random_walk [--seconds N | --rounds N] [--seed S] [--processes N]
 *
 * Process 1 counts pages, starts a master, waits until the master and all its descendants have
 * ended, and counts again: every page that the walk used must have been freed. The master keeps N
 * walkers alive. With --rounds each walker slot performs that many operations, one slot after the
 * other, and for the same seed the digests printed at the end are the same.
 */
#include "walk.h"

#include <company.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#define LIFE_OPS     400 /* maximum number of operations in a walker's life */
#define WARM_UP_OPS  60
#define SETTLE_TRIES 2000

struct shared *all;
struct walker self;
const char *self_path;

static bool in_earnest; /* the warm-up walk is over */

static struct {
    uint64_t seconds, rounds, seed, processes;
} options = {.seconds = 20, .seed = 1, .processes = 8};

/* ---- common functions ---- */

uint64_t draw(uint64_t below)
{
    self.state ^= self.state << 13;
    self.state ^= self.state >> 7;
    self.state ^= self.state << 17;
    return (self.state >> 11) % below;
}

long now_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * 1000L + ts.tv_nsec / 1000000;
}

void nap_us(long us) { nanosleep(&(struct timespec){us / 1000000, us % 1000000 * 1000}, NULL); }

void wrong(const char *fmt, ...)
{
    char text[sizeof(all->failure)];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (!__atomic_exchange_n(&all->stop, 1, __ATOMIC_ACQ_REL))
        strcpy(all->failure, text);
    diag("slot %u, life %lu%s: %s", self.slot, (unsigned long)self.generation,
         self.child ? ", a child" : "", text);
    _exit(FAILED);
}

void note(uint64_t op, uint64_t status)
{
    uint64_t *d = &all->digest[self.slot];

    *d = (*d ^ (op << 32 | (status & 0xFFFFFFFF))) * 0x100000001B3ul;
    __atomic_fetch_add(&all->ops, 1, __ATOMIC_RELAXED);
}

void made(enum made what) { __atomic_fetch_add(&all->made[what], 1, __ATOMIC_RELAXED); }

bool expected(const char *service, int status, const int *allowed)
{
    if (status & 1)
        return true;
    while (*allowed && *allowed != status)
        allowed++;
    if (!*allowed)
        wrong("%s returns %s", service, mega$condition_text(status));
    __atomic_fetch_add(&all->refused, 1, __ATOMIC_RELAXED);
    return false;
}

/* ---- walkers ---- */

static const struct {
    void (*fn)(void);
    unsigned weight;
} ops[] = {
    {op_create_region, 8},
    {op_delete_region, 4},
    {op_region_info, 2},
    {op_create_section, 6},
    {op_create_and_map, 8},
    {op_map_section, 12},
    {op_delete_section, 3},
    {op_delete_va, 10},
    {op_create_va, 8},
    {op_expand_region, 4},
    {op_protect, 6},
    {op_lock, 6},
    {op_mmap, 10},
    {op_munmap, 8},
    {op_mprotect, 5},
    {op_forget, 3},
    {op_brk, 3},
    {op_touch, 24},
    {op_information, 2},
    {op_fork, 6},
    {op_exec, 1},
    {op_kill, 2},
    {op_end, 1},
    {op_pipe, 2},
    {op_file, 3},
    {op_free_reservation, 1},
    {op_check, 1},
    {op_driver, 3},
    {op_create_frames, 2},
    {op_map_frames, 4},
    {op_delete_frames, 1},
    {op_logical, 3},
};

static void step(void)
{
    unsigned sum = 0;
    uint64_t at;

    for (unsigned i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
        sum += ops[i].weight;
    at = draw(sum);
    for (unsigned i = 0;; at -= ops[i++].weight)
        if (at < ops[i].weight) {
            ops[i].fn();
            return;
        }
}

static bool over(void)
{
    return __atomic_load_n(&all->stop, __ATOMIC_RELAXED) ||
           (all->end_ms && (uint64_t)now_ms() >= all->end_ms);
}

/* Perform one operation; with turns, when it is this walker's turn. The last operation keeps the
 * turn until the process has ended, so that no other walker acts while its address space is
 * freed. */
static void operation(bool last)
{
    if (all->turns)
        while (__atomic_load_n(&all->turn, __ATOMIC_ACQUIRE) != self.slot)
            sched_yield();
    step();
    if (all->turns && !last)
        __atomic_store_n(&all->turn, TURN_MASTER, __ATOMIC_RELEASE);
}

static __attribute__((noreturn)) void walker(unsigned slot, uint64_t generation, uint64_t nops)
{
    mega$service_hook = NULL; /* printing takes host time, which would make runs differ */
    self.slot = slot;
    self.generation = generation;
    self.state = (options.seed + 1) * 0x9E3779B97F4A7C15ul ^ (slot + 1) << 20 ^ generation << 40;
    self.next_tag = generation << 8 & 0x7F00;
    for (unsigned i = 0; i < 8; i++)
        draw(2);
    while (nops-- > 0 && !over())
        operation(nops == 0);
    _exit(0);
}

static void look_at_walker(int status)
{
    if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL && WTERMSIG(status) != SIGBUS)
        wrong("a walker was ended by signal %d", WTERMSIG(status));
}

/* Give the turn to a slot, and wait until the slot returns it or its walker has ended. */
static void give_turn(unsigned slot)
{
    int status;

    __atomic_store_n(&all->turn, slot, __ATOMIC_RELEASE);
    while (__atomic_load_n(&all->turn, __ATOMIC_ACQUIRE) != TURN_MASTER) {
        if (waitpid(all->pids[slot], &status, WNOHANG) == all->pids[slot]) {
            look_at_walker(status);
            all->pids[slot] = 0;
            return;
        }
        sched_yield();
    }
}

/* Wait until the walkers that the last operation killed have ended. */
static void bury_killed(void)
{
    int status;

    for (unsigned i = 0; i < options.processes; i++)
        if ((all->dying >> i & 1) && all->pids[i] && waitpid(all->pids[i], &status, 0) > 0)
            all->pids[i] = 0;
    all->dying = 0;
}

/* The master of a walk in turns, in which only one slot at a time performs one operation. */
static void take_turns(uint64_t lives, uint64_t nops)
{
    uint64_t generation[WALKERS_MAX] = {0};
    unsigned alive;

    do {
        alive = 0;
        for (unsigned i = 0; i < options.processes && !over(); i++) {
            if (!all->pids[i] && generation[i] < lives) {
                pid_t pid = fork();

                if (pid == 0)
                    walker(i, generation[i], nops);
                if (pid < 0)
                    wrong("fork: %s", strerror(errno));
                all->pids[i] = pid;
                generation[i]++;
            }
            if (!all->pids[i])
                continue;
            alive++;
            give_turn(i);
            bury_killed();
        }
    } while (alive);
}

/* Keeps the walkers alive. rounds: number of lives of each slot; 0: until the time is over. */
static __attribute__((noreturn)) void master(uint64_t lives, uint64_t nops)
{
    uint64_t generation[WALKERS_MAX] = {0};
    unsigned alive = 0;
    int status;
    pid_t pid;

    if (all->turns)
        take_turns(lives, nops);
    while (!all->turns) {
        for (unsigned i = 0; i < options.processes; i++) {
            if (all->pids[i] || over() || (lives && generation[i] == lives))
                continue;
            pid = fork();
            if (pid == 0)
                walker(i, generation[i], nops);
            if (pid < 0)
                continue;
            __atomic_store_n(&all->pids[i], pid, __ATOMIC_RELAXED);
            generation[i]++;
            alive++;
        }
        if (alive == 0)
            break;
        pid = wait(&status);
        for (unsigned i = 0; pid > 0 && i < options.processes; i++)
            if (all->pids[i] == pid) {
                __atomic_store_n(&all->pids[i], 0, __ATOMIC_RELAXED);
                alive--;
            }
        look_at_walker(status);
    }
    sections_delete();
    frames_delete();
    logical_delete();
    _exit(0);
}

/* ---- counting ---- */

struct count {
    struct mega_validate v;
    uint64_t owned;     /* pages of processes, files and sections */
    uint64_t available; /* fluid pages and pages of reservations */
    uint64_t growth;    /* pages that the kernel keeps: pool, stacks, system page tables */
};

/* Write all data of this program after the last fork, so that each count finds the same number of
 * copied pages. */
static void touch_data(void)
{
    extern char __data_start[], _end[];
    volatile char stack[8 * PAGE];

    for (volatile char *p = __data_start; p < _end; p += PAGE)
        *p = *p;
    for (size_t i = 0; i < sizeof(stack); i += PAGE)
        stack[i] = 0;
}

static bool count(struct count *c)
{
    struct mega_reserved r;
    struct mega_memory m;
    const uint64_t *n = c->v.pages;

    touch_data();
    if (mega$info(MEGA_INFO_VALIDATE, 0, &c->v, sizeof(c->v)) != SS$_NORMAL || c->v.timed_out)
        return false;
    mega$info(MEGA_INFO_MEMORY, 0, &m, sizeof(m));
    c->available = m.fluid;
    for (int64_t i = 0; mega$info(MEGA_INFO_RESERVED, i, &r, sizeof(r)) == SS$_NORMAL; i++)
        c->available += r.npages + r.npt_pages;
    c->growth = n[MEGA_PAGES_PAGED_POOL] + n[MEGA_PAGES_KSTACK] + n[MEGA_PAGES_NONPAGED_POOL] +
                n[MEGA_PAGES_LINKS];
    c->owned = n[MEGA_PAGES_PRIVATE] + n[MEGA_PAGES_OBJECT] + n[MEGA_PAGES_SECTION] +
               n[MEGA_PAGES_TABLE] + n[MEGA_PAGES_SHARED_TABLE] + n[MEGA_PAGES_PIPE];
    return true;
}

/* The first process that executes a page of the program allocates it; touch all of them now. */
static void read_program(void)
{
    char buffer[PAGE];
    int fd = open(self_path, O_RDONLY);

    while (fd >= 0 && read(fd, buffer, sizeof(buffer)) > 0)
        ;
    close(fd);
}

/* One walk; then the count when all processes have ended. */
static bool walk(uint64_t seconds, uint64_t lives, uint64_t nops, struct count *c)
{
    pid_t pid;
    int status = 0;

    memset(all, 0, sizeof(*all));
    all->turns = options.rounds != 0;
    all->turn = TURN_MASTER;
    all->give = in_earnest;
    all->end_ms = seconds ? (uint64_t)now_ms() + seconds * 1000 : 0;
    pid = fork();
    if (pid == 0)
        master(lives, nops);
    waitpid(pid, &status, 0);
    /* Children of walkers that were killed end by themselves. */
    for (int i = 0; i < SETTLE_TRIES; i++) {
        if (!count(c))
            return false;
        if (c->v.spaces == 1 || in_company())
            break;
        nap_us(5000);
    }
    driver_release();
    return count(c) && status == 0 && !all->stop;
}

static bool parse(int argc, char **argv)
{
    for (int i = 1; i + 1 < argc; i += 2) {
        char *end;
        uint64_t n = strtoul(argv[i + 1], &end, 0);

        if (end == argv[i + 1] || *end)
            return false;
        if (!strcmp(argv[i], "--seconds"))
            options.seconds = n;
        else if (!strcmp(argv[i], "--rounds"))
            options.rounds = n;
        else if (!strcmp(argv[i], "--seed"))
            options.seed = n;
        else if (!strcmp(argv[i], "--processes"))
            options.processes = n;
        else
            return false;
    }
    return argc % 2 == 1 && options.processes >= 1 && options.processes <= WALKERS_MAX;
}

int main(int argc, char **argv)
{
    struct count before, after;
    uint64_t digest = 0;
    bool fine;

    self_path = argv[0];
    if (argc > 1 && !strcmp(argv[1], "--after-exec"))
        return after_exec();
    if (!parse(argc, argv))
        bail_out("usage: random_walk [--seconds N | --rounds N] [--seed S] [--processes N]");
    all = mmap(NULL, sizeof(*all), RW, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    diag("seed %lu, %lu processes", (unsigned long)options.seed, (unsigned long)options.processes);
    read_program();
    /* Allocate what the kernel allocates once, and what this process allocates for itself. */
    walk(0, 1, WARM_UP_OPS, &before);
    fine = options.rounds ? walk(0, 1, WARM_UP_OPS, &before) : walk(1, 0, WARM_UP_OPS, &before);
    ok(fine && before.v.errors == 0, "a short walk leaves memory consistent%s%s", fine ? "" : ": ",
       all->failure);
    in_earnest = true;
    fine = options.rounds ? walk(0, (options.rounds + LIFE_OPS - 1) / LIFE_OPS,
                                 least(options.rounds, LIFE_OPS), &after)
                          : walk(options.seconds, 0, LIFE_OPS, &after);
    ok(fine, "every walker finds what it expects%s%s", fine ? "" : ": ", all->failure);
    for (unsigned i = 0; i < options.processes; i++)
        digest = (digest ^ all->digest[i]) * 0x100000001B3ul;
    diag("%lu operations, %lu refused, %lu children, %lu walkers killed, %lu checks on the way",
         (unsigned long)all->ops, (unsigned long)all->refused, (unsigned long)all->children,
         (unsigned long)all->killed, (unsigned long)all->checks);
    diag("made: %lu ALLOC with shared tables, %lu with private, %lu page-file sections, "
         "%lu mappings of a driver's frames, %lu of frames left aside, %lu reservations of the "
         "driver's, %lu reservations freed",
         (unsigned long)all->made[MADE_ALLOC], (unsigned long)all->made[MADE_BARE],
         (unsigned long)all->made[MADE_PAGFIL], (unsigned long)all->made[MADE_SHOWN],
         (unsigned long)all->made[MADE_ASIDE], (unsigned long)all->made[MADE_DRIVER],
         (unsigned long)all->made[MADE_FREED]);
    diag("digest %016lx", (unsigned long)digest);
    if (!is(after.v.errors, 0, "every page is counted exactly once"))
        diag("%s", after.v.text);
    if (in_company())
        return tap_done();
    is(after.v.spaces, 1, "no other process exists");
    is(after.v.sections, before.v.sections, "no section of the walk exists");
    is(after.owned, before.owned, "processes, files and sections have as many pages as before");
    is(after.available + after.growth, before.available + before.growth,
       "the fluid count is as before, except for pages that the kernel keeps");
    for (int i = 0; i < MEGA_PAGES_KINDS; i++)
        if (after.v.pages[i] != before.v.pages[i])
            diag("pages of kind %d: %lu, before %lu", i, (unsigned long)after.v.pages[i],
                 (unsigned long)before.v.pages[i]);
    diag("the kernel keeps %ld pages more", (long)(after.growth - before.growth));
    return tap_done();
}
