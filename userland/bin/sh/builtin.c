/* Commands that the shell executes itself, and waiting for children. */
#include "sh.h"

#include "logical.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_BACKGROUND 256

/* Children that ended while the shell waited for another one: their statuses, until `wait` asks. */
static struct {
    pid_t pid;
    int status;
} ended[MAX_BACKGROUND];
static int nended;

int status_of(int wait_status)
{
    return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

static void remember(pid_t pid, int status)
{
    if (nended == MAX_BACKGROUND)
        memmove(ended, ended + 1, sizeof(ended[0]) * (size_t)--nended);
    ended[nended].pid = pid;
    ended[nended++].status = status;
}

int wait_for(pid_t pid)
{
    int status;

    for (int i = 0; i < nended; i++)
        if (ended[i].pid == pid) {
            status = ended[i].status;
            memmove(ended + i, ended + i + 1, sizeof(ended[0]) * (size_t)(--nended - i));
            return status;
        }
    while (waitpid(pid, &status, 0) != pid)
        if (errno != EINTR)
            return 127;
    jobs_note(pid, status);
    if (WIFSIGNALED(status)) {
        int sig = WTERMSIG(status);

        if (sig == SIGINT)
            interrupted = true;
        else if (sig != SIGPIPE)
            fprintf(stderr, "%s\n", strsignal(sig));
    }
    return status_of(status);
}

void reap_background(bool report)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG | (jobs_are_controlled() ? WUNTRACED : 0))) > 0) {
        jobs_note(pid, status);
        if (WIFSTOPPED(status))
            continue;
        remember(pid, status_of(status));
        if (report)
            fprintf(stderr, "[%d] ended with status %d\n", (int)pid, status_of(status));
    }
    jobs_report();
}

static int do_wait(int argc, char **argv)
{
    int status = 0;
    pid_t pid;

    if (argc > 1) {
        for (int i = 1; i < argc; i++)
            status = wait_for(atoi(argv[i]));
        return status;
    }
    /* Stopped jobs do not end by themselves. */
    while (!jobs_are_controlled() || jobs_run()) {
        pid = waitpid(-1, &status, jobs_are_controlled() ? WUNTRACED : 0);
        if (pid > 0)
            jobs_note(pid, status);
        else if (errno != EINTR || interrupted)
            break;
    }
    nended = 0;
    return 0;
}

static int do_cd(int argc, char **argv)
{
    const char *to = argc > 1 ? argv[1] : var_get("HOME");
    char here[4096];

    if (chdir(to ? to : "/") < 0) {
        fprintf(stderr, "cd: %s: %s\n", to, strerror(errno));
        return 1;
    }
    if (getcwd(here, sizeof(here)))
        var_set("PWD", here, false);
    return 0;
}

static int do_pwd(int argc, char **argv)
{
    char here[4096];

    (void)argc, (void)argv;
    if (!getcwd(here, sizeof(here))) {
        fprintf(stderr, "pwd: %s\n", strerror(errno));
        return 1;
    }
    puts(here);
    return 0;
}

static int do_exit(int argc, char **argv)
{
    static bool warned;

    if (jobs_are_stopped() && !warned) {
        fprintf(stderr, "There are stopped jobs; exit again ends them.\n");
        warned = true;
        return 1;
    }
    leaving = true;
    return argc > 1 ? atoi(argv[1]) & 255 : last_status;
}

static int do_export(int argc, char **argv)
{
    if (argc == 1)
        var_print_exported();
    for (int i = 1; i < argc; i++) {
        char *equals = strchr(argv[i], '=');

        if (!is_name(argv[i], equals ? (size_t)(equals - argv[i]) : strlen(argv[i]))) {
            fprintf(stderr, "export: %s is not a valid name\n", argv[i]);
            return 1;
        }
        if (equals) {
            *equals = 0;
            var_set(argv[i], equals + 1, true);
        } else {
            var_export(argv[i]);
        }
    }
    return 0;
}

static int do_unset(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        var_unset(argv[i]);
    return 0;
}

static int do_shift(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 1;

    if (n < 0 || n > parameter_count)
        return 1;
    parameters += n;
    parameter_count -= n;
    return 0;
}

/* The number of loops, at least one, that break and continue get as their argument. */
static int levels(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 1;

    return n < 1 ? 1 : n;
}

static int do_break(int argc, char **argv)
{
    break_levels = levels(argc, argv);
    return 0;
}

