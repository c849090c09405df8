// TAP
/*
 * What a system call leaves in the registers. The kernel uses t0-t12 and at for its own addresses
 * and data; a program must find none of these, whatever the call and its result, and whether it
 * returned by the fast path or by the slow one. All registers that a call preserves are filled
 * with a value before it and compared after it, floating-point registers too.
 */
#include <errno.h>
#include <fcntl.h>
#include <megalith/info.h>
#include <megalith/services.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <tap.h>

#define MARK       0x5AFE000000000000ul
#define T8         22
#define T9         23
#define PS_USER    8   /* processor status of user mode */
#define CODE_BYTES 512 /* at least the length of call_all */

/* call_all(number, a, r): make the call with a0-a5 from a[6]; then all integer registers go to
   r[0..31]. Those that are not arguments hold MARK + their number at the call. */
void call_all(uint64_t number, const uint64_t a[6], uint64_t r[32]);
__asm__(".text\n"
        ".globl call_all\n"
        ".ent call_all\n"
        ".set noat\n"
        "call_all:\n"
        ".frame $30, 192, $26\n"
        "lda $30, -192($30)\n"
        "stq $9, 0($30)\nstq $10, 8($30)\nstq $11, 16($30)\nstq $12, 24($30)\n"
        "stq $13, 32($30)\nstq $14, 40($30)\nstq $15, 48($30)\nstq $26, 56($30)\n"
        "stq $29, 64($30)\nstq $18, 72($30)\n"
        "mov $16, $0\nmov $17, $1\n"
        "ldq $16, 0($1)\nldq $17, 8($1)\nldq $18, 16($1)\nldq $19, 24($1)\n"
        "ldq $20, 32($1)\nldq $21, 40($1)\n"
        "lda $1, 0x5AFE($31)\nsll $1, 48, $1\n"
        "lda $2, 2($1)\nlda $3, 3($1)\nlda $4, 4($1)\nlda $5, 5($1)\nlda $6, 6($1)\n"
        "lda $7, 7($1)\nlda $8, 8($1)\nlda $9, 9($1)\nlda $10, 10($1)\nlda $11, 11($1)\n"
        "lda $12, 12($1)\nlda $13, 13($1)\nlda $14, 14($1)\nlda $15, 15($1)\n"
        "lda $22, 22($1)\nlda $23, 23($1)\nlda $24, 24($1)\nlda $25, 25($1)\n"
        "lda $26, 26($1)\nlda $27, 27($1)\nlda $28, 28($1)\n"
        "callsys\n"
        "stq $1, 80($30)\nldq $1, 72($30)\n" /* $1 the array; its old value waits on the stack */
        "stq $0, 0($1)\nstq $2, 16($1)\nstq $3, 24($1)\nstq $4, 32($1)\nstq $5, 40($1)\n"
        "stq $6, 48($1)\nstq $7, 56($1)\nstq $8, 64($1)\nstq $9, 72($1)\nstq $10, 80($1)\n"
        "stq $11, 88($1)\nstq $12, 96($1)\nstq $13, 104($1)\nstq $14, 112($1)\n"
        "stq $15, 120($1)\nstq $16, 128($1)\nstq $17, 136($1)\nstq $18, 144($1)\n"
        "stq $19, 152($1)\nstq $20, 160($1)\nstq $21, 168($1)\nstq $22, 176($1)\n"
        "stq $23, 184($1)\nstq $24, 192($1)\nstq $25, 200($1)\nstq $26, 208($1)\n"
        "stq $27, 216($1)\nstq $28, 224($1)\nstq $29, 232($1)\nstq $30, 240($1)\n"
        "ldq $2, 80($30)\nstq $2, 8($1)\n"
        "ldq $9, 0($30)\nldq $10, 8($30)\nldq $11, 16($30)\nldq $12, 24($30)\n"
        "ldq $13, 32($30)\nldq $14, 40($30)\nldq $15, 48($30)\nldq $26, 56($30)\n"
        "ldq $29, 64($30)\n"
        "lda $30, 192($30)\n"
        "ret\n"
        ".end call_all\n");

static char path[] = "/bin/true", buffer[8192];
static int p[2];

struct example {
    const char *what;
    uint64_t number, a[6];
};

static int zeroed(const uint64_t r[32])
{
    static const int clobbered[] = {1, 2, 3, 4, 5, 6, 7, 8, 22, 23, 24, 25, 27, 28};

    for (unsigned k = 0; k < sizeof(clobbered) / sizeof(*clobbered); k++) {
        /* PALcode's return leaves the processor status and the PC to which it returns. */
        if ((clobbered[k] == T8 && r[T8] == PS_USER) ||
            (clobbered[k] == T9 && r[T9] - (uint64_t)call_all < CODE_BYTES))
            continue;
        if (r[clobbered[k]]) {
            diag("$%d holds %#lx", clobbered[k], r[clobbered[k]]);
            return 0;
        }
    }
    return 1;
}

