/*
 * Two processes increment the same word of the kernel without a lock for some seconds. This is the
 * planted race that a kernel with the race detector (make RACES=1) must report. A kernel built with
 * TEST=1 has the word but reports nothing; other kernels do not have it.
 */
#include <stdio.h>
#include <sys/wait.h>
#include <test_kernel.h>
#include <time.h>
#include <unistd.h>

#define SECONDS 3
#define ROUNDS  20000

static int count(void)
{
    time_t end = time(NULL) + SECONDS;

    while (time(NULL) < end)
        if (mega$control(MEGA_CTL_RACE, ROUNDS, 0, 0, 0, 0) != SS$_NORMAL)
            return 1;
    return 0;
}

int main(void)
{
    int own, status = 1;
    pid_t child;

    if (!is_test_kernel()) {
        fprintf(stderr, "plant_race: %s\n", NEEDS_TEST_KERNEL);
        return 2;
    }
    child = fork();
    own = count();
    if (child == 0)
        return own;
    if (waitpid(child, &status, 0) != child || status != 0 || own != 0) {
        fprintf(stderr, "plant_race: MEGA_CTL_RACE was refused\n");
        return 1;
    }
    return 0;
}
