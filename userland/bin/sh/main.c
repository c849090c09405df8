/*
 * sh [-c COMMAND [NAME [PARAMETER...]]] [FILE [PARAMETER...]]
 *
 * The shell of machines that cannot get BusyBox, and of most tests: it has what boot, tests and the
 * documents need. Functions, case and here-documents are syntax errors.
 *
 * The start-up script /etc/startup, if it exists, runs before anything else in the system: the
 * first process runs it if that is a shell on the terminal. The script is a process of its own
 * without input; its output goes to standard error.
 */
#include "sh.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define STARTUP "/etc/startup"

static void on_interrupt(int sig)
{
    (void)sig;
    interrupted = true;
}

static void rest(char **argv)
{
    parameters = argv;
    while (parameters[parameter_count])
        parameter_count++;
}

static void run_startup(void)
{
    char *argv[] = {"sh", STARTUP, NULL};
    int status;
    pid_t pid;

    if (access(STARTUP, F_OK) != 0)
        return;
    pid = fork();
    if (pid == 0) {
        int null = open("/dev/null", O_RDONLY);

        if (null >= 0)
            dup2(null, 0);
        dup2(2, 1);
        execve("/bin/sh", argv, var_environment());
        _exit(126);
    }
    status = pid < 0 ? 126 : wait_for(pid);
    if (status != 0)
        fprintf(stderr, "sh: " STARTUP " ended with status %d\n", status);
}

int main(int argc, char **argv, char **environment)
{
    struct sigaction act = {.sa_handler = on_interrupt};
    int fd = 0, status;
    bool interactive;

    vars_init(environment);
    if (argc > 2 && !strcmp(argv[1], "-c")) {
        if (argc > 3 && !strcmp(argv[2], "--")) { /* the system() of glibc 2.41 and later */
            argv++;
            argc--;
        }
        if (argc > 3)
            shell_name = argv[3];
        rest(argv + (argc > 3 ? 4 : 3));
        status = run_text(argv[2]);
        fflush(NULL);
        return status;
    }
    if (argc > 1) {
        fd = open(argv[1], O_RDONLY | O_CLOEXEC);
        if (fd < 0) {
            fprintf(stderr, "sh: %s: %s\n", argv[1], strerror(errno));
            return 127;
        }
        shell_name = argv[1];
        rest(argv + 2);
    } else {
        rest(argv + argc);
    }
    interactive = fd == 0 && isatty(0);
    if (interactive) {
        sigemptyset(&act.sa_mask);
        sigaction(SIGINT, &act, NULL);
        signal(SIGQUIT, SIG_IGN);
        signal(SIGTERM, SIG_IGN);
        jobs_init();
        if (getpid() == 1)
            run_startup();
    }
    status = run_stream(fd, interactive);
    fflush(NULL);
    return status;
}
