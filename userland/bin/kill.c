/* kill [-SIGNAL] PID...: sends a signal, given by number or name. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int signal_number(const char *text)
{
    static const struct {
        const char *name;
        int number;
    } names[] = {
        {"HUP", SIGHUP},   {"INT", SIGINT},   {"QUIT", SIGQUIT}, {"KILL", SIGKILL},
        {"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"SEGV", SIGSEGV}, {"PIPE", SIGPIPE},
        {"ALRM", SIGALRM}, {"TERM", SIGTERM}, {"CHLD", SIGCHLD}, {"STOP", SIGSTOP},
        {"CONT", SIGCONT},
    };
    char *end;
    long n = strtol(text, &end, 10);

    if (end != text && !*end)
        return n >= 0 && n < NSIG ? (int)n : -1;
    if (!strncmp(text, "SIG", 3))
        text += 3;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (!strcmp(names[i].name, text))
            return names[i].number;
    return -1;
}

int main(int argc, char **argv)
{
    int sig = SIGTERM, first = 1, status = 0;

    if (argc > 1 && argv[1][0] == '-') {
        sig = signal_number(argv[1] + 1);
        first = 2;
    }
    if (sig < 0 || first == argc) {
        fprintf(stderr, "usage: kill [-SIGNAL] PID...\n");
        return 2;
    }
    for (int i = first; i < argc; i++) {
        char *end;
        long pid = strtol(argv[i], &end, 10);

        if (end == argv[i] || *end) {
            fprintf(stderr, "kill: %s is not a process number\n", argv[i]);
            status = 2;
        } else if (kill((pid_t)pid, sig) < 0) {
            fprintf(stderr, "kill: %s: %s\n", argv[i], strerror(errno));
            status = 1;
        }
    }
    return status;
}
