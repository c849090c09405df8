/*
 * Crashes the system on purpose, so that a test can check what is reported:
 *
 *     crash_kernel                a panic
 *     crash_kernel --stack        a kernel stack overflow into the guard page
 *     crash_kernel --spin         a spinlock whose holder never releases it
 *     crash_kernel --hang         a CPU that loops with all interrupts disabled
 *     crash_kernel --deaf         a CPU that loops with clock interrupts disabled
 *     crash_kernel --hurry        no crash: makes the watchdog's limits ten times shorter
 *     crash_kernel --unaligned    an unaligned access in kernel mode
 *     crash_kernel --null         a reference through a null pointer in kernel mode
 *     crash_kernel --shift        a shift by the width of its type: only UBSan ends the system
 *     crash_kernel --breach NAME  a violation of the locking rules
 *     crash_kernel --leak NAME    a leak: the kernel continues, and only the check at the end of
 *                                 the run finds it (scripts/run --validate)
 *     crash_kernel --list-breach, --list-leak
 *                                 lists the names, one per line, without a crash
 *
 * Returns only if the kernel refuses or continues. All but the panic need a kernel built with
 * TEST=1.
 */
#include <condition.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdio.h>
#include <string.h>
#include <test_kernel.h>
#include <time.h>

static const char *const ways[] = {"--stack", "--spin",  "--hang", "--unaligned",
                                   "--null",  "--shift", "--deaf", "--hurry"};

/* Returns the index of that violation or leak, or -1. If name is NULL, lists all of them. */
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

/* Spend some clock ticks in user mode. */
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
        fprintf(stderr, "crash_kernel: there is no name %s\n", name);
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
            fprintf(stderr, "%s: unknown option %s\n", argv[0], wanted);
            return 2;
        }
    return crash(MEGA_INFO_TEST_CRASH, way);
}
