/*
 * Conformance programs: plain Linux programs, which run on Megalith and on Linux/Alpha alike. Each
 * prints one line for each case, "name: result", which tests/test_conformance.py compares with the
 * line in NAME.expect.
 *
 * A result must not depend on the machine: no addresses, process numbers or times.
 */
#ifndef CONFORMANCE_H
#define CONFORMANCE_H

#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CASES_SECONDS 30 /* a program that hangs ends by SIGALRM, and its other cases are missing */

/* The name of a case; from the second time on that it is used, with a number. */
static inline const char *case_name(const char *name)
{
    static struct used {
        struct used *next;
        int times;
        char text[];
    } *all;
    static char text[256];
    struct used *u = all;

    while (u && strcmp(u->text, name) != 0)
        u = u->next;
    if (!u) {
        u = malloc(sizeof(*u) + strlen(name) + 1);
        u->times = 0;
        strcpy(u->text, name);
        u->next = all;
        all = u;
    }
    if (++u->times == 1)
        return name;
    snprintf(text, sizeof(text), "%s (%d)", name, u->times);
    return text;
}

/* Report a call that returns -1 with errno on an error. */
static inline void report_result(const char *name, long r, int err)
{
    name = case_name(name);
    if (r == -1)
        printf("%s: -1 %s\n", name, err ? strerrorname_np(err) : "0");
    else
        printf("%s: %ld\n", name, r);
    fflush(stdout);
}

/* The call as the name of its own case, or with a name. */
#define CASE(call) CASE_AS(#call, call)
#define CASE_AS(name, call)                  \
    do {                                     \
        long result_;                        \
                                             \
        errno = 0;                           \
        result_ = (long)(call);              \
        report_result(name, result_, errno); \
    } while (0)

/* A value that is no result of a call, so -1 is nothing special. */
#define VALUE(expression) VALUE_AS(#expression, expression)
static inline void VALUE_AS(const char *name, long v)
{
    printf("%s: %ld\n", case_name(name), v);
    fflush(stdout);
}

/* A text, for what is told best in words. */
static inline void TEXT(const char *name, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    printf("%s: ", case_name(name));
    vprintf(format, ap);
    printf("\n");
    va_end(ap);
    fflush(stdout);
}

/* mmap and its relatives: only whether they succeed. */
#define MAPPED(call)                                             \
    do {                                                         \
        void *at_;                                               \
                                                                 \
        errno = 0;                                               \
        at_ = (call);                                            \
        report_result(#call, at_ == MAP_FAILED ? -1 : 0, errno); \
    } while (0)

/* How a child ended that ran fn: "exit N" or "signal N". Cases inside it print their own lines. */
static inline void in_child(const char *name, void (*fn)(void))
{
    int status = 0;
    pid_t pid;

    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        fn();
        fflush(stdout);
        _exit(0);
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFSIGNALED(status))
        TEXT(name, "signal %s", sigabbrev_np(WTERMSIG(status)));
    else
        TEXT(name, "exit %d", WEXITSTATUS(status));
}

static inline void cases_begin(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    alarm(CASES_SECONDS);
}

#endif
