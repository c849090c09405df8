// TAP
/*
 * Traps of user mode: unaligned accesses are emulated as on Linux/Alpha and counted; floating-point
 * registers survive system calls, context switches and fork; every kind of trap becomes the right
 * signal.
 */
#include <fenv.h>
#include <sched.h>
#include <signal.h>
#include <starlet.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

#define PAGE 8192

static unsigned char *buffer; /* two pages; the third is not mapped */

static uint64_t unaligned_so_far(void)
{
    struct mega_process p;

    return mega$info(MEGA_INFO_PROCESS, -1, &p, sizeof(p)) & 1 ? p.unaligned : 0;
}

static uint64_t unaligned_of_all_cpus(void)
{
    struct mega_cpu c;
    uint64_t sum = 0;

    for (int i = 0; mega$info(MEGA_INFO_CPU, i, &c, sizeof(c)) & 1; i++)
        sum += c.unaligned;
    return sum;
}

/* Each instruction at each offset, also across a page boundary, compared with single bytes. */
static uint64_t bytes_at(const unsigned char *p, unsigned n)
{
    uint64_t v = 0;

    for (unsigned i = 0; i < n; i++)
        v |= (uint64_t)p[i] << 8 * i;
    return v;
}

static void test_unaligned(void)
{
    static const unsigned places[] = {0, 128, PAGE - 8};
    uint64_t before = unaligned_so_far(), all_before = unaligned_of_all_cpus(), done = 0, v;
    int loads = 1, stores = 1;

    for (unsigned i = 0; i < 2 * PAGE; i++)
        buffer[i] = (unsigned char)(i * 37 + 129);
    for (unsigned place = 0; place < 3; place++)
        for (unsigned offset = 1; offset < 8; offset++) {
            unsigned char *p = buffer + places[place] + offset;

            __asm__ volatile("ldq %0, 0(%1)" : "=r"(v) : "r"(p) : "memory");
            loads &= v == bytes_at(p, 8);
            done++;
            if (offset % 4) {
                __asm__ volatile("ldl %0, 0(%1)" : "=r"(v) : "r"(p) : "memory");
                loads &= v == (uint64_t)(int64_t)(int32_t)bytes_at(p, 4);
                __asm__ volatile("stl %0, 0(%1)" ::"r"(v ^ 0x01020304), "r"(p) : "memory");
                stores &= bytes_at(p, 4) == (uint32_t)(v ^ 0x01020304);
                done += 2;
            }
            if (offset % 2) {
                __asm__ volatile("ldwu %0, 0(%1)" : "=r"(v) : "r"(p) : "memory");
                loads &= v == bytes_at(p, 2);
                __asm__ volatile("stw %0, 0(%1)" ::"r"(v ^ 0xFFFF), "r"(p) : "memory");
                stores &= bytes_at(p, 2) == (v ^ 0xFFFF);
                done += 2;
            }
            v = 0x1122334455667788UL + offset;
            __asm__ volatile("stq %0, 0(%1)" ::"r"(v), "r"(p) : "memory");
            stores &= bytes_at(p, 8) == v;
            done++;
        }
    ok(loads, "unaligned loads return the right bytes");
    ok(stores, "unaligned stores write the right bytes");

    double d = 0;
    float f = 0;
    unsigned char *p = buffer + PAGE - 3;

    __asm__ volatile("stt %1, 0(%2)\n\tldt %0, 0(%2)" : "=f"(d) : "f"(-3.25), "r"(p) : "memory");
    ok(d == -3.25, "an unaligned double can be stored and loaded");
    __asm__ volatile("sts %1, 0(%2)\n\tlds %0, 0(%2)" : "=f"(f) : "f"(1.5e-3f), "r"(p) : "memory");
    ok(f == 1.5e-3f, "an unaligned float can be stored and loaded");
    done += 4;
    is(unaligned_so_far() - before, done, "each unaligned access counts for the process");
    is(unaligned_of_all_cpus() - all_before, done, "each unaligned access counts for its CPU");
}

static double mix(int seed, int rounds)
{
    double a = seed, b = 1, c = 2, e = 3;

    for (int i = 0; i < rounds; i++) {
        a = a * 1.0000001 + b;
        b = b * 0.9999999 + c;
        c = c + e * 0.5;
        e = e * 0.75 + seed;
        if (i % 64 == 0)
            sched_yield();
    }
    return a + b + c + e;
}

