/*
 * Ends the system on purpose, so that a test can see what a person would see:
 *
 *     crash_kernel                a panic
 *     crash_kernel --stack        a kernel stack run into its guard
 *     crash_kernel --spin         a lock whose holder never lets go
 *     crash_kernel --hang         a CPU stuck with its interrupts off
 *     crash_kernel --unaligned    an unaligned access in kernel mode
 *     crash_kernel --null         a reference through a null pointer in kernel mode
 *     crash_kernel --shift        a shift by the width of its type: an end only under UBSan
 *     crash_kernel --breach NAME  a breach of the rules of locks
 *     crash_kernel --leak NAME    something is lost: the kernel goes on, only the check at the end
 *                                 finds it (scripts/run --validate)
 *     crash_kernel --list-breach, --list-leak
 *                                 the names that there are, a line each; no crash
 *
 * Comes back only when the kernel refuses, or goes on. All but the panic need a kernel built with
 * TEST=1.
 */
#include <condition.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdio.h>
#include <string.h>
#include <test_kernel.h>
#include <time.h>

static const char *const ways[] = {"--stack",     "--spin", "--hang",
                                   "--unaligned", "--null", "--shift"};

/* The index of that breach or leak, all of them listed when name is NULL; -1: there is none. */
static int64_t find(unsigned item, const char *name)
{
    struct mega_breach b;

    for (int64_t i = 0; mega$info(item, i, &b, sizeof(b)) == SS$_NORMAL; i++)
        if (!name)
            printf("%s\n", b.name);
        else if (strcmp(b.name, name) == 0)
            return i;
    return -1;
}

/* In user mode, for some ticks of the clock. */
static void run_on(void)
{
    struct timespec t;
    time_t end;

    clock_gettime(CLOCK_MONOTONIC, &t);
    for (end = t.tv_sec + 2; t.tv_sec < end;)
        clock_gettime(CLOCK_MONOTONIC, &t);
}

static int commit(unsigned item, const char *name)
{
    int64_t index = find(item, name);
    struct mega_breach b;
    int status;

    if (index < 0) {
        fprintf(stderr, "crash_kernel: there is nothing called %s\n", name);
        return 2;
    }
    status = mega$info(item, index | MEGA_TEST_COMMIT, &b, sizeof(b));
    if (status == SS$_NORMAL && (item == MEGA_INFO_TEST_LEAK || strcmp(name, "legal") == 0))
        return 0;
    run_on();
    printf("crash_kernel: the kernel went on: %s\n", mega$condition_text(status));
    return 1;
}

static int crash(unsigned item, int64_t index)
{
    printf("crash_kernel: the kernel went on: %s\n",
           mega$condition_text(mega$info(item, index, NULL, 0)));
    return 1;
}

int main(int argc, char **argv)
{
    const char *wanted = argc > 1 ? argv[1] : "--panic";
    int way = 0;

    if (strcmp(wanted, "--panic") == 0)
        return crash(MEGA_INFO_CRASH, 0);
    if (!is_test_kernel()) {
        fprintf(stderr, "%s %s: %s\n", argv[0], wanted, NEEDS_TEST_KERNEL);
        return 2;
    }
    if (strcmp(wanted, "--list-breach") == 0)
        return find(MEGA_INFO_TEST_BREACH, NULL) != -1;
    if (strcmp(wanted, "--list-leak") == 0)
        return find(MEGA_INFO_TEST_LEAK, NULL) != -1;
    if (strcmp(wanted, "--breach") == 0 && argc > 2)
        return commit(MEGA_INFO_TEST_BREACH, argv[2]);
    if (strcmp(wanted, "--leak") == 0 && argc > 2)
        return commit(MEGA_INFO_TEST_LEAK, argv[2]);
    while (strcmp(ways[way], wanted) != 0)
        if (++way == (int)(sizeof(ways) / sizeof(ways[0]))) {
            fprintf(stderr, "%s: there is no way of crashing called %s\n", argv[0], wanted);
            return 2;
        }
    return crash(MEGA_INFO_TEST_CRASH, way);
}
