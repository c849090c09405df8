/* Executes the tree of a command: processes, pipes, redirections. */
#include "sh.h"

#include "logical.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#define SAVED_FD 100 /* original descriptors of a redirected builtin are saved from here on */

int last_status;
pid_t last_background;
char **parameters;
int parameter_count;
const char *shell_name = "sh";
volatile sig_atomic_t interrupted;
int break_levels, continue_levels;
bool leaving;
static unsigned substitutions; /* number of command substitutions so far */

pid_t shell_fork(void)
{
    pid_t pid;

    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        signal(SIGINT, SIG_DFL);
        signal(SIGQUIT, SIG_DFL);
        signal(SIGTERM, SIG_DFL);
        if (interrupted) /* interrupted before SIGINT had its default action */
            raise(SIGINT);
    } else if (pid < 0) {
        fprintf(stderr, "sh: fork: %s\n", strerror(errno));
    }
    return pid;
}

static _Noreturn void child_exit(int status)
{
    fflush(NULL);
    _exit(status);
}

/* Perform the redirections. saved: gets the duplicate of each original descriptor (-1: it was
 * closed), or NULL in a child, which does not restore them. */
static bool redirect(const struct redir *r, int *saved)
{
    for (; r; r = r->next) {
        static const int flags[] = {
            [REDIR_IN] = O_RDONLY,
            [REDIR_OUT] = O_WRONLY | O_CREAT | O_TRUNC,
            [REDIR_APPEND] = O_WRONLY | O_CREAT | O_APPEND,
            [REDIR_BOTH] = O_RDWR | O_CREAT,
        };
        char *target = expand_string(r->target);
        int fd;

        if (saved && r->fd < 10 && saved[r->fd] == -2)
            saved[r->fd] = fcntl(r->fd, F_DUPFD_CLOEXEC, SAVED_FD);
        if (r->kind == REDIR_DUP && !strcmp(target, "-")) {
            close(r->fd);
            continue;
        }
        fd = r->kind == REDIR_DUP ? atoi(target) : open(target, flags[r->kind], 0666);
        if (fd < 0 || (fd != r->fd && dup2(fd, r->fd) < 0)) {
            fprintf(stderr, "sh: %s: %s\n", target, strerror(errno));
            return false;
        }
        if (r->kind != REDIR_DUP && fd != r->fd)
            close(fd);
    }
    return true;
}

static void restore(const int *saved)
{
    fflush(NULL);
    for (int fd = 0; fd < 10; fd++) {
        if (saved[fd] == -2)
            continue;
        if (saved[fd] >= 0) {
            dup2(saved[fd], fd);
            close(saved[fd]);
        } else {
            close(fd);
        }
    }
}

static const int saved_none[10] = {-2, -2, -2, -2, -2, -2, -2, -2, -2, -2};

void exec_program(char **argv)
{
    char **env = var_environment();
    const char *path = var_get("PATH");

    if (strchr(argv[0], '/')) {
        execve(argv[0], argv, env);
    } else {
        errno = ENOENT;
        for (const char *p = path ? path : ""; *p;) {
            size_t n = strcspn(p, ":");
            char *full = arena_alloc(n + strlen(argv[0]) + 2);

            memcpy(full, p, n);
            full[n] = '/';
            strcpy(full + n + 1, argv[0]);
            execve(full, argv, env);
            if (errno != ENOENT && errno != ENOTDIR) {
                argv[0] = full;
                break;
            }
            p += n + (p[n] == ':');
        }
    }
    if (errno == ENOEXEC) { /* a script without #! */
        int fd = open(argv[0], O_RDONLY | O_CLOEXEC);

        if (fd >= 0) {
            shell_name = argv[0];
            parameters = argv + 1;
            for (parameter_count = 0; parameters[parameter_count];)
                parameter_count++;
            child_exit(run_stream(fd, false));
        }
    }
    fprintf(stderr, "sh: %s: %s\n", argv[0], errno == ENOENT ? "not found" : strerror(errno));
    child_exit(errno == ENOENT ? 127 : 126);
}

/* Perform the NAME=value words at the start; returns the first word after them. */
static const struct word *assignments(const struct word *w, bool export_them)
{
    for (; w; w = w->next) {
        const char *equals = strchr(w->text, '=');

        if (!equals || !is_name(w->text, (size_t)(equals - w->text)))
            break;
        var_set(arena_string(w->text, (size_t)(equals - w->text)), expand_string(equals + 1),
                export_them);
    }
    return w;
}

static const struct word *skip_assignments(const struct word *w)
{
    for (; w; w = w->next) {
        const char *equals = strchr(w->text, '=');

        if (!equals || !is_name(w->text, (size_t)(equals - w->text)))
            break;
    }
    return w;
}

/* Wait for a job of which at least one process should have been started. */
static int end_of(struct job *job)
{
    return job_is_empty(job) ? (job_background(job), 126) : job_wait(job);
}