static void test_floating_point(void)
{
    int status, good = 1;
    double want[4];

    for (int i = 0; i < 4; i++)
        want[i] = mix(i + 1, 4000);
    for (int i = 0; i < 4; i++)
        if (fork() == 0) {
            for (int round = 0; round < 5; round++)
                if (mix(i + 1, 4000) != want[i])
                    _exit(1);
            _exit(0);
        }
    while (wait(&status) > 0)
        good &= WIFEXITED(status) && WEXITSTATUS(status) == 0;
    ok(good, "four processes get the same floating-point results as one process alone");

    register double kept __asm__("$f2") = 42.5;

    __asm__ volatile("" : "+f"(kept));
    pid_t child = fork();

    __asm__ volatile("" : "+f"(kept));
    if (child == 0)
        _exit(kept == 42.5 ? 0 : 1);
    waitpid(child, &status, 0);
    ok(kept == 42.5 && WIFEXITED(status) && WEXITSTATUS(status) == 0,
       "fork preserves a floating-point register in parent and child");

    fesetround(FE_DOWNWARD);
    child = fork();
    if (child == 0)
        _exit(fegetround() == FE_DOWNWARD ? 0 : 1);
    waitpid(child, &status, 0);
    ok(WIFEXITED(status) && WEXITSTATUS(status) == 0,
       "a child inherits the floating-point control register");
    fesetround(FE_TONEAREST);
}

static volatile sig_atomic_t got_signal, got_code;
static void *volatile got_address;

static void catch (int sig, siginfo_t *info, void *context)
{
    ucontext_t *u = context;

    got_signal = sig;
    got_code = info->si_code;
    got_address = info->si_addr;
    if (sig == SIGSEGV) /* for other signals the PC is that of the next instruction */
        u->uc_mcontext.sc_pc += 4;
}

static void expect(int sig, int code, const char *what)
{
    ok(got_signal == sig && (code == 0 || got_code == code), "%s (signal %d, code %d)", what,
       (int)got_signal, (int)got_code);
    got_signal = got_code = 0;
}

static void test_signals(void)
{
    struct sigaction a = {.sa_sigaction = catch, .sa_flags = SA_SIGINFO};
    static const int signals[] = {SIGSEGV, SIGILL, SIGTRAP, SIGFPE, SIGBUS};

    for (unsigned i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        sigaction(signals[i], &a, NULL);
    __asm__ volatile("stq $31, 0(%0)" ::"r"(8L) : "memory");
    expect(SIGSEGV, SEGV_MAPERR, "a store to an unmapped page");
    ok(got_address == (void *)8, "the address of the store is reported");
    mprotect(buffer, PAGE, PROT_READ);
    __asm__ volatile("stq $31, 16(%0)" ::"r"(buffer) : "memory");
    expect(SIGSEGV, SEGV_ACCERR, "a store to a read-only page");
    ok(got_address == buffer + 16, "the address of the store is reported");
    mprotect(buffer, PAGE, PROT_READ | PROT_WRITE);
    __asm__ volatile("ldq $1, 0(%0)" ::"r"(0xFFFFFC0000310000UL) : "$1", "memory");
    expect(SIGSEGV, 0, "a load from a kernel address");
    __asm__ volatile("stq $31, 3(%0)" ::"r"(buffer + 2 * PAGE) : "memory");
    expect(SIGSEGV, 0, "an unaligned store to an unmapped page");
    __asm__ volatile(".long 0x04000000");
    expect(SIGILL, ILL_ILLOPC, "an illegal instruction");
    __asm__ volatile("call_pal 0x80");
    expect(SIGTRAP, 0, "a breakpoint");
    __asm__ volatile("mov %0, $16\n\tcall_pal 0xaa" ::"r"(-2L) : "$16");
    expect(SIGFPE, FPE_INTDIV, "a division by zero, as compiled code reports it");
    __asm__ volatile("subq/v %0, 1, $1\n\ttrapb" ::"r"(1L << 63) : "$1");
    expect(SIGFPE, 0, "an integer overflow that traps");
    is(got_signal, 0, "no other signal was delivered");
}

int main(void)
{
    buffer = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(buffer + 2 * PAGE, PAGE);
    test_unaligned();
    test_floating_point();
    test_signals();
    return tap_done();
}
