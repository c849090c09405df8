// TAP
/*
 * Exit handlers of $DCLEXH: the last one first, where the first one stands among those of atexit;
 * their arguments and reasons; a block that is declared twice; ends that call none.
 */
#include <signal.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <tap.h>
#include <unistd.h>

#define ARGUMENTS 16

struct block {
    void *link;
    int (*handler)();
    unsigned int count;
    int *status;
    long more[ARGUMENTS];
};

static int end_pipe[2];
static int reason;

static void tell(const char *text) { (void)!write(end_pipe[1], text, strlen(text)); }

static int at_end(const int *status, const char *text)
{
    char line[32];

    snprintf(line, sizeof(line), "%s%d ", text, *status);
    tell(line);
    return SS$_NORMAL;
}

static void of_c(void) { tell("atexit "); }

static struct block blocks[3];

static void declare(int n, const char *text)
{
    blocks[n] = (struct block){
        .handler = at_end, .count = 2, .status = &reason, .more = {(long)text}};
    if (sys$dclexh(&blocks[n]) != SS$_NORMAL)
        tell("refused ");
}

/* The second is called at the place of the first among those of atexit. */
static void some(void)
{
    declare(0, "a");
    atexit(of_c);
    declare(1, "b");
}

static void by_exit(void)
{
    some();
    exit(0);
}

static void by_failure(void)
{
    some();
    exit(3);
}

static void by_service(void)
{
    some();
    sys$exit(SS$_NOPRIV);
}

static void without(void)
{
    some();
    _exit(0);
}

static void by_signal(void)
{
    some();
    raise(SIGTERM);
}

/* Three blocks, of which the first is declared again: it is the last one then. */
static void twice(void)
{
    for (int n = 0; n < 3; n++)
        declare(n, n == 0 ? "a" : n == 1 ? "b" : "c");
    sys$dclexh(&blocks[0]);
    sys$dclexh(&blocks[0]);
    alarm(20);
    exit(0);
}

static int with_many(int *status, long b, long c, long d, long e, long f, long g, long h, long i,
                     long j, long k, long l, long m, long n, long o, long p)
{
    long sum = b + c + d + e + f + g + h + i + j + k + l + m + n + o;

    tell(*status == SS$_NORMAL && sum == 14 * 15 / 2 && p == 15 ? "all " : "wrong ");
    return SS$_NORMAL;
}

static void many_arguments(void)
{
    struct block *b = &blocks[0];

    *b = (struct block){.handler = with_many, .count = ARGUMENTS, .status = &reason};
    for (long i = 0; i + 1 < ARGUMENTS; i++)
        b->more[i] = i + 1;
    if (sys$dclexh(b) != SS$_NORMAL)
        tell("refused ");
    b = &blocks[1];
    *b = blocks[0];
    b->count = ARGUMENTS + 1;
    if (sys$dclexh(b) == SS$_BADPARAM)
        tell("17 "); /* before the end */
    exit(0);
}

static void ends(void (*end)(void), const char *want, int status, const char *what)
{
    char got[100] = "";
    int how;
    size_t n = 0;
    ssize_t more;
    pid_t pid;

    if (pipe(end_pipe) != 0)
        bail_out("no pipe");
    fflush(stdout);
    if ((pid = fork()) == 0)
        end();
    close(end_pipe[1]);
    while ((more = read(end_pipe[0], got + n, sizeof(got) - 1 - n)) > 0)
        n += (size_t)more;
    close(end_pipe[0]);
    waitpid(pid, &how, 0);
    is_str(got, want, "%s: what is called, with the reason", what);
    is(how, status, "%s: the status", what);
}

int main(void)
{
    ends(by_exit, "atexit b1 a1 ", 0, "exit(0)");
    ends(by_failure, "atexit b44 a44 ", 3 << 8, "exit(3): SS$_ABORT");
    ends(by_service, "atexit b36 a36 ", 4 << 8, "$EXIT");
    ends(without, "", 0, "_exit");
    ends(by_signal, "", SIGTERM, "a signal");
    ends(twice, "a1 c1 b1 ", 0, "a block that is declared twice");
    ends(many_arguments, "17 all ", 0, "16 arguments, and 17");
    return tap_done();
}
