// TAP
// RUN: -m 256M
// RUN: -m 256M --smp 4
/*
 * AST routines that call the library amid the library: memory, queues, timers, scans, exit
 * handlers, condition handlers. None waits for ever, none gets a value because it has interrupted
 * the same routine, and $SETAST stays what the program has made it, also beside other threads.
 */
#include <chfdef.h>
#include <efndef.h>
#include <iledef.h>
#include <jpidef.h>
#include <lib$routines.h>
#include <libdef.h>
#include <pscandef.h>
#include <pthread.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <tap.h>
#include <time.h>
#include <unistd.h>

#define ENOUGH  300 /* ASTs that have come amid a loop */
#define SECONDS 20  /* or so long */

static volatile int calls, failed, running;
static void (*volatile action)(void);

/* Every 0.2 ms, until `running` is 0. */
static void storm(__int64 unused)
{
    const __int64 soon = -2000;

    (void)unused;
    calls++;
    action();
    if (running && sys$setimr(EFN$C_ENF, &soon, storm, 1, 0) != SS$_NORMAL)
        failed++;
}

/* Does something again and again amid ASTs that do `inside`. */
static void amid(void (*something)(void), void (*inside)(void), const char *what)
{
    time_t end = time(NULL) + SECONDS;

    action = inside;
    calls = failed = 0;
    running = 1;
    storm(0);
    while (calls < ENOUGH && time(NULL) < end)
        for (int i = 0; i < 50; i++)
            something();
    running = 0;
    sys$cantim(1, 0);
    is(failed, 0, "%s amid %d ASTs that do the same", what, calls);
}

static void check(int status)
{
    if (!(status & 1))
        failed++;
}

/* ---- memory ---- */

static void blocks(void)
{
    int size = 100;
    void *at[4];

    for (int i = 0; i < 4; i++)
        check(lib$get_vm(&size, &at[i], 0));
    for (int i = 0; i < 4; i++)
        check(lib$free_vm(&size, &at[i], 0));
}

static void zones(void)
{
    unsigned int zone;
    int size = 64;
    void *at;

    check(lib$create_vm_zone(&zone));
    check(lib$get_vm(&size, &at, &zone));
    check(lib$delete_vm_zone(&zone));
}

/* Sizes of several kinds, some of which the C library gives back to the kernel. */
static void c_memory(void)
{
    static const size_t sizes[] = {24, 2000, 40000, 200000};
    char *at[4];

    for (int i = 0; i < 4; i++)
        if (!(at[i] = malloc(sizes[i])))
            failed++;
    for (int i = 0; i < 4; i++)
        if (!(at[i] = realloc(at[i], 2 * sizes[i])))
            failed++;
    for (int i = 3; i >= 0; i--)
        free(at[i]);
}

static void timers(void)
{
    unsigned int handle = 0;

    check(lib$init_timer(&handle));
    check(lib$free_timer(&handle));
}

/* ---- queues: one that the routine and what it interrupts have in common ---- */

struct item {
    int links[2] __attribute__((aligned(8)));
};

static int header[2] __attribute__((aligned(8)));

static void queue_by(struct item *item)
{
    struct item *got;

    check(lib$insqti(item, header));
    check(lib$remqhi(header, &got));
    check(lib$insqhi(got, header));
    check(lib$remqti(header, &got));
}

/* In AST routines the same entry again: each takes out what it puts in, or what was there. */
static void queue_inside(void)
{
    static struct item item;
    struct item *got;

    check(lib$insqhi(&item, header));
    check(lib$remqhi(header, &got));
    if (got != &item)
        failed++;
}

static void queue_outside(void)
{
    static struct item items[2];

    queue_by(&items[0]);
    queue_by(&items[1]);
}

/* ---- scans ---- */

static void scan(void)
{
    unsigned int context = 0, pid;
    ILE3 criteria[] = {{0, PSCAN$_OWNER, (void *)(unsigned long)getppid(), 0}, {0, 0, 0, 0}};
    ILE3 list[] = {{4, JPI$_PID, &pid, 0}, {0, 0, 0, 0}};
    int status;

    check(sys$process_scan(&context, criteria));
    while ((status = sys$getjpiw(EFN$C_ENF, &context, 0, list, 0, 0, 0)) == SS$_NORMAL)
        ;
    if (status != SS$_NOMOREPROC)
        failed++;
}

/* ---- exit handlers ---- */

static int never(int *status)
{
    (void)status;
    return SS$_NORMAL;
}

struct exit_block {
    struct exit_block *next;
    int (*handler)();
    unsigned int arguments;
    int *status;
};

static void exit_handlers(void)
{
    struct exit_block block = {0, never, 0, 0};

    check(sys$dclexh(&block));
    check(sys$canexh(&block));
}

/* ---- conditions ---- */

static int go_on(struct chf$signal_array *s, struct chf$mech_array *m)
{
    (void)s;
    (void)m;
    return SS$_CONTINUE;
}

