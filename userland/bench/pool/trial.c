/* Trials: users that replace names, and a bystander that translates names at the same time. */
#include "pool.h"

#include <signal.h>
#include <ssdef.h>
#include <starlet.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LISTS     160u  /* lookaside lists of paged pool */
#define FIRST_UID 1000u /* of the users; the bystander is root */

static void sleep_us(uint64_t us)
{
    struct timespec t = {(time_t)(us / 1000000), (long)(us % 1000000) * 1000};

    nanosleep(&t, NULL);
}

static uint32_t since(uint64_t before)
{
    uint64_t d = bench_clock() - before, cost = bench_clock_cost();

    return (uint32_t)(d > cost ? d - cost : 0);
}

/* Process of one user, which owns every n-th name: it replaces them in random order and pauses in
 * between. */
static void user_works(unsigned self, unsigned transactions, enum work work, unsigned burst,
                       unsigned rest)
{
    uint64_t state = opt.seed * 77 + self * 1000003 + 1;
    struct user *u = &board->user[self];

    for (unsigned t = 0; t < transactions && !__atomic_load_n(&board->stop, __ATOMIC_ACQUIRE);
         t++) {
        sleep_us(rest * (opt.think_us / 2 + random_next(&state) % opt.think_us));
        for (unsigned p = 0; p < burst * opt.pairs; p++) {
            unsigned n = (unsigned)(random_next(&state) % opt.names) / opt.users * opt.users + self;
            unsigned size = random_size(&state);
            uint64_t before;

            if (work == WORK_NONE) {
                name_delete_none();
                name_delete_none();
                continue;
            }
            if (n >= opt.names || !board->size[n])
                continue;
            before = bench_clock();
            name_delete(n);
            u->delete[u->kept % CALLS_MAX] = since(before);
            before = bench_clock();
            name_create(n, size);
            u->create[u->kept++ % CALLS_MAX] = since(before);
        }
    }
}

/* Process of the bystander: translates a name now and then, and records how long that took. */
static void bystander_works(void)
{
    while (!__atomic_load_n(&board->stop, __ATOMIC_ACQUIRE)) {
        uint64_t before = bench_clock();
        uint32_t d;

        landmark_translate();
        d = since(before);
        if (board->translations < CALLS_MAX)
            board->translation[board->translations] = d;
        board->translations++;
        if (d > board->longest_ns)
            board->longest_ns = d;
        sleep_us(200);
    }
}

static pid_t start(unsigned number, unsigned transactions, enum work work, unsigned burst,
                   unsigned rest)
{
    pid_t pid;

    fflush(stdout);
    pid = fork();
    bench_need(pid >= 0);
    if (pid > 0)
        return pid;
    while (!__atomic_load_n(&board->go, __ATOMIC_ACQUIRE))
        sleep_us(500);
    bench_clock_cost();
    if (number == opt.users)
        bystander_works();
    else {
        bench_need(setuid(FIRST_UID + number) == 0);
        user_works(number, transactions, work, burst, rest);
    }
    _exit(0);
}

