/*
 * A small Bourne shell. Text is parsed into a tree (parse.c), words are expanded (expand.c), and
 * the tree is executed (run.c, builtin.c). On a terminal an editor with history reads the lines
 * (edit.c).
 *
 * Supported: quoting; variables and export; $? $$ $! $# $@ $* $0..$9, ${X}, ${X:-word}, ${#X};
 * $(command) and backquotes; $((expression)); file name patterns; pipes, < > >> <> 2>&1; ; & && ||
 * !; ( ) { }; if while until for; on a terminal job control (^Z, jobs, fg, bg). Not
 * supported: functions, here-documents, case.
 *
 * The memory of one command (its tree and expanded words) comes from an arena, which is released
 * when the command has finished.
 */
#ifndef SH_H
#define SH_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct word {
    struct word *next;
    char *text; /* as typed, quotes included */
};

enum redir_kind { REDIR_IN, REDIR_OUT, REDIR_APPEND, REDIR_BOTH, REDIR_DUP };

struct redir {
    struct redir *next;
    enum redir_kind kind;
    int fd;
    char *target; /* as typed */
};

enum node_kind {
    NODE_SIMPLE,     /* words, redirs */
    NODE_PIPE,       /* left | right */
    NODE_AND,        /* left && right */
    NODE_OR,         /* left || right */
    NODE_SEQUENCE,   /* left ; right */
    NODE_BACKGROUND, /* left & */
    NODE_NOT,        /* ! left */
    NODE_SUBSHELL,   /* ( left ) redirs */
    NODE_GROUP,      /* { left } redirs */
    NODE_IF,         /* if left then right else other */
    NODE_WHILE,      /* while left do right */
    NODE_UNTIL,
    NODE_FOR, /* for name in words do right */
};

struct node {
    enum node_kind kind;
    struct node *left, *right, *other;
    struct word *words;
    struct redir *redirs;
    char *name;
    bool in; /* for: has "in", so it does not use the positional parameters */
};

/* arena: parse.c */
void *arena_alloc(size_t n);
char *arena_string(const char *s, size_t n);
void *arena_mark(void);
void arena_release(void *mark); /* free what was allocated after the mark */

/* parse.c */
enum parse_result {
    PARSE_DONE,
    PARSE_MORE, /* the command continues in the next line */
    PARSE_ERROR /* a message was printed */
};
enum parse_result parse(const char *text, struct node **out); /* *out is NULL for blanks only */
size_t skip_quoted(
    const char *s); /* length of the quoted or substituted text that begins here; 0: not closed */

/* expand.c */
char **expand_words(const struct word *w,
                    int *count);       /* with field splitting and patterns; NULL-terminated */
char *expand_string(const char *text); /* one string, for assignments and targets of redirections */
long arithmetic(const char *text);

/* variables: vars.c */
const char *var_get(const char *name); /* NULL: not set */
void var_set(const char *name, const char *value, bool export_it);
void var_export(const char *name);
void var_unset(const char *name);
void var_print_exported(void);
char **var_environment(void); /* malloc'ed array for execve */
void vars_init(char **environment);
bool is_name(const char *s, size_t n);

/* run.c */
int run(const struct node *n);
int run_text(const char *text); /* parse and run; returns the last status */
int run_stream(int fd, bool interactive);
_Noreturn void
exec_program(char **argv); /* execve; if it fails, prints why and exits with 127 or 126 */
char *capture_output(const char *text); /* the output of a command, in the arena */
pid_t shell_fork(void);                 /* fork; the child is not interactive */
extern int last_status;
extern pid_t last_background;
extern char **parameters; /* $1 ... */
extern int parameter_count;
extern const char *shell_name;            /* $0 */
extern volatile sig_atomic_t interrupted; /* by ^C: the command that runs is abandoned */

/* The number of loops to leave or to continue, set by the builtins and used by run(). */
extern int break_levels, continue_levels;
extern bool leaving; /* after `return` or `exit`: the shell ends with last_status */

/* builtin.c */
typedef int (*builtin_fn)(int argc, char **argv);
builtin_fn builtin_find(const char *name);
int wait_for(pid_t pid);        /* returns the exit status in the form of $? */
int status_of(int wait_status); /* the status in that form */
void reap_background(bool report);

/* jobs.c */
#define JOB_PIDS 64 /* processes of one job */
struct job;
void jobs_init(void); /* begin to control jobs, if standard input is the controlling terminal */
struct job *job_new(const struct node *n); /* a job without processes, named after the command */
/* fork a process of the job; in the child the shell does not control jobs */
pid_t job_fork(struct job *j, bool foreground);
bool job_is_empty(const struct job *j); /* could no process be started? */
int job_wait(struct job *j);        /* wait until it ends or stops; the status in the form of $? */
void job_background(struct job *j); /* let it run in the background */
bool jobs_note(pid_t pid, int status); /* a result of waitpid; false: not of a listed job */
void jobs_report(void);                /* tell of jobs that ended or stopped */
bool jobs_are_stopped(void);           /* is any job stopped? */
bool jobs_run(void);                   /* does any job run in the background? */
bool jobs_are_controlled(void);
int do_jobs(int argc, char **argv);
int do_fg(int argc, char **argv);
int do_bg(int argc, char **argv);

/* edit.c */
char *edit_line(const char *prompt); /* malloc'ed, without newline; NULL: end of input */
void history_add(const char *line);
void history_print(void);

#endif
