/*
 * Job control, in a shell on a terminal that it has as its controlling terminal. Each pipeline,
 * subshell or program is a job: a process group of its own. While a job runs in the foreground it
 * has the terminal; when it stops (^Z) or ends, the shell takes the terminal back, with the
 * settings that it had. Without job control, in scripts and in subshells, jobs are processes of the
 * shell's own group, and none of the terminal's calls are made.
 */
#include "sh.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

struct job {
    struct job *next;
    int number; /* %number; 0: it has never stopped nor run in the background */
    pid_t group;
    pid_t pids[JOB_PIDS];
    bool ended[JOB_PIDS], stopped[JOB_PIDS];
    int count, status; /* status: of the last process, as $? */
    bool told;         /* the user knows that it stopped */
    bool modes_saved;
    struct termios modes; /* of the terminal when the job stopped */
    char *text;
};

static bool control;     /* this shell controls jobs */
static struct job *jobs; /* the latest first */
static struct termios shell_modes;

static const int stop_signals[] = {SIGTSTP, SIGTTIN, SIGTTOU};

static void stop_signals_are(void (*action)(int))
{
    for (size_t i = 0; i < sizeof(stop_signals) / sizeof(*stop_signals); i++)
        signal(stop_signals[i], action);
}

void jobs_init(void)
{
    if (tcgetpgrp(0) < 0 || tcgetattr(0, &shell_modes) < 0)
        return;
    while (tcgetpgrp(0) != getpgrp()) /* started in the background: wait for the foreground */
        if (kill(0, SIGTTIN) < 0)
            return;
    stop_signals_are(SIG_IGN);
    setpgid(0, 0); /* refused to the leader of a session, which leads its group already */
    control = tcsetpgrp(0, getpgrp()) == 0;
    if (!control)
        stop_signals_are(SIG_DFL);
}

/* ---- the text of a job ---- */

static void describe(const struct node *n, FILE *to)
{
    if (!n)
        return;
    switch (n->kind) {
    case NODE_SIMPLE:
        for (const struct word *w = n->words; w; w = w->next)
            fprintf(to, "%s%s", w->text, w->next ? " " : "");
        break;
    case NODE_PIPE:
        describe(n->left, to);
        fputs(" | ", to);
        describe(n->right, to);
        break;
    case NODE_SUBSHELL:
        fputs("( ", to);
        describe(n->left, to);
        fputs(" )", to);
        break;
    default:
        describe(n->left, to);
        if (n->right)
            fputs(" ...", to);
        break;
    }
}

struct job *job_new(const struct node *n)
{
    struct job *j = calloc(1, sizeof(*j));
    size_t size;
    FILE *to = j ? open_memstream(&j->text, &size) : NULL;

    if (!to)
        exit(2);
    describe(n, to);
    fclose(to);
    return j;
}

static void job_free(struct job *j)
{
    for (struct job **at = &jobs; *at; at = &(*at)->next)
        if (*at == j) {
            *at = j->next;
            break;
        }
    free(j->text);
    free(j);
}

/* ---- running ---- */

pid_t job_fork(struct job *j, bool foreground)
{
    pid_t pid;

    if (j->count == JOB_PIDS)
        return -1;
    pid = shell_fork();
    if (pid < 0)
        return pid;
    if (control) { /* both parent and child, so that neither depends on the other's speed */
        pid_t self = pid ? pid : getpid();

        if (!j->group)
            j->group = self;
        setpgid(self, j->group);
        if (foreground && self == j->group)
            tcsetpgrp(0, j->group);
    }
    if (pid == 0) {
        if (control)
            stop_signals_are(SIG_DFL);
        control = false;
    } else {
        j->pids[j->count++] = pid;
    }
    return pid;
}

bool job_is_empty(const struct job *j) { return j->count == 0; }

static bool is_running(const struct job *j)
{
    for (int i = 0; i < j->count; i++)
        if (!j->ended[i] && !j->stopped[i])
            return true;
    return false;
}

static bool is_stopped(const struct job *j)
{
    for (int i = 0; i < j->count; i++)
        if (j->stopped[i])
            return true;
    return false;
}

/* Enter what waitpid has returned. False: pid is of no job. */
static bool note(struct job *j, pid_t pid, int status)
{
    for (int i = 0; i < j->count; i++) {
        if (j->pids[i] != pid)
            continue;
        j->stopped[i] = WIFSTOPPED(status);
        j->ended[i] = WIFEXITED(status) || WIFSIGNALED(status);
        if (i == j->count - 1 && !WIFCONTINUED(status))
            j->status = WIFSTOPPED(status) ? 128 + WSTOPSIG(status) : status_of(status);
        return true;
    }
    return false;
}

