// TAP
// RUN: --smp 2 -m 3G
// SECONDS: 150
/* Processes may be made until there are no more; then fork fails, nobody dies of it, and when they
 * have ended everything works as before. Without the limit the kernel would look for a free number
 * for ever. */
#include <signal.h>
#include <sys/wait.h>
#include <tap.h>

#define MOST    20000u
#define PID_MAX 32768
#define ENOUGH  4000u

int main(void)
{
    unsigned n = 0, gone = 0;
    int status, error;
    pid_t group = -1, pid;

    for (; n < MOST; n++) {
        pid = fork();
        if (pid < 0)
            break;
        if (pid == 0) {
            setpgid(0, group < 0 ? 0 : group);
            for (;;)
                pause();
        }
        if (group < 0)
            group = pid;
        setpgid(pid, group);
    }
    error = errno;
    ok(n >= ENOUGH && n < MOST, "%u processes at once", n);
    ok(error == EAGAIN, "then fork fails with EAGAIN: %d", error);
    is(kill(-group, SIGKILL), 0, "all are killed by one call");
    while (gone < n && wait(&status) > 0)
        gone += WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    is(gone, n, "and have ended");

    pid = fork();
    if (pid == 0)
        _exit(42);
    is(waitpid(pid, &status, 0), pid, "there can be new ones");
    is(status, 42 << 8, "which work");
    return tap_done();
}