static int do_continue(int argc, char **argv)
{
    continue_levels = levels(argc, argv);
    return 0;
}

static int do_true(int argc, char **argv)
{
    (void)argc, (void)argv;
    return 0;
}

static int do_false(int argc, char **argv)
{
    (void)argc, (void)argv;
    return 1;
}

static int do_echo(int argc, char **argv)
{
    int first = argc > 1 && !strcmp(argv[1], "-n") ? 2 : 1;

    for (int i = first; i < argc; i++)
        printf("%s%s", i > first ? " " : "", argv[i]);
    if (first == 1)
        putchar('\n');
    return 0;
}

static int do_read(int argc, char **argv)
{
    char line[4096], c;
    size_t n = 0;
    ssize_t r;
    char *p = line;

    while ((r = read(0, &c, 1)) == 1 && c != '\n')
        if (n + 1 < sizeof(line))
            line[n++] = c;
    line[n] = 0;
    for (int i = 1; i < argc; i++) {
        size_t word;

        p += strspn(p, " \t");
        word = i + 1 < argc ? strcspn(p, " \t") : strlen(p);
        var_set(argv[i], arena_string(p, word), false);
        p += word;
    }
    return r == 1 || n ? 0 : 1;
}

static int do_history(int argc, char **argv)
{
    (void)argc, (void)argv;
    history_print();
    return 0;
}

static bool test_one(int argc, char **argv)
{
    struct stat st;
    long a, b;

    if (argc == 0)
        return false;
    if (argc == 1)
        return argv[0][0] != 0;
    if (!strcmp(argv[0], "!"))
        return !test_one(argc - 1, argv + 1);
    if (argc == 2) {
        switch (argv[0][0] == '-' ? argv[0][1] : 0) {
        case 'n':
            return argv[1][0] != 0;
        case 'z':
            return argv[1][0] == 0;
        case 'e':
            return stat(argv[1], &st) == 0;
        case 'f':
            return stat(argv[1], &st) == 0 && S_ISREG(st.st_mode);
        case 'd':
            return stat(argv[1], &st) == 0 && S_ISDIR(st.st_mode);
        case 's':
            return stat(argv[1], &st) == 0 && st.st_size > 0;
        case 't':
            return isatty(atoi(argv[1]));
        }
        return false;
    }
    if (!strcmp(argv[1], "="))
        return !strcmp(argv[0], argv[2]);
    if (!strcmp(argv[1], "!="))
        return strcmp(argv[0], argv[2]) != 0;
    a = strtol(argv[0], NULL, 10);
    b = strtol(argv[2], NULL, 10);
    if (!strcmp(argv[1], "-eq"))
        return a == b;
    if (!strcmp(argv[1], "-ne"))
        return a != b;
    if (!strcmp(argv[1], "-lt"))
        return a < b;
    if (!strcmp(argv[1], "-le"))
        return a <= b;
    if (!strcmp(argv[1], "-gt"))
        return a > b;
    if (!strcmp(argv[1], "-ge"))
        return a >= b;
    return false;
}

static int do_test(int argc, char **argv)
{
    if (!strcmp(argv[0], "[")) {
        if (strcmp(argv[argc - 1], "]")) {
            fprintf(stderr, "[: ] is missing\n");
            return 2;
        }
        argc--;
    }
    return !test_one(argc - 1, argv + 1);
}

builtin_fn builtin_find(const char *name)
{
    static const struct {
        const char *name;
        builtin_fn fn;
    } table[] = {
        {":", do_true},
        {"true", do_true},
        {"false", do_false},
        {"cd", do_cd},
        {"pwd", do_pwd},
        {"exit", do_exit},
        {"export", do_export},
        {"unset", do_unset},
        {"shift", do_shift},
        {"break", do_break},
        {"continue", do_continue},
        {"echo", do_echo},
        {"read", do_read},
        {"wait", do_wait},
        {"history", do_history},
        {"jobs", do_jobs},
        {"fg", do_fg},
        {"bg", do_bg},
        {"test", do_test},
        {"[", do_test},
#ifdef __alpha__
        {"define", do_define},
        {"deassign", do_deassign},
#endif
    };

    size_t n = logical_verb(name);

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (strlen(table[i].name) == n && !strncmp(table[i].name, name, n))
            return table[i].fn;
    return NULL;
}