bool jobs_note(pid_t pid, int status)
{
    for (struct job *j = jobs; j; j = j->next)
        if (note(j, pid, status))
            return true;
    return false;
}

/* Enter the job in the list, as the one that fg and bg mean without a number. */
static void list_job(struct job *j)
{
    struct job **at = &jobs;
    int most = 0;

    for (; *at && *at != j; at = &(*at)->next)
        ;
    if (*at)
        *at = j->next;
    for (const struct job *o = jobs; o; o = o->next)
        most = o->number > most ? o->number : most;
    if (!j->number)
        j->number = most + 1;
    j->next = jobs;
    jobs = j;
}

static void show_job(const struct job *j, const char *state)
{
    fprintf(stderr, "[%d] %-8s %s\n", j->number, state, j->text);
}

int job_wait(struct job *j)
{
    int status = 0, by_signal = 0, result;

    while (is_running(j)) {
        pid_t pid = -1;

        for (int i = 0; i < j->count && pid < 0; i++)
            if (!j->ended[i] && !j->stopped[i])
                pid = j->pids[i];
        if (waitpid(pid, &status, control ? WUNTRACED : 0) != pid) {
            if (errno == EINTR)
                continue;
            status = 127 << 8;
        }
        note(j, pid, status);
        if (WIFSIGNALED(status))
            by_signal = WTERMSIG(status);
    }
    if (control) {
        tcsetpgrp(0, getpgrp());
        if (is_stopped(j))
            j->modes_saved = tcgetattr(0, &j->modes) == 0;
        if (by_signal || is_stopped(j))
            tcsetattr(0, TCSADRAIN, &shell_modes);
        else
            tcgetattr(0, &shell_modes);
    }
    result = j->status;
    if (is_stopped(j)) {
        fputc('\n', stderr);
        list_job(j);
        show_job(j, "stopped");
        j->told = true;
        return result;
    }
    if (by_signal == SIGINT)
        interrupted = true;
    else if (by_signal && by_signal != SIGPIPE)
        fprintf(stderr, "%s\n", strsignal(by_signal));
    job_free(j);
    return result;
}

void job_background(struct job *j)
{
    last_background = j->count ? j->pids[j->count - 1] : last_background;
    if (control && j->count)
        list_job(j);
    else
        job_free(j);
}

void jobs_report(void)
{
    struct job *next;

    for (struct job *j = jobs; j; j = next) {
        bool over = !is_running(j) && !is_stopped(j);

        next = j->next;
        if (over) {
            show_job(j, "ended");
            job_free(j);
        } else if (!j->told && !is_running(j)) {
            show_job(j, "stopped");
            j->told = true;
        }
    }
}

bool jobs_are_stopped(void)
{
    for (const struct job *j = jobs; j; j = j->next)
        if (is_stopped(j))
            return true;
    return false;
}

bool jobs_run(void)
{
    for (const struct job *j = jobs; j; j = j->next)
        if (is_running(j))
            return true;
    return false;
}

bool jobs_are_controlled(void) { return control; }

/* ---- the commands ---- */

static struct job *job_named(int argc, char **argv)
{
    int number = argc > 1 ? atoi(argv[1] + (argv[1][0] == '%')) : 0;

    if (!control) {
        fprintf(stderr, "%s: this shell does not control jobs\n", argv[0]);
        return NULL;
    }
    for (struct job *j = jobs; j; j = j->next)
        if (!number || j->number == number)
            return j;
    fprintf(stderr, "%s: there is no such job\n", argv[0]);
    return NULL;
}

static void go_on(struct job *j)
{
    for (int i = 0; i < j->count; i++)
        j->stopped[i] = false;
    j->told = false;
    kill(-j->group, SIGCONT);
}

int do_jobs(int argc, char **argv)
{
    (void)argc, (void)argv;
    reap_background(true);
    for (const struct job *j = jobs; j; j = j->next)
        printf("[%d] %-8s %s\n", j->number,
               is_stopped(j)   ? "stopped"
               : is_running(j) ? "running"
                               : "ended",
               j->text);
    return 0;
}

int do_fg(int argc, char **argv)
{
    struct job *j = job_named(argc, argv);

    if (!j)
        return 1;
    printf("%s\n", j->text);
    fflush(stdout);
    tcsetpgrp(0, j->group);
    if (j->modes_saved)
        tcsetattr(0, TCSADRAIN, &j->modes);
    go_on(j);
    return job_wait(j);
}

int do_bg(int argc, char **argv)
{
    struct job *j = job_named(argc, argv);

    if (!j)
        return 1;
    go_on(j);
    list_job(j);
    show_job(j, "running");
    return 0;
}
