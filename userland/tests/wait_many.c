// TAP
/* Waiting for many children, which end, stop and continue in any order: by pid, by group and for
 * any child. Also a parent that ends before its children, some of which are zombies. */
#define _GNU_SOURCE
#include <company.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <tap.h>
#include <unistd.h>

#define MANY 50 /* more than exit re-parents in one step */

static pid_t children[MANY];

/* Creates children that wait for end of file on a pipe and then exit with their number. */
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

/* Makes child i end now, and waits until it is a zombie. */
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

    is(waitpid(-1, &status, WNOHANG), 0, "WNOHANG returns 0 while no child has ended");
    end_child(MANY - 1);
    is(waitpid(children[0], &status, WNOHANG), 0, "WNOHANG for the first child returns 0, too");
    is(waitpid(-1, &status, 0), children[MANY - 1],
       "waitpid for any child returns the last child, which has ended");
    is(status, SIGKILL, "it was ended by the signal");
    close(go);
    for (pid_t pid; (pid = waitpid(-1, &status, 0)) > 0; seen++)
        for (int i = 0; i < MANY; i++)
            if (children[i] == pid && WIFEXITED(status) && WEXITSTATUS(status) == i)
                found[i]++;
    is(errno, ECHILD, "the error is ECHILD when no child is left");
    is(seen, MANY - 1, "each of the others is reported");
    for (int i = 0; i < MANY - 1; i++)
        seen -= found[i] == 1;
    is(seen, 0, "each is reported once, with its own status");
}

static void test_group(void)
{
    int go = start_children(), status;

    setpgid(children[3], children[3]);
    setpgid(children[7], children[3]);
    end_child(20);
    is(waitpid(-children[3], &status, WNOHANG), 0,
       "WNOHANG for a group returns 0 while no child of it has ended");
    end_child(7);
    is(waitpid(-children[3], &status, 0), children[7],
       "waitpid for a group returns its child that has ended");
    is(waitpid(-children[20], &status, WNOHANG), -1, "waitpid for a group without children fails");
    is(errno, ECHILD, "the error is ECHILD");
    is(waitpid(children[20], &status, 0), children[20],
       "waitpid for one pid reaps that child while others run");
    is(waitpid(getppid() ? getppid() : 32000, &status, WNOHANG), -1,
       "waitpid for a process that is not a child fails");
    close(go);
    while (wait(&status) > 0)
        ;
}

static void test_stops(void)
{
    int go = start_children(), status;

    kill(children[5], SIGSTOP);
    is(waitpid(-1, &status, WUNTRACED), children[5], "WUNTRACED reports a stopped child");
    ok(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP, "its status contains the signal");
    is(waitpid(-1, &status, WUNTRACED | WNOHANG), 0, "the stop is reported only once");
    kill(children[6], SIGSTOP);
    kill(children[5], SIGCONT);
    is(waitpid(-1, &status, WCONTINUED), children[5],
       "WCONTINUED reports a continued child, although another one has stopped");
    is(waitpid(children[6], &status, WUNTRACED), children[6],
       "WUNTRACED reports a stopped child, although another one has continued");
    kill(children[6], SIGCONT);
    end_child(6); /* before it is reported as continued */
    is(waitpid(-1, &status, WCONTINUED | WUNTRACED), children[6],
       "a stopped child that is killed is reported");
    is(status, SIGKILL, "only its end is reported");
    is(waitpid(-1, &status, WCONTINUED | WUNTRACED | WNOHANG), 0, "nothing else is reported");
    close(go);
    while (wait(&status) > 0)
        ;
}

/* A process with living and dead children ends. Process 1 becomes the parent of the living ones,
 * which continue; no process waits for any of them, and all must be gone in the end. */
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
        _exit(0); /* also closes the pipe on which the living children wait */
    }
    close(alive[1]);
    is(waitpid(middle, &status, 0), middle, "the process in the middle ends");
    is(status, 0, "it had living and dead children");
    is(read(alive[0], &c, 1), 0, "all living children end");
    close(alive[0]);
    is(waitpid(-1, &status, WNOHANG), -1, "none of them is a child of this process");
}

int main(void)
{
    test_any();
    test_group();
    test_stops();
    test_orphans();
    return tap_done();
}
