/*
 * What tracing costs when it is not used: calls that take mutexes and spinlocks, and an unaligned
 * access, measured before any trace was loaded, with traces loaded, running, stopped and unloaded.
 * Under scripts/run --icount with one CPU a nanosecond is an instruction, and the minimum of many
 * rounds contains no interrupt. Prints one line for each state: its name and the minima.
 */
#include <descrip.h>
#include <iledef.h>
#include <lnmdef.h>
#include <megalith/info.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 300
#define PAGE   8192UL

static int ends[2];
static char *page;

static uint64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void need(int condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "trace_cost: %s\n", what);
    exit(1);
}

static void null_call(void) { getpid(); }

static void pipe_byte(void)
{
    char c = 'x';

    need(write(ends[1], &c, 1) == 1 && read(ends[0], &c, 1) == 1, "pipe");
}

static void name(void)
{
    static $DESCRIPTOR(table, "LNM$PROCESS");
    static $DESCRIPTOR(logical, "TRACE_COST");
    static char text[] = "x";
    ILE3 items[] = {{1, LNM$_STRING, text, NULL}, {0}};

    need(sys$crelnm(NULL, &table, &logical, NULL, items) & 1, "$CRELNM");
    need(sys$trnlnm(NULL, &table, &logical, NULL, items) & 1, "$TRNLNM");
    need(sys$dellnm(&table, &logical, NULL) & 1, "$DELLNM");
}

/* Of a page that stays in memory: a fresh one costs less where the CPU was idle before and has
 * zeroed pages. */
static void fault(void)
{
    need(madvise(page, PAGE, MADV_DONTNEED) == 0, "madvise");
    *(volatile char *)page = 1;
}

static void unaligned(void)
{
    static uint64_t two[2];
    uint64_t value;

    __asm__ volatile("ldq %0, 0(%1)" : "=r"(value) : "r"((char *)two + 1) : "memory");
    need(value == 0, "unaligned");
}

static const struct {
    const char *name;
    void (*call)(void);
} calls[] = {{"null", null_call},
             {"pipe", pipe_byte},
             {"name", name},
             {"fault", fault},
             {"unaligned", unaligned}};

static void measure(const char *state)
{
    printf("%s", state);
    for (unsigned i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        uint64_t least = UINT64_MAX;

        for (int r = 0; r < ROUNDS; r++) {
            uint64_t before = now(), d;

            calls[i].call();
            d = now() - before;
            if (d < least)
                least = d;
        }
        printf(" %s=%lu", calls[i].name, (unsigned long)least);
    }
    printf("\n");
    fflush(stdout);
}

static void all(unsigned verb)
{
    for (unsigned f = 0; f < MEGA_TRACE_PRF; f++)
        need(mega$control(MEGA_CTL_TRACE, f, verb, 0, 0, 0) == SS$_NORMAL, "a trace");
}

int main(void)
{
    need(pipe(ends) == 0, "pipe");
    page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    need(page != MAP_FAILED, "mmap");
    measure("warming");
    measure("never");
    all(MEGA_TRACE_LOAD);
    measure("loaded");
    all(MEGA_TRACE_START);
    measure("running");
    all(MEGA_TRACE_STOP);
    measure("stopped");
    all(MEGA_TRACE_UNLOAD);
    measure("unloaded");
    return 0;
}