static __attribute__((noipa)) void conditions(void)
{
    lib$establish(go_on);
    check(lib$signal(SS$_ABORT));
}

static __attribute__((noipa)) int returning(void)
{
    lib$establish(lib$sig_to_ret);
    lib$signal(SS$_ABORT);
    return SS$_NORMAL;
}

static void unwinds(void)
{
    if (returning() != SS$_ABORT)
        failed++;
}

/* An AST that the handler of what it has interrupted unwinds. */
static void signals(__int64 unused)
{
    (void)unused;
    lib$signal(SS$_ABORT);
    failed++;
}

static void faults(__int64 at)
{
    *(volatile int *)at = 1;
    failed++;
}

static __attribute__((noipa)) int left_by(void (*routine)(__int64))
{
    lib$establish(lib$sig_to_ret);
    return sys$dclast(routine, 0x3000, 0);
}

static void count(__int64 unused)
{
    (void)unused;
    calls++;
}

static void unwound(void)
{
    failed = calls = 0;
    is(left_by(signals), SS$_ABORT, "a handler of what an AST has interrupted unwinds the routine");
    sys$dclast(count, 0, 0);
    is(calls, 1, "and other ASTs are delivered");
    is(left_by(faults), SS$_ACCVIO, "a fault in a routine is a condition for that handler, too");
    sys$dclast(count, 0, 0);
    is(calls, 2, "and other ASTs are delivered then");
    is(failed, 0, "neither routine has gone on");
}

/* A routine of the library that is left by an unwind puts no AST off any more. */
static __attribute__((noipa)) int bad_queue(void)
{
    static int broken[2] __attribute__((aligned(8))) = {0x40000000, 0x40000000};
    void *got;

    lib$establish(lib$sig_to_ret);
    return lib$remqhi(broken, &got);
}

static void left_amid(void)
{
    calls = 0;
    is(bad_queue(), SS$_ACCVIO, "a queue that leads nowhere");
    sys$dclast(count, 0, 0);
    is(calls, 1, "and an AST after that");
}

/* One that goes on when the handler of its fault returns is still in the middle, whatever has been
 * unwound in the handler. */
#define PAGE 8192
static char *pages;

static int mend(struct chf$signal_array *s, struct chf$mech_array *m)
{
    (void)m;
    if (s->chf$is_sig_name == SS$_ACCVIO && mprotect(pages, PAGE, PROT_READ | PROT_WRITE) == 0)
        unwinds();
    return SS$_CONTINUE;
}

static __attribute__((noipa)) int mended_queue(void)
{
    lib$establish(mend);
    return lib$insqti((unsigned *)(pages + PAGE), pages);
}

static void goes_on_amid(void)
{
    pages = mmap(NULL, 2ul * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(pages, PAGE, PROT_NONE);
    calls = failed = 0;
    is(mended_queue(), LIB$_ONEENTQUE, "a queue whose page comes with the fault");
    is(failed, 0, "and an unwind in the handler");
    sys$dclast(count, 0, 0);
    is(calls, 1, "and an AST after that, too");
    munmap(pages, 2ul * PAGE);
}

/* ---- threads ---- */

static volatile int over;

static void all(void)
{
    scan();
    blocks();
    exit_handlers();
    timers();
    c_memory();
}

static void *keep_calling(void *unused)
{
    while (!over)
        all();
    return unused;
}

static void beside_threads(void)
{
    time_t end = time(NULL) + SECONDS;
    pthread_t t[3];
    int wrong = 0, early = 0;

    over = calls = failed = 0;
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], NULL, keep_calling, NULL);
    action = all;
    running = 1;
    storm(0);
    while (calls < ENOUGH / 3 && time(NULL) < end) {
        int before;

        wrong += sys$setast(0) != SS$_WASSET;
        before = calls;
        all();
        early += calls != before;
        wrong += sys$setast(0) != SS$_WASCLR;
        wrong += sys$setast(1) != SS$_WASCLR;
        all();
    }
    running = 0;
    sys$cantim(1, 0);
    over = 1;
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    is(failed, 0, "three threads beside %d ASTs, all of which call the same routines", calls);
    is(wrong, 0, "$SETAST returns what the program has set");
    is(early, 0, "and no AST comes while that is 0");
}

int main(void)
{
    alarm(120); /* a routine that waits for ever */
    amid(blocks, blocks, "lib$get_vm and lib$free_vm");
    amid(zones, zones, "zones");
    amid(c_memory, c_memory, "malloc, realloc and free");
    amid(timers, timers, "lib$init_timer");
    amid(queue_outside, queue_inside, "insertions and removals");
    is(lib$remqhi(header, &(void *){0}), LIB$_QUEWASEMP, "the queue is empty again");
    amid(scan, scan, "$PROCESS_SCAN and $GETJPI");
    amid(exit_handlers, exit_handlers, "$DCLEXH and $CANEXH");
    amid(conditions, conditions, "signals");
    amid(unwinds, unwinds, "unwinds");
    unwound();
    left_amid();
    goes_on_amid();
    beside_threads();
    return tap_done();
}