/* getxpid and its relatives return a second result in a4; a3 says whether v0 is an error. */
static int preserved(const struct example *e, const uint64_t r[32])
{
    int second = e->number == 20 || e->number == 24 || e->number == 47;

    for (int k = 9; k < 29; k++) {
        uint64_t want = k >= 16 && k <= 21 ? e->a[k - 16] : MARK + (uint64_t)k;

        if (k == 19 || (k == 20 && second) || (k >= 22 && k != 26))
            continue;
        if (r[k] != want) {
            diag("$%d holds %#lx, not %#lx", k, r[k], want);
            return 0;
        }
    }
    return 1;
}

static void try(const struct example *e)
{
    uint64_t r[32];

    call_all(e->number, e->a, r);
    ok(zeroed(r), "%s leaves nothing in the registers that a call may change", e->what);
    ok(preserved(e, r), "%s preserves the others", e->what);
}

static volatile int signals;
static void on_signal(int sig)
{
    (void)sig;
    signals++;
}

static void floating_point(void)
{
    register double f2 __asm__("$f2") = 2.5, f11 __asm__("$f11") = 11.5, f30 __asm__("$f30") = 30.5;
    register long v0 __asm__("$0") = SYS_stat64, a3 __asm__("$19");
    register uint64_t a0 __asm__("$16") = (uint64_t)path, a1 __asm__("$17") = (uint64_t)buffer;

    __asm__ volatile("callsys"
                     : "+r"(v0), "=r"(a3), "+r"(a0), "+r"(a1), "+f"(f2), "+f"(f11), "+f"(f30)
                     :
                     : "$1", "$2", "$3", "$4", "$5", "$6", "$7", "$8", "$22", "$23", "$24", "$25",
                       "$27", "$28", "memory");
    ok(v0 == 0 && f2 == 2.5 && f11 == 11.5 && f30 == 30.5,
       "a call preserves the floating-point registers");
}

int main(void)
{
    struct sigaction sa = {.sa_handler = on_signal};

    ok(pipe(p) == 0, "a pipe");
    sigaction(SIGUSR1, &sa, NULL);
    const struct example examples[] = {
        {"getxpid", 20, {1, 2, 3, 4, 5, 6}},
        {"getxuid", 24, {1, 2, 3, 4, 5, 6}},
        {"read of a descriptor that is not open", SYS_read, {99, (uint64_t)buffer, 5, 4, 5, 6}},
        {"write into a pipe", SYS_write, {(uint64_t)p[1], (uint64_t)buffer, 100, 4, 5, 6}},
        {"read from a pipe", SYS_read, {(uint64_t)p[0], (uint64_t)buffer, 100, 4, 5, 6}},
        {"stat", SYS_stat64, {(uint64_t)path, (uint64_t)buffer, 3, 4, 5, 6}},
        {"stat to a bad address", SYS_stat64, {(uint64_t)path, 8, 3, 4, 5, 6}},
        {"sched_yield", SYS_sched_yield, {1, 2, 3, 4, 5, 6}},
        {"kill of the caller, with a handler", SYS_kill, {(uint64_t)getpid(), SIGUSR1, 3, 4, 5, 6}},
        {"sigaltstack, with a full frame", SYS_sigaltstack, {0, (uint64_t)buffer, 3, 4, 5, 6}},
        {"mmap", SYS_mmap, {0, 8192, 3, MAP_PRIVATE | MAP_ANONYMOUS, (uint64_t)-1, 0}},
        {"a number without a call", 599, {1, 2, 3, 4, 5, 6}},
        {"a number between the tables", 0xF00, {1, 2, 3, 4, 5, 6}},
        {"a number above the tables", UINT64_MAX, {1, 2, 3, 4, 5, 6}},
        {"a service number without a service", 0x17FF, {1, 2, 3, 4, 5, 6}},
        {"MEGA_SYS_INFO", MEGA_SYS_INFO, {MEGA_INFO_MEMORY, 0, (uint64_t)buffer, 8, 5, 6}},
        {"a service with bad arguments", VMS_DELTVA_64, {1, 2, 3, 4, 5, 6}},
    };

    for (unsigned k = 0; k < sizeof(examples) / sizeof(*examples); k++)
        try(&examples[k]);
    is(signals, 1, "the handler ran");
    floating_point();
    return tap_done();
}
