// TAP
// RUN: --smp 2 -m 3G
// SECONDS: 150
/* Processes can be created until the limit is reached. Then fork must fail, no process may die of
 * it, and when the processes have ended everything must work as before. Without the limit the
 * kernel would search for a free process number forever. */
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
    ok(n >= ENOUGH && n < MOST, "%u processes exist at once", n);
    ok(error == EAGAIN, "then fork fails with EAGAIN (error %d)", error);
    is(kill(-group, SIGKILL), 0, "all of them are killed by one call");
    while (gone < n && wait(&status) > 0)
        gone += WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    is(gone, n, "all of them have ended");

    pid = fork();
    if (pid == 0)
        _exit(42);
    is(waitpid(pid, &status, 0), pid, "a new process can be created");
    is(status, 42 << 8, "the new process works");
    return tap_done();
}
