/*
 * A common event flag cluster: two processes take turns by two flags. The cluster is temporary, so
 * it is gone when the last one has left it.
 */
#include <descrip.h>
#include <lib$routines.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdio.h>
#include <stdlib.h>
#include <stsdef.h>
#include <sys/wait.h>
#include <unistd.h>

#define PING   64
#define PONG   65
#define ROUNDS 3

static $DESCRIPTOR(cluster, "TABLE_TENNIS");

static void check(int status)
{
    if (!$VMS_STATUS_SUCCESS(status))
        lib$signal(status);
}

static void play(int mine, int theirs, char *what)
{
    int i;

    for (i = 1; i <= ROUNDS; i++) {
        check(sys$waitfr(mine));
        check(sys$clref(mine));
        printf("%s %d\n", what, i);
        fflush(stdout);
        check(sys$setef(theirs));
    }
}

int main(void)
{
    int status;
    unsigned int flags;
    pid_t other;

    status = sys$setef(PING);
    printf("before: %s\n", status == SS$_UNASEFC ? "not associated" : "associated");
    check(sys$ascefc(PING, &cluster, 0, 0));
    fflush(stdout);
    other = fork();
    if (other == 0) {
        check(sys$ascefc(PONG, &cluster, 0, 0));
        play(PONG, PING, "    pong");
        exit(0);
    }
    check(sys$setef(PING));
    play(PING, PONG, "ping");
    waitpid(other, 0, 0);
    check(sys$readef(PING, &flags));
    printf("afterwards the flags are %X\n", flags);
    check(sys$dacefc(PING));
    check(sys$ascefc(PING, &cluster, 0, 0));
    check(sys$readef(PING, &flags));
    printf("in a new cluster of that name %X\n", flags);
    check(sys$dacefc(PING));
    status = sys$ascefc(32, &cluster, 0, 0);
    printf("flag 32 is in no common cluster: %s\n", status == SS$_ILLEFC ? "SS$_ILLEFC" : "is");
    return SS$_NORMAL;
}
