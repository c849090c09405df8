/*
 * Test Anything Protocol for test programs, in one header. A program that ends without calling
 * tap_done() has printed no plan at its end; the test harness counts it as failed even if its exit
 * status is 0.
 *
 *     int main(void)
 *     {
 *         ok(getpid() == 1, "the command is process 1");
 *         is(read(fd, buf, 10), 10, "ten bytes come back");
 *         return tap_done();
 *     }
 *
 * Every line is written by one call of write(2), so that fork does not lose or duplicate buffered
 * output and lines of several processes do not mix. A child may report failures by its exit status
 * (tap_failed()).
 */
#ifndef TAP_H
#define TAP_H

#include "condition.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TAP_LINE 512 /* bytes; longer lines are cut */

static int tap_count_, tap_failures_, tap_planned_ = -1;

__attribute__((format(printf, 2, 0), unused)) static void tap_vline_(const char *head,
                                                                     const char *fmt, va_list ap)
{
    char line[TAP_LINE];
    size_t n = (size_t)snprintf(line, sizeof(line), "%s", head);
    int more = vsnprintf(line + n, sizeof(line) - n - 1, fmt, ap);

    if (more > 0)
        n += (size_t)more < sizeof(line) - n - 1 ? (size_t)more : sizeof(line) - n - 2;
    line[n++] = '\n';
    fflush(stdout);
    for (size_t done = 0; done < n;) {
        ssize_t w = write(1, line + done, n - done);

        if (w < 0 && errno == EINTR)
            continue;
        if (w <= 0)
            _exit(99); /* the output cannot be written */
        done += (size_t)w;
    }
}

/* Print a diagnostic line, which begins with '#'. */
__attribute__((format(printf, 1, 2), unused)) static void diag(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    tap_vline_("# ", fmt, ap);
    va_end(ap);
}

/* Announce the number of tests before the first one. Optional: without it, tap_done() prints the
 * plan. */
__attribute__((unused)) static void tap_plan(int n)
{
    char head[32];

    tap_planned_ = n;
    snprintf(head, sizeof(head), "1..%d\n", n);
    fflush(stdout);
    if (write(1, head, strlen(head)) < 0)
        _exit(99);
}

__attribute__((format(printf, 4, 5), unused)) static int tap_ok_(int pass, const char *file,
                                                                 int line, const char *fmt, ...)
{
    char head[48];
    va_list ap;

    tap_count_++;
    snprintf(head, sizeof(head), "%sok %d - ", pass ? "" : "not ", tap_count_);
    va_start(ap, fmt);
    tap_vline_(head, fmt, ap);
    va_end(ap);
    if (!pass) {
        tap_failures_++;
        diag("at %s:%d", file, line);
    }
    return pass;
}

/* One test, which passes if cond is true. Value: whether it passed. */
#define ok(cond, ...) tap_ok_(!!(cond), __FILE__, __LINE__, __VA_ARGS__)

/* One test, which passes if two integers are equal; prints both if they are not. */
#define is(got, want, ...)                                                           \
    ({                                                                               \
        long tap_g_ = (long)(got), tap_w_ = (long)(want);                            \
        int tap_p_ = tap_ok_(tap_g_ == tap_w_, __FILE__, __LINE__, __VA_ARGS__);     \
        if (!tap_p_)                                                                 \
            diag("got %ld (%#lx), want %ld (%#lx)", tap_g_, tap_g_, tap_w_, tap_w_); \
        tap_p_;                                                                      \
    })

/*
 * Coverage of condition values. The stubs of <starlet.h> report each result to this header. The
 * first time that a service returns a value, the program prints "# returns: sys$NAME SS$_VALUE".
 * The first time that is_status (or, in a child, status_is) compares the value of the service
 * called last and finds the value that the test wants, it prints "# checked: sys$NAME SS$_VALUE".
 * tests/test_condition_matrix.py compares both with docs/condition-values.md. A test only has to
 * use is_status for the results of services.
 */
extern __typeof__(mega$service_hook) mega$service_hook __attribute__((weak));
extern __typeof__(mega$condition_name) mega$condition_name __attribute__((weak));

enum { TAP_RETURNS = 1, TAP_CHECKED = 2 };