/* Run a simple command. in_child: the caller is a process of its own, which a program replaces. */
static int run_simple(const struct node *n, bool in_child)
{
    const struct word *first = skip_assignments(n->words);
    int argc, saved[10], status;
    char **argv;
    builtin_fn builtin;
    struct job *job;

    argv = expand_words(first, &argc);
    if (argc == 0) { /* status of the last command substitution, if there was one */
        unsigned before = substitutions;

        memcpy(saved, saved_none, sizeof(saved));
        status = redirect(n->redirs, saved) ? 0 : 1;
        assignments(n->words, false);
        restore(saved);
        return status || substitutions == before ? status : last_status;
    }
    if (!strcmp(argv[0], "exec")) {
        if (!redirect(n->redirs, NULL))
            return 1;
        if (argc > 1) {
            fflush(NULL);
            assignments(n->words, true);
            exec_program(argv + 1);
        }
        return 0;
    }
    builtin = builtin_find(argv[0]);
    if (builtin) {
        memcpy(saved, saved_none, sizeof(saved));
        fflush(NULL);
        if (redirect(n->redirs, saved)) {
            assignments(n->words, false);
            status = builtin(argc, argv);
        } else {
            status = 1;
        }
        restore(saved);
        return status;
    }
    job = in_child ? NULL : job_new(n);
    if (!job || job_fork(job, true) == 0) {
        if (!redirect(n->redirs, NULL))
            child_exit(1);
        assignments(n->words, true);
        exec_program(argv);
    }
    status = end_of(job);
    logical_program_ended();
    return status;
}

static int run_in_child(const struct node *n)
{
    if (n->kind == NODE_SIMPLE)
        return run_simple(n, true);
    return run(n);
}

/* a | b | c: each in a process of its own; the status is that of the last one. */
static int run_pipe(const struct node *n)
{
    struct job *job = job_new(n);
    int in = -1;

    for (;; n = n->right) {
        bool last = n->kind != NODE_PIPE;
        const struct node *command = last ? n : n->left;
        int fds[2] = {-1, -1};
        pid_t pid;

        if (!last && pipe(fds) < 0) {
            fprintf(stderr, "sh: pipe: %s\n", strerror(errno));
            break;
        }
        pid = job_fork(job, true);
        if (pid == 0) {
            if (in >= 0)
                dup2(in, 0), close(in);
            if (!last)
                dup2(fds[1], 1), close(fds[1]), close(fds[0]);
            child_exit(run_in_child(command));
        }
        if (in >= 0)
            close(in);
        if (fds[1] >= 0)
            close(fds[1]);
        in = fds[0];
        if (pid < 0 || last)
            break;
    }
    if (in >= 0)
        close(in);
    return end_of(job);
}

static int run_background(const struct node *n)
{
    bool controlled = jobs_are_controlled();
    struct job *job = job_new(n);
    pid_t pid = job_fork(job, false);

    if (pid == 0) {
        /* A controlled job has a group of its own: the terminal's keys do not reach it, and reading
         * the terminal stops it, until fg gives it both. Any other must not compete with the shell.
         */
        int fd = controlled ? -1 : open("/dev/null", O_RDONLY);

        if (fd > 0)
            dup2(fd, 0), close(fd);
        if (!controlled)
            signal(SIGINT, SIG_IGN);
        child_exit(run_in_child(n));
    }
    job_background(job);
    return pid < 0 ? 126 : 0;
}

static int run_group(const struct node *n)
{
    int saved[10], status = 1;

    memcpy(saved, saved_none, sizeof(saved));
    fflush(NULL);
    if (redirect(n->redirs, saved))
        status = run(n->left);
    restore(saved);
    return status;
}

/* After the body of a loop: shall the loop go on? */
static bool loop_goes_on(void)
{
    if (break_levels) {
        break_levels--;
        return false;
    }
    if (continue_levels && --continue_levels)
        return false;
    return !leaving && !interrupted;
}

static int run_while(const struct node *n)
{
    int status = 0;

    for (;;) {
        void *mark = arena_mark();
        bool go = (run(n->left) == 0) == (n->kind == NODE_WHILE);

        if (go && !leaving && !interrupted)
            status = run(n->right);
        arena_release(mark);
        if (!go || !loop_goes_on())
            return status;
    }
}

static int run_for(const struct node *n)
{
    int count = parameter_count, status = 0;
    char **values = n->in ? expand_words(n->words, &count) : parameters;

    for (int i = 0; i < count; i++) {
        void *mark = arena_mark();

        var_set(n->name, values[i], false);
        status = run(n->right);
        arena_release(mark);
        if (!loop_goes_on())
            break;
    }
    return status;
}

