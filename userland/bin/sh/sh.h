/*
 * The shell: a small Bourne shell. Text becomes a tree (parse.c), words are expanded (expand.c),
 * the tree is run (run.c, builtin.c); on a terminal lines come from an editor with history
 * (edit.c).
 *
 * What it has: quoting; variables and export; $? $$ $! $# $@ $* $0..$9, ${X}, ${X:-word}, ${#X};
 * $(command) and backquotes; $((expression)); file name patterns; pipes, < > >> <> 2>&1; ; & && ||
 * !; ( ) { }; if while until for. What it has not: functions, here-documents, case, job control.
 *
 * Memory of one command (tree, expanded words) comes from an arena that is dropped when the command
 * is done.
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
    bool in; /* for: "in" was there, so not the positional parameters */
};

/* arena: parse.c */
void *arena_alloc(size_t n);
char *arena_string(const char *s, size_t n);
void *arena_mark(void);
void arena_release(void *mark); /* drop what was allocated after the mark */

/* parse.c */
enum parse_result {
    PARSE_DONE,
    PARSE_MORE /* the command goes on in the next line */,
    PARSE_ERROR /* said so */
};
enum parse_result parse(const char *text, struct node **out); /* *out NULL: nothing but blanks */
size_t skip_quoted(
    const char *s); /* length of the quoted or substituted piece that begins here; 0: not closed */

/* expand.c */
char **expand_words(const struct word *w,
                    int *count);       /* NULL-terminated; fields split, patterns matched */
char *expand_string(const char *text); /* one string: assignments, targets */
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
int run_text(const char *text); /* parse and run; the last status */
int run_stream(int fd, bool interactive);
_Noreturn void exec_program(char **argv); /* becomes the program; says why not, 127 or 126 */
char *capture_output(const char *text);   /* what a command prints; arena */
pid_t shell_fork(void); /* the child forgets what belongs to an interactive shell */
extern int last_status;
extern pid_t last_background;
extern char **parameters; /* $1 ... */
extern int parameter_count;
extern const char *shell_name;            /* $0 */
extern volatile sig_atomic_t interrupted; /* by ^C: everything that runs is given up */

/* Leaving loops: counts of levels, seen by run(). */
extern int break_levels, continue_levels;
extern bool leaving; /* `return` or `exit` out of everything: the shell ends with last_status */

/* builtin.c */
typedef int (*builtin_fn)(int argc, char **argv);
builtin_fn builtin_find(const char *name);
int wait_for(pid_t pid); /* exit status as $? has it */
void reap_background(bool report);

/* edit.c */
char *edit_line(const char *prompt); /* malloc'ed, without newline; NULL: end of input */
void history_add(const char *line);
void history_print(void);

#endif