static int compare32(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

void spread(const char *name, uint32_t *v, size_t n)
{
    qsort(v, n, sizeof(*v), compare32);
    printf(", \"%s\": [%u, %u, %u]", name, n ? v[n / 2] : 0, n ? v[n - 1 - n / 100] : 0,
           n ? v[n - 1] : 0);
}

/* The cost to the kernel of one block of paged pool (pool 1) or nonpaged pool (pool 0), on
 * one CPU. */
static void pool_cost(unsigned pool, const char *prefix, unsigned size)
{
    enum { COUNT = 100 };
    static struct mega_pool_cost cost[COUNT];
    static uint32_t v[COUNT];
    char name[32];

    status_need(mega$control(MEGA_CTL_POOL_COST, size, COUNT, (uint64_t)cost, pool, 0),
                "POOL_COST");
    for (unsigned i = 0; i < COUNT; i++)
        v[i] = cost[i].alloc_ns;
    snprintf(name, sizeof(name), "%salloc_%u", prefix, size);
    spread(name, v, COUNT);
    for (unsigned i = 0; i < COUNT; i++)
        v[i] = cost[i].free_ns;
    snprintf(name, sizeof(name), "%sfree_%u", prefix, size);
    spread(name, v, COUNT);
}

static void mutex_row(const char *name)
{
    struct mega_lock l;

    for (int64_t i = 0; mega$info(MEGA_INFO_MUTEX, i, &l, sizeof(l)) == SS$_NORMAL; i++)
        if (!strcmp(l.name, name))
            printf(", \"%s\": {\"taken\": %lu, \"shared\": %lu, \"waits\": %lu, \"held_ns\": %lu, "
                   "\"longest_ns\": %lu, \"wait_ns\": %lu, \"longest_wait_ns\": %lu}",
                   name, (unsigned long)l.acquisitions, (unsigned long)l.shared,
                   (unsigned long)l.waits, (unsigned long)l.held_ns, (unsigned long)l.longest_ns,
                   (unsigned long)l.wait_ns, (unsigned long)l.longest_wait_ns);
}

/* Prints for each lookaside list how many requests it got since `before` and how many it met. */
static void lists_row(const struct mega_pool_list *before)
{
    struct mega_pool_list l;
    const char *comma = "";

    printf(", \"by_size\": [");
    for (unsigned i = 0; i < LISTS; i++) {
        status_need(mega$info(MEGA_INFO_POOL_LIST, 1l << 32 | i, &l, sizeof(l)), "POOL_LIST");
        if (l.requests == before[i].requests)
            continue;
        printf("%s[%lu, %lu, %lu]", comma, (unsigned long)l.size,
               (unsigned long)(l.requests - before[i].requests),
               (unsigned long)(l.hits - before[i].hits));
        comma = ", ";
    }
    printf("]");
}

/* Start the users and, after them, the bystander. */
static void start_all(pid_t *pid, unsigned transactions, enum work work, unsigned burst,
                      unsigned rest)
{
    board->go = board->stop = 0;
    board->translations = board->longest_ns = 0;
    memset(board->user, 0, sizeof(board->user));
    for (unsigned i = 0; i <= opt.users; i++)
        pid[i] = start(i, transactions, work, burst, rest);
}

static void join(pid_t pid)
{
    int status;

    bench_need(waitpid(pid, &status, 0) == pid && status == 0);
}

void watched(const char *script)
{
    pid_t pid[USERS_MAX + 1], shell;

    set_parameter("PAGED_LAL_SIZE", 0);
    start_all(pid, UINT32_MAX, WORK_NAMES, opt.burst, opt.rest);
    fflush(stdout);
    shell = fork();
    bench_need(shell >= 0);
    if (shell == 0) {
        setsid(); /* a session is a job of its own */
        execl("/bin/sh", "sh", script, NULL);
        _exit(1);
    }
    __atomic_store_n(&board->go, 1, __ATOMIC_RELEASE);
    join(shell);
    __atomic_store_n(&board->stop, 1, __ATOMIC_RELEASE);
    for (unsigned i = 0; i <= opt.users; i++)
        join(pid[i]);
}

void trial(const char *when, unsigned lal, unsigned transactions, enum work work)
{
    static uint32_t all[USERS_MAX * CALLS_MAX];
    static struct mega_pool_list lists[LISTS];
    static const unsigned nonpaged[] = {80, 208, 1024, 8192};
    struct mega_pool p;
    pid_t pid[USERS_MAX + 1];
    uint64_t before, lasted;
    size_t n;

    set_parameter("PAGED_LAL_SIZE", lal);
    for (unsigned i = 0; i < LISTS; i++)
        status_need(mega$info(MEGA_INFO_POOL_LIST, 1l << 32 | i, &lists[i], sizeof(lists[i])),
                    "POOL_LIST");
    start_all(pid, transactions, work, 1, 1);
    status_need(mega$control(MEGA_CTL_LOCK_STATS, 1, 0, 0, 0, 0), "LOCK_STATS");
    before = bench_clock();
    __atomic_store_n(&board->go, 1, __ATOMIC_RELEASE);
    for (unsigned i = 0; i <= opt.users; i++) {
        join(pid[i]);
        if (i == opt.users - 1)
            __atomic_store_n(&board->stop, 1, __ATOMIC_RELEASE);
    }
    lasted = bench_clock() - before;
    status_need(mega$control(MEGA_CTL_LOCK_STATS, 0, 0, 0, 0, 0), "LOCK_STATS");
    p = pool_now();
    printf("{\"report\": \"%s\", \"lal\": %u, \"users\": %u, \"free_blocks\": %lu, \"le64\": %lu, "
           "\"size\": %lu, \"free\": %lu, \"largest\": %lu, \"smallest\": %lu, \"lookaside\": %lu",
           when, lal, opt.users, (unsigned long)p.free_blocks, (unsigned long)p.free_blocks_le64,
           (unsigned long)p.size, (unsigned long)p.free, (unsigned long)p.largest,
           (unsigned long)p.smallest, (unsigned long)p.lookaside_bytes);
    printf(", \"lasted_ns\": %lu, \"translations\": %lu, \"stall_ns\": %lu", (unsigned long)lasted,
           (unsigned long)board->translations, (unsigned long)board->longest_ns);
    n = board->translations < CALLS_MAX ? board->translations : CALLS_MAX;
    spread("translate", board->translation, n);
    for (unsigned what = 0; what < 2; what++) {
        n = 0;
        for (unsigned u = 0; u < opt.users; u++) {
            const struct user *s = &board->user[u];
            unsigned kept = s->kept < CALLS_MAX ? s->kept : CALLS_MAX;

            memcpy(all + n, what ? s->create : s->delete, kept * sizeof(uint32_t));
            n += kept;
        }
        spread(what ? "crelnm" : "dellnm", all, n);
    }
    mutex_row("LNM");
    mutex_row("PGDYN");
    lists_row(lists);
    if (work == WORK_FULL) {
        for (unsigned size = 80; size <= 208; size += 64)
            pool_cost(1, "", size);
        for (unsigned i = 0; i < sizeof(nonpaged) / sizeof(nonpaged[0]); i++)
            pool_cost(0, "npp_", nonpaged[i]);
    }
    printf("}\n");
    fflush(stdout);
}