int run(const struct node *n)
{
    if (!n || leaving || break_levels || continue_levels || interrupted)
        return last_status;
    switch (n->kind) {
    case NODE_SIMPLE:
        last_status = run_simple(n, false);
        break;
    case NODE_PIPE:
        last_status = run_pipe(n);
        break;
    case NODE_AND:
        if (run(n->left) == 0)
            run(n->right);
        break;
    case NODE_OR:
        if (run(n->left) != 0)
            run(n->right);
        break;
    case NODE_SEQUENCE:
        run(n->left);
        run(n->right);
        break;
    case NODE_BACKGROUND:
        last_status = run_background(n->left);
        break;
    case NODE_NOT:
        last_status = !run(n->left);
        break;
    case NODE_SUBSHELL: {
        struct job *job = job_new(n);

        if (job_fork(job, true) == 0)
            child_exit(redirect(n->redirs, NULL) ? run(n->left) : 1);
        last_status = end_of(job);
        break;
    }
    case NODE_GROUP:
        last_status = run_group(n);
        break;
    case NODE_IF:
        if (run(n->left) == 0)
            run(n->right);
        else if (n->other)
            run(n->other);
        else
            last_status = 0;
        break;
    case NODE_WHILE:
    case NODE_UNTIL:
        last_status = run_while(n);
        break;
    case NODE_FOR:
        last_status = run_for(n);
        break;
    }
    return last_status;
}

int run_text(const char *text)
{
    void *mark = arena_mark();
    struct node *n;

    switch (parse(text, &n)) {
    case PARSE_DONE:
        run(n);
        break;
    case PARSE_MORE:
        fprintf(stderr, "sh: the command is incomplete\n");
        /* fall through */
    case PARSE_ERROR:
        last_status = 2;
    }
    arena_release(mark);
    return last_status;
}

/* Read one byte at a time, because what follows the line is the input of the commands. */
static char *read_line(int fd)
{
    size_t n = 0, size = 0;
    char *line = NULL, c;

    for (;;) {
        ssize_t r = read(fd, &c, 1);

        if (r < 0 && errno == EINTR)
            continue;
        if (r <= 0) {
            if (line)
                line[n] = 0;
            return line;
        }
        if (n + 2 > size)
            line = realloc(line, size = size ? 2 * size : 128);
        if (c == '\n') {
            line[n] = 0;
            return line;
        }
        line[n++] = c;
    }
}

int run_stream(int fd, bool interactive)
{
    char *text = NULL;

    while (!leaving) {
        char *line, *joined;
        struct node *n;
        void *mark;
        enum parse_result r;

        if (interactive)
            reap_background(true);
        line = interactive ? edit_line(text ? "> " : "megalith$ ") : read_line(fd);
        if (!line && interrupted) { /* the line was discarded by ^C */
            interrupted = false;
            free(text);
            text = NULL;
            last_status = 130;
            continue;
        }
        if (!line && interactive && jobs_are_stopped()) {
            char *words[] = {"exit", NULL};

            last_status = builtin_find("exit")(1, words); /* warns once */
            continue;
        }
        if (!line)
            break;
        if (asprintf(&joined, "%s%s\n", text ? text : "", line) < 0)
            exit(2);
        if (interactive)
            history_add(line);
        free(line);
        free(text);
        text = joined;
        mark = arena_mark();
        r = parse(text, &n);
        interrupted = false;
        if (r == PARSE_DONE)
            run(n);
        else if (r == PARSE_ERROR) { /* what follows may belong to what is wrong */
            last_status = 2;
            if (interactive)
                tcflush(0, TCIFLUSH);
            else
                leaving = true;
        }
        if (interrupted) {
            fputc('\n', stderr);
            last_status = 128 + SIGINT;
            break_levels = continue_levels = 0;
            interrupted = false;
        }
        arena_release(mark);
        if (r != PARSE_MORE) {
            free(text);
            text = NULL;
        }
    }
    if (text) {
        fprintf(stderr, "sh: the input ends in the middle of a command\n");
        last_status = 2;
    }
    free(text);
    return last_status;
}

char *capture_output(const char *text)
{
    int fds[2];
    size_t n = 0, size = 256;
    char *out = arena_alloc(size);
    pid_t pid;

    if (pipe(fds) < 0)
        return out;
    pid = shell_fork();
    if (pid == 0) {
        dup2(fds[1], 1);
        close(fds[0]);
        close(fds[1]);
        child_exit(run_text(text));
    }
    close(fds[1]);
    for (;;) {
        ssize_t r;

        if (n + 1 == size) {
            char *bigger = arena_alloc(2 * size);

            memcpy(bigger, out, n);
            out = bigger;
            size *= 2;
        }
        r = read(fds[0], out + n, size - 1 - n);
        if (r < 0 && errno == EINTR)
            continue;
        if (r <= 0)
            break;
        n += (size_t)r;
    }
    close(fds[0]);
    substitutions++;
    last_status = pid > 0 ? wait_for(pid) : 126;
    while (n && out[n - 1] == '\n')
        n--;
    out[n] = 0;
    return out;
}