static struct {
    const char *service; /* a constant string, compared by address */
    int status;
    unsigned said;
} tap_seen_[512];
static const char *tap_service_; /* the service called last; NULL once compared */
static int tap_status_;

static void tap_say_(const char *service, int status, unsigned what)
{
    /* mega$condition_name is weak: it is absent from a program that does not refer to it. */
    const char *name = mega$condition_name ? mega$condition_name(status) : NULL;
    char line[128], number[16];
    size_t i = 0, n;

    while (tap_seen_[i].service &&
           (tap_seen_[i].service != service || tap_seen_[i].status != status))
        if (++i == sizeof(tap_seen_) / sizeof(tap_seen_[0]))
            return; /* the table is full */
    if (tap_seen_[i].said & what)
        return;
    tap_seen_[i].service = service;
    tap_seen_[i].status = status;
    tap_seen_[i].said |= what;
    snprintf(number, sizeof(number), "%d", status);
    n = (size_t)snprintf(line, sizeof(line), "# %s: %s %s\n",
                         what == TAP_RETURNS ? "returns" : "checked", service,
                         name ? name : number);
    if (write(1, line, n) != (ssize_t)n)
        return; /* the next line of a test reports the error */
}

__attribute__((unused)) static void tap_heard_(const char *service, int status)
{
    int saved = errno;

    if (strncmp(service, "sys$", 4) == 0) {
        tap_service_ = service;
        tap_status_ = status;
        tap_say_(service, status, TAP_RETURNS);
    }
    errno = saved;
}

__attribute__((constructor, unused)) static void tap_listen_(void)
{
    if (&mega$service_hook)
        mega$service_hook = tap_heard_;
}

__attribute__((unused)) static int tap_checked_(int got, int want)
{
    if (got == want && tap_service_ && tap_status_ == got)
        tap_say_(tap_service_, got, TAP_CHECKED);
    tap_service_ = NULL;
    return got == want;
}

/* For a child that prints no test lines: compare two condition values. Value: are they equal? */
#define status_is(got, want)          \
    ({                                \
        int tap_g_ = (got);           \
        tap_checked_(tap_g_, (want)); \
    })

/* One test, which passes if two condition values are equal; prints their names if they are not. */
#define is_status(got, want, ...)                                                \
    ({                                                                           \
        int tap_g_ = (got), tap_w_ = (want);                                     \
        int tap_p_ = tap_ok_(tap_g_ == tap_w_, __FILE__, __LINE__, __VA_ARGS__); \
        if (!tap_checked_(tap_g_, tap_w_)) {                                     \
            diag("got %s", mega$condition_text(tap_g_));                         \
            diag("want %s", mega$condition_text(tap_w_));                        \
        }                                                                        \
        tap_p_;                                                                  \
    })

/* One test, which passes if two strings are equal. */
#define is_str(got, want, ...)                                                          \
    ({                                                                                  \
        const char *tap_g_ = (got), *tap_w_ = (want);                                   \
        int tap_p_ = tap_ok_(!strcmp(tap_g_, tap_w_), __FILE__, __LINE__, __VA_ARGS__); \
        if (!tap_p_)                                                                    \
            diag("got \"%s\", want \"%s\"", tap_g_, tap_w_);                            \
        tap_p_;                                                                         \
    })

/* The number of failed tests so far, for the exit status of a child. */
__attribute__((unused)) static int tap_failed(void) { return tap_failures_; }

/* End the report. Returns the exit status for main: 0 if all tests passed and the plan was kept. */
__attribute__((unused)) static int tap_done(void)
{
    if (tap_planned_ < 0)
        tap_plan(tap_count_);
    else if (tap_planned_ != tap_count_)
        diag("planned %d tests, ran %d", tap_planned_, tap_count_);
    if (tap_failures_)
        diag("%d of %d failed", tap_failures_, tap_count_);
    return tap_failures_ || tap_planned_ != tap_count_ || tap_count_ == 0;
}

/* Stop the program with status 98, because the remaining tests cannot run. */
__attribute__((format(printf, 1, 2), noreturn, unused)) static void bail_out(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    tap_vline_("Bail out! ", fmt, ap);
    va_end(ap);
    _exit(98);
}

#endif
