/*
 * The kernel's own requests on several CPUs at once. Meant for scripts/run --schedule, where QEMU
 * runs the CPUs in turn and time advances by one unit for each instruction of any of them. A call
 * that is disturbed neither by another CPU's turn nor by an alarm of the schedule therefore takes
 * exactly its number of instructions. Another CPU's turn is detected by that CPU's readings of the
 * clock: it does nothing but request blocks, and reads the clock every 200 instructions or so
 * unless it waits. The kernel counts the alarms.
 */
#define _GNU_SOURCE
#include "pool.h"

#include <sched.h>
#include <starlet.h>
#include <sys/wait.h>
#include <unistd.h>

#define COUNT  64u /* blocks allocated at once */
#define ROUNDS (COST_MAX / COUNT)

/* Barrier of all processes. It spins, because a process that sleeps would begin after the
 * others. */
static void meet(unsigned cpus)
{
    unsigned n = __atomic_fetch_add(&board->arrived, 1, __ATOMIC_ACQ_REL) / cpus;

    while (__atomic_load_n(&board->arrived, __ATOMIC_ACQUIRE) < (n + 1) * cpus)
        ;
}

static void ask(unsigned size, unsigned count, struct mega_pool_cost *cost)
{
    status_need(mega$control(MEGA_CTL_POOL_COST, size, count, (uint64_t)cost, 1, 0), "POOL_COST");
}

/* A process that stays on one CPU. The first one fills the lookaside list, if there is one, for
 * all of them. */
static void work(unsigned self, unsigned cpus, unsigned size, unsigned rounds)
{
    struct mega_pool_cost *mine = board->cost[self];
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(self, &set);
    bench_need(sched_setaffinity(0, sizeof(set), &set) == 0);
    if (self == 0 && rounds > 1)
        ask(size, cpus * COUNT, mine);
    meet(cpus);
    for (unsigned i = 0; i < rounds; i++)
        ask(size, COUNT, mine + (size_t)i * COUNT);
    bench_need(sched_getcpu() == (int)self);
    __atomic_fetch_or(&board->places, 1u << self, __ATOMIC_RELAXED);
}

struct call {
    uint64_t at;
    uint32_t ns, wait_ns, alarms;
};

static struct call call_of(unsigned cpu, unsigned i, bool release)
{
    const struct mega_pool_cost *c = &board->cost[cpu][i];

    return release ? (struct call){c->free_at, c->free_ns, c->free_wait_ns, c->free_alarms}
                   : (struct call){c->alloc_at, c->alloc_ns, c->alloc_wait_ns, c->alloc_alarms};
}

/* The clock readings of each CPU, in order of time. */
static uint64_t readings[CPUS_MAX][4 * COST_MAX];

static void note_readings(unsigned cpu, unsigned rounds)
{
    unsigned n = 0;

    for (unsigned i = 0; i < 2 * rounds * COUNT; i++) {
        struct call c = call_of(cpu, i / (2 * COUNT) * COUNT + i % COUNT, i / COUNT % 2);

        readings[cpu][n++] = c.at;
        readings[cpu][n++] = c.at + c.ns;
        bench_need(n == 2 || readings[cpu][n - 2] >= readings[cpu][n - 3]);
    }
}

/* Did another CPU read the clock between the two readings of this call? */
static bool cut(const struct call *c, unsigned self, unsigned cpus, unsigned rounds)
{
    for (unsigned cpu = 0; cpu < cpus; cpu++) {
        unsigned low = 0, n = 4 * rounds * COUNT;

        if (cpu == self)
            continue;
        while (low < n) { /* finds the first reading after c->at */
            unsigned mid = (low + n) / 2;

            if (readings[cpu][mid] > c->at)
                n = mid;
            else
                low = mid + 1;
        }
        if (low < 4 * rounds * COUNT && readings[cpu][low] <= c->at + c->ns)
            return true;
    }
    return false;
}

/* Prints all calls, less the time that they waited, and the calls that were not disturbed. */
static void tell(const char *name, unsigned size, unsigned cpus, unsigned rounds, bool release)
{
    static uint32_t all[CPUS_MAX * COST_MAX], whole[CPUS_MAX * COST_MAX];
    unsigned n = 0, nwhole = 0, waits = 0;
    uint64_t waited = 0;
    char label[32];

    for (unsigned cpu = 0; cpu < cpus; cpu++)
        for (unsigned i = 0; i < rounds * COUNT; i++) {
            struct call c = call_of(cpu, i, release);

            all[n++] = c.ns - c.wait_ns;
            waits += c.wait_ns != 0;
            waited += c.wait_ns;
            if (c.alarms == 0 && !cut(&c, cpu, cpus, rounds))
                whole[nwhole++] = c.ns;
        }
    snprintf(label, sizeof(label), "%s_%u", name, size);
    spread(label, all, n);
    snprintf(label, sizeof(label), "%s_%u_whole", name, size);
    spread(label, whole, nwhole);
    printf(", \"%s_%u_count\": [%u, %u, %u, %lu]", name, size, n, nwhole, waits,
           (unsigned long)waited);
}

static void one_size(unsigned size, unsigned cpus, unsigned rounds)
{
    pid_t pid[CPUS_MAX];

    board->arrived = board->places = 0;
    fflush(stdout);
    for (unsigned i = 0; i < cpus; i++) {
        pid[i] = fork();
        bench_need(pid[i] >= 0);
        if (pid[i] == 0) {
            work(i, cpus, size, rounds);
            _exit(0);
        }
    }
    for (unsigned i = 0; i < cpus; i++) {
        int status;

        bench_need(waitpid(pid[i], &status, 0) == pid[i] && status == 0);
    }
    bench_need(board->places == (1u << cpus) - 1);
    for (unsigned i = 0; i < cpus; i++)
        note_readings(i, rounds);
    tell("alloc", size, cpus, rounds, false);
    tell("free", size, cpus, rounds, true);
}

void parallel_cost(unsigned lal, unsigned cpus)
{
    /* Without lookaside lists each request walks the free blocks, which takes long. */
    unsigned rounds = lal ? ROUNDS : 1;

    set_parameter("PAGED_LAL_SIZE", lal);
    printf("{\"report\": \"parallel\", \"lal\": %u, \"at_work\": %u", lal, cpus);
    for (unsigned size = 80; size <= 208; size += 64)
        one_size(size, cpus, rounds);
    printf("}\n");
    fflush(stdout);
}
