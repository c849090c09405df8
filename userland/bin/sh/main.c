/* sh [-c COMMAND [NAME [PARAMETER...]]] [FILE [PARAMETER...]] */
#include "sh.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

int main(int argc, char **argv, char **environment)
{
    struct sigaction act = {.sa_handler = on_interrupt};
    int fd = 0, status;
    bool interactive;

    vars_init(environment);
    if (argc > 2 && !strcmp(argv[1], "-c")) {
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
    }
    status = run_stream(fd, interactive);
    fflush(NULL);
    return status;
}
