// TAP
/* Waiting for many children, which end, stop and go on in any order, by pid, by group and for any;
 * and a parent that ends before its children, living and dead. */
#define _GNU_SOURCE
#include <company.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <tap.h>
#include <unistd.h>

#define MANY 50 /* more than are orphaned in one portion */

static pid_t children[MANY];

/* Children that wait for the pipe's end, and then end with their number. */
static int start_children(void)
{
    int p[2];
    char c;

    if (pipe(p) != 0)
        bail_out("pipe");
    for (int i = 0; i < MANY; i++) {
        children[i] = must_fork();
        if (children[i] == 0) {
            close(p[1]);
            _exit(read(p[0], &c, 1) == 0 ? i : 255);
        }
    }
    close(p[0]);
    return p[1];
}

/* Ends child i now, and waits until it is a zombie. */
static void end_child(int i)
{
    siginfo_t info;

    kill(children[i], SIGKILL);
    waitid(P_PID, (id_t)children[i], &info, WEXITED | WNOWAIT);
}

static void test_any(void)
{
    int go = start_children(), status, seen = 0;
    unsigned char found[MANY] = {0};

    is(waitpid(-1, &status, WNOHANG), 0, "none has ended");
    end_child(MANY - 1);
    is(waitpid(children[0], &status, WNOHANG), 0, "not the first");
    is(waitpid(-1, &status, 0), children[MANY - 1], "the last one has, and any is asked for");
    is(status, SIGKILL, "by the signal");
    close(go);
    for (pid_t pid; (pid = waitpid(-1, &status, 0)) > 0; seen++)
        for (int i = 0; i < MANY; i++)
            if (children[i] == pid && WIFEXITED(status) && WEXITSTATUS(status) == i)
                found[i]++;
    is(errno, ECHILD, "then there are none");
    is(seen, MANY - 1, "each of the others was reported");
    for (int i = 0; i < MANY - 1; i++)
        seen -= found[i] == 1;
    is(seen, 0, "once, with its own status");
}

static void test_group(void)
{
    int go = start_children(), status;

    setpgid(children[3], children[3]);
    setpgid(children[7], children[3]);
    end_child(20);
    is(waitpid(-children[3], &status, WNOHANG), 0, "nobody of that group has ended");
    end_child(7);
    is(waitpid(-children[3], &status, 0), children[7], "one has");
    is(waitpid(-children[20], &status, WNOHANG), -1, "a group without children");
    is(errno, ECHILD, "is an error");
    is(waitpid(children[20], &status, 0), children[20], "by pid, among living ones");
    is(waitpid(getppid() ? getppid() : 32000, &status, WNOHANG), -1, "one that is no child");
    close(go);
    while (wait(&status) > 0)
        ;
}

static void test_stops(void)
{
    int go = start_children(), status;

    kill(children[5], SIGSTOP);
    is(waitpid(-1, &status, WUNTRACED), children[5], "a stop is reported");
    ok(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP, "with its signal");
    is(waitpid(-1, &status, WUNTRACED | WNOHANG), 0, "once");
    kill(children[6], SIGSTOP);
    kill(children[5], SIGCONT);
    is(waitpid(-1, &status, WCONTINUED), children[5], "who goes on is told to who asks for that");
    is(waitpid(children[6], &status, WUNTRACED), children[6], "and the stop to who asks for it");
    kill(children[6], SIGCONT);
    end_child(6); /* with the report that it went on not taken */
    is(waitpid(-1, &status, WCONTINUED | WUNTRACED), children[6], "a stopped one that is killed");
    is(status, SIGKILL, "reports its end only");
    is(waitpid(-1, &status, WCONTINUED | WUNTRACED | WNOHANG), 0, "and no more than that");
    close(go);
    while (wait(&status) > 0)
        ;
}

/* A process with living and dead children ends: the living become process 1's and go on, nobody
 * waits for any of them, and all of them are gone in the end. */
static void test_orphans(void)
{
    int status, alive[2];
    char c;
    pid_t middle;

    is(pipe(alive), 0, "pipe");
    middle = must_fork();
    if (middle == 0) {
        close(alive[0]);
        start_children();
        for (int i = 0; i < MANY; i += 2)
            end_child(i);
        _exit(0); /* which also closes the pipe that the living wait for */
    }
    close(alive[1]);
    is(waitpid(middle, &status, 0), middle, "the one in the middle");
    is(status, 0, "has made dead and living children");
    is(read(alive[0], &c, 1), 0, "and all of them end");
    close(alive[0]);
    is(waitpid(-1, &status, WNOHANG), -1, "none of them is ours");
}

int main(void)
{
    test_any();
    test_group();
    test_stops();
    test_orphans();
    return tap_done();
}
