/*
 * A race planted in user memory, for scripts/schedules to find by trying schedules: WORKERS
 * processes increment a counter in shared memory without a lock. Each increment is a load, some
 * steps of other work, and a store. There are few increments, far apart, and two must meet within
 * some dozen instructions for one to be lost, so that one is lost in some schedules and not in
 * others. Exit status: 0 no increment was lost, 1 some were lost, 2 another error.
 */
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORKERS   3
#define ADDITIONS 20
#define APART     20000 /* steps of other work between two increments */
#define WINDOW    400   /* steps between the load and the store */

struct shared {
    uint64_t count, ready;
};

static void work(unsigned steps)
{
    for (volatile unsigned k = 0; k < steps; k++)
        ;
}

static void worker(struct shared *s, unsigned number)
{
    __atomic_fetch_add(&s->ready, 1, __ATOMIC_ACQ_REL);
    while (__atomic_load_n(&s->ready, __ATOMIC_ACQUIRE) != WORKERS)
        ;
    for (unsigned k = 0; k < ADDITIONS; k++) {
        uint64_t before;

        work(APART + 4001 * number);
        before = __atomic_load_n(&s->count, __ATOMIC_RELAXED);
        work(WINDOW);
        __atomic_store_n(&s->count, before + 1, __ATOMIC_RELAXED); /* the bug */
    }
}

int main(void)
{
    struct shared *s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                            -1, 0);
    uint64_t lost;

    if (s == MAP_FAILED)
        return 2;
    for (unsigned w = 0; w < WORKERS; w++)
        if (fork() == 0) {
            worker(s, w);
            _exit(0);
        }
    for (unsigned w = 0; w < WORKERS; w++) {
        int status;

        if (wait(&status) < 0 || status)
            return 2;
    }
    lost = WORKERS * ADDITIONS - s->count;
    printf("%lu of %u additions lost\n", (unsigned long)lost, WORKERS * ADDITIONS);
    return lost != 0;
}
