/* Rows of processes. */
#include "growth.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE  8192ul
#define FORKS 8

/* n children wait at a gate, a pipe that their parent closes, while it forks one more. The parent
 * and each new child also write memory that was last written before all the children were there. */
static double fork_exit_wait(uint64_t n)
{
    struct bench b = {0};
    int gate[2];
    volatile char *old = mmap(NULL, BENCH_ROUNDS * FORKS * PAGE, PROT_READ | PROT_WRITE,
                              MAP_ANONYMOUS | MAP_PRIVATE, -1, 0);
    char c;

    bench_need(old != MAP_FAILED && pipe(gate) == 0);
    for (unsigned long i = 0; i < BENCH_ROUNDS * FORKS; i++)
        old[i * PAGE] = 1;
    for (uint64_t i = 0; i < n; i++) {
        pid_t pid = fork();

        bench_need(pid >= 0);
        if (pid == 0) {
            close(gate[1]);
            _exit(read(gate[0], &c, 1) == 0 ? 0 : 1);
        }
        old[0] = 1; /* so that the parent has something new to share with the next one */
    }
    for (int r = 0; r < BENCH_ROUNDS; r++) {
        bench_start(&b);
        for (int i = 0; i < FORKS; i++) {
            pid_t pid = fork();

            old[(r * FORKS + i) * (long)PAGE] = 2;
            if (pid == 0)
                _exit(0);
            bench_need(pid > 0 && waitpid(pid, NULL, 0) == pid);
        }
        bench_stop(&b);
    }
    close(gate[1]);
    for (uint64_t i = 0; i < n; i++)
        bench_need(wait(NULL) > 0);
    return growth_median(&b, FORKS);
}

const struct growth_row growth_process[] = {
    {"fork, exit and wait", "children", 100, 4000, 1.2, 150000, fork_exit_wait},
    {.name = NULL},
};
