// TAP
// RUN: --smp 1 --icount -m 1G
// RUN: --smp 4 -m 1G
// SECONDS: 120
/*
 * A process that is killed amid a search of all processes does not finish it: of a process by name
 * ($GETJPI), of a user's processes (getpriority, setpriority), of all states ($INFO).
 *
 * On one CPU with --icount the time from the signal to the end of wait() is counted in
 * instructions. The clock stops the victim anywhere in its calls, of which it makes one after the
 * other, so without a look for the signal about half of a call would still be to come.
 */
#define _GNU_SOURCE
#include <company.h>
#include <descrip.h>
#include <elapsed.h>
#include <iledef.h>
#include <jpidef.h>
#include <megalith/info.h>
#include <signal.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <tap.h>

#define CROWD  2000
#define TRIALS 12

static int gate[2];

static void by_name(void)
{
    struct dsc$descriptor_s name = {6, DSC$K_DTYPE_T, DSC$K_CLASS_S, (char *)"nobody"};
    unsigned int pid = 0;
    ILE3 items[] = {{sizeof(pid), JPI$_PID, &pid, NULL}, {0}};

    sys$getjpiw(0, NULL, &name, items, NULL, NULL, 0);
}

static void priority_of(void) { getpriority(PRIO_USER, 4242); }
static void priority_to(void) { setpriority(PRIO_USER, 4242, 5); }

static void states(void)
{
    struct mega_states m;

    mega$info(MEGA_INFO_STATES, 0, &m, sizeof(m));
}

static void __attribute__((noreturn)) idle(void)
{
    for (;;)
        pause();
}

/* From SIGKILL to the end of wait(), of a process that calls fn again and again; the longest of
 * some trials, in ns. */
static uint64_t longest_end(void (*fn)(void))
{
    uint64_t most = 0;

    for (unsigned k = 0; k < TRIALS; k++) {
        uint64_t from;
        int status;
        pid_t pid = must_fork();

        while (pid == 0)
            fn();
        usleep(3000 + 137 * k);
        from = now_ns();
        kill(pid, SIGKILL);
        if (waitpid(pid, &status, 0) != pid || !WIFSIGNALED(status))
            bail_out("no victim");
        from = now_ns() - from;
        most = from > most ? from : most;
    }
    return most;
}

static void search(const char *what, void (*fn)(void), uint64_t base)
{
    uint64_t ns, call = now_ns();

    fn();
    call = now_ns() - call;
    ns = longest_end(fn);
    diag("%s: a call %lu ns, the end %lu ns, of others %lu ns", what, call, ns, base);
    ok(!counted() || (call > 50000 && ns < base + call / 3), "a search is killed: %s", what);
}

int main(void)
{
    uint64_t base;

    if (pipe(gate) != 0)
        bail_out("no pipe");
    for (unsigned k = 0; k < CROWD; k++)
        if (must_fork() == 0) {
            char c;

            close(gate[1]);
            _exit(read(gate[0], &c, 1) != 0);
        }
    base = longest_end(idle);
    search("a name", by_name, base);
    search("a user's lowest priority", priority_of, base);
    search("a user's priorities", priority_to, base);
    search("the states", states, base);
    close(gate[1]);
    for (unsigned k = 0; k < CROWD; k++)
        if (wait(NULL) < 0)
            bail_out("one of the crowd is lost");
    return tap_done();
}
