// TAP
// RUN: --smp 2
// RUN: --smp 4
/* Signals from other CPUs while a process waits in every kind of system call. A call must return
 * its result or EINTR, and never one of the restart codes that are internal to the kernel. */
#include <company.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <tap.h>
#include <time.h>

#define SENDERS 3
#define ROUNDS  300 /* 60 for each call, each interrupted several times on the way */

static volatile sig_atomic_t handled;

static void on_signal(int sig)
{
    (void)sig;
    handled = handled + 1;
}

static long results, interrupted, strange;
static int strange_errno;

static void note(long result)
{
    if (result >= 0)
        results++;
    else if (errno == EINTR)
        interrupted++;
    else
        strange++, strange_errno = errno;
}

int main(void)
{
    struct sigaction sa = {.sa_handler = on_signal};
    struct timespec little = {0, 300000};
    pid_t sender[SENDERS], self = getpid();
    sigset_t usr1, none;
    int p[2], status;
    char c;

    sigaction(SIGUSR1, &sa, NULL);
    sigemptyset(&none);
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    if (pipe(p) != 0)
        bail_out("pipe");
    for (unsigned k = 0; k < SENDERS; k++) {
        sender[k] = must_fork();
        if (sender[k] == 0) {
            for (unsigned long n = 0;; n++) {
                kill(self, SIGUSR1);
                for (volatile unsigned i = 0; i < n * 7919 % 400; i++)
                    ;
            }
        }
    }
    for (unsigned k = 0; k < ROUNDS; k++) {
        pid_t pid;

        switch (k % 5) {
        case 0:
            pid = must_fork();
            if (pid == 0)
                _exit(0);
            while (waitpid(pid, &status, 0) != pid)
                note(-1);
            results++;
            break;
        case 1:
            note(read(p[0], &c, 1)); /* the pipe is empty */
            break;
        case 2:
            note(nanosleep(&little, NULL));
            break;
        case 3:
            note(poll(&(struct pollfd){.fd = p[0], .events = POLLIN}, 1, 1));
            break;
        default:
            sigprocmask(SIG_BLOCK, &usr1, NULL);
            note(sigsuspend(&none));
            sigprocmask(SIG_UNBLOCK, &usr1, NULL);
        }
    }
    for (unsigned k = 0; k < SENDERS; k++) {
        kill(sender[k], SIGKILL);
        waitpid(sender[k], &status, 0);
    }
    diag("%ld results, %ld interruptions, %d signals handled", results, interrupted, (int)handled);
    ok(interrupted > 0 && handled > 0, "signals have interrupted calls");
    is(strange, 0, "no call returns an error other than EINTR");
    is(strange_errno, 0, "(errno)");
    return tap_done();
}
