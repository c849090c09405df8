// TAP
// RUN: --smp 1
// RUN: --smp 4
/*
 * Floating-point operations that the hardware leaves to software completion: denormal, infinite and
 * NaN results are as IEEE 754 says, set flags in FPCR, and trap only if the program asks for it.
 * Registers survive while other such processes run on the same CPU.
 */
#include <company.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tap.h"

#define SETSYSINFO          257
#define SSI_IEEE_FP_CONTROL 14ul
#define TRAP_ENABLE_DZE     4ul
#define FPCR_DZE            (1ul << 53)

static volatile double zero, one = 1, minus = -1, huge = 1e308;
static volatile double least_normal = 0x1p-1022;
static volatile sig_atomic_t seen_code;

static unsigned long fpcr(void)
{
    unsigned long v;

    __asm__ volatile("mf_fpcr $f10\n\tstt $f10, %0" : "=m"(v) : : "$f10");
    return v;
}

static unsigned long bits(double d)
{
    unsigned long v;

    memcpy(&v, &d, sizeof(v));
    return v;
}

static void handler(int sig, siginfo_t *info, void *context)
{
    (void)sig;
    (void)context;
    seen_code = info->si_code;
    _exit(info->si_code == FPE_FLTDIV ? 42 : 43);
}

static void results(void)
{
    char text[64];
    double nan = zero / zero;

    ok(!(fpcr() & FPCR_DZE), "the division-by-zero flag in FPCR is clear at the start");
    ok(bits(one / zero) == 0x7FF0000000000000, "1 / 0 is infinity");
    ok(fpcr() & FPCR_DZE, "1 / 0 sets the division-by-zero flag in FPCR");
    ok(bits(minus / zero) == 0xFFF0000000000000, "-1 / 0 is minus infinity");
    ok(nan != nan, "0 / 0 is NaN, which is not equal to itself");
    ok(bits(huge * 10) == 0x7FF0000000000000, "overflow results in infinity");
    ok(bits(least_normal / 1024) == 1ul << 42, "underflow results in a denormal number");
    ok(least_normal / 1024 * 1024 == least_normal,
       "a denormal number is converted back without loss");
    ok((float)1e300 > 3.4e38f, "conversion to single overflows to infinity");
    ok((float)(one * 1e-40) > 0 && (float)(one * 1e-40) < 1e-39f,
       "conversion to single can result in a denormal number");
    snprintf(text, sizeof(text), "%g %g %g", strtod("1e-310", NULL), one / zero, minus * zero);
    ok(!strcmp(text, "1e-310 inf -0"),
       "the C library prints denormal, infinite and zero values: %s", text);
}

static void enabled(void)
{
    unsigned long control = TRAP_ENABLE_DZE;
    struct sigaction sa = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    int status;

    if (must_fork() == 0) {
        sigaction(SIGFPE, &sa, NULL);
        if (syscall(SETSYSINFO, SSI_IEEE_FP_CONTROL, &control, 0, 0, 0) != 0)
            _exit(44);
        _exit(one / zero > 0 ? 45 : 46);
    }
    wait(&status);
    ok(WIFEXITED(status) && WEXITSTATUS(status) == 42,
       "a division by zero with its trap enabled is a SIGFPE (%d)", WEXITSTATUS(status));
}

/* Every step goes through software completion, and a context switch may happen at any point. */
static int series(int seed)
{
    double want = least_normal / 4096 * seed, got = want; /* the product is exact */

    for (int i = 0; i < 20000; i++) {
        volatile double half = got / 2, twice = half * 2;

        got = twice;
        if (got != want)
            return 1;
    }
    return 0;
}

static void together(void)
{
    int bad = 0, status;

    for (int i = 0; i < 8; i++)
        if (must_fork() == 0)
            _exit(series(2 * i + 2));
    for (int i = 0; i < 8; i++) {
        wait(&status);
        bad += status != 0;
    }
    ok(bad == 0, "eight processes keep their registers (%d did not)", bad);
}

/* ---- registers of the thread's own ---- */

#define ROUNDS 300

static void nap(void) { nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL); }

/* Reads a register by an instruction that needs no memory, and by one that does. */
static int keeps(unsigned long value)
{
    unsigned long was = value, moved, stored;

    for (int i = 0; i < ROUNDS; i++) {
        __asm__ volatile("ldt $f17, %0" : : "m"(value) : "$f17");
        nap();
        __asm__ volatile("ftoit $f17, %0\n\tstt $f17, %1" : "=r"(moved), "=m"(stored));
        if (moved != was || stored != was)
            return 1;
        value = was = was * 3;
    }
    return 0;
}

/* A process that has used no floating point since its program began. */
static int clear(void)
{
    unsigned long sum = 0, v;

#define LOOK(n)                                       \
    __asm__ volatile("ftoit $f" #n ", %0" : "=r"(v)); \
    sum |= v;
    for (int i = 0; i < ROUNDS; i++) {
        LOOK(0) LOOK(1) LOOK(2) LOOK(9) LOOK(10) LOOK(17) LOOK(29) LOOK(30) nap();
    }
    return sum != 0;
}

static void own(const char *program)
{
    int bad = 0, status;

    for (unsigned i = 0; i < 6; i++)
        if (must_fork() == 0) {
            if (i % 2)
                _exit(keeps(0x4001000100010001 + i));
            execl(program, program, "clear", (char *)NULL);
            _exit(2);
        }
    for (unsigned i = 0; i < 6; i++) {
        wait(&status);
        bad += status != 0;
    }
    ok(bad == 0, "an integer register gets a value of the thread's own, or 0 (%d did not)", bad);
}

int main(int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[1], "clear"))
        return clear();
    results();
    enabled();
    together();
    own(argv[0]);
    return tap_done();
}
