/*
 * monitor [CLASS] [/RECORD FILE] [/INTERVAL=time] [/ENDING=time] [/COUNT=n]
 *
 * Shows a class of figures (classes.c) every interval (1 second by default): system, the default,
 * processes, page, io, disk, pool or lock. At a terminal keys choose others (screen.c).
 * Class system without a terminal reports where the time of each CPU went, how many processes
 * are in each state, how many threads wait for a CPU, and the free blocks of paged pool. With
 * /RECORD one JSON object per line is appended to FILE and flushed; at a terminal the screen is
 * drawn anew; else one line is printed.
 * /ENDING ends the program after that time, /COUNT after that many readings, and so does an
 * interrupt (^C), a hang-up or SIGTERM: the current reading is then taken and written, so that the
 * file is complete. A time is a number of seconds, or [days-]hours:minutes[:seconds].
 * docs/tracing.md describes the fields.
 */
#include "classes.h"

#include <condition.h>
#include <errno.h>
#include <filled.h>
#include <signal.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

const char *const state_names[MEGA_STATES] = {
    [MEGA_STATE_CUR] = "CUR",   [MEGA_STATE_COM] = "COM",    [MEGA_STATE_MUTEX] = "MUTEX",
    [MEGA_STATE_LEF] = "LEF",   [MEGA_STATE_HIB] = "HIB",    [MEGA_STATE_RWAST] = "RWAST",
    [MEGA_STATE_SUSP] = "SUSP", [MEGA_STATE_ENDED] = "ENDED"};

const struct column columns[KINDS] = {
    {KERNEL, "kernel"}, {USER, "user"}, {INTERRUPT, "interrupt"}, {SPIN, "spin"}, {IDLE, "idle"}};

int fail(const char *ident, const char *text, const char *what)
{
    fprintf(stderr, "%%MONITOR-E-%s, %s: %s\n", ident, text, what);
    return 1;
}

uint64_t monotonic(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool take_cpus(struct reading *r)
{
    struct mega_cpu c;
    int status;

    for (r->cpus = 0; r->cpus < CPUS; r->cpus++) {
        status = mega$info(MEGA_INFO_CPU, r->cpus, &c, sizeof(c));
        if (status == SS$_NONEXPR)
            break;
        if (!(status & 1))
            return fail("NOINFO", "the kernel answered", mega$condition_message(status, 0)), false;
        r->cpu[r->cpus] = (struct times){{[KERNEL] = c.pure_kernel_ns,
                                          [USER] = c.user_ns,
                                          [INTERRUPT] = c.interrupt_ns,
                                          [SPIN] = c.spin_ns,
                                          [IDLE] = c.pure_idle_ns}};
        r->ready[r->cpus] = c.runq;
    }
    return true;
}

/* If this process was preempted between reading the first CPU and the last, the readings are taken
 * again. */
bool take(struct reading *r)
{
    uint64_t before;
    int status, tries = 0;

    do {
        before = monotonic();
        if (!take_cpus(r))
            return false;
        r->ns = monotonic();
    } while (r->ns - before > 1000000 && ++tries < 10);
    status = mega$info(MEGA_INFO_STATES, 0, &r->states, sizeof(r->states));
    if (!(status & 1))
        return fail("NOINFO", "the kernel answered", mega$condition_message(status, 0)), false;
    return true;
}

/* The kernel's time is computed from the others, and time spent spinning is counted when the spin
 * has ended: then the kernel's becomes less than it was. A counter that would fall keeps its value,
 * and what that adds is taken from what others gain, whose turn comes at the next reading: so the
 * recorded differences are never negative, and add up to the time that has passed. */
void keep_rising(struct reading *now, const struct reading *before)
{
    for (unsigned i = 0; i < now->cpus && i < before->cpus; i++) {
        const uint64_t *b = before->cpu[i].ns;
        uint64_t *t = now->cpu[i].ns, owed = 0, part;

        for (unsigned k = 0; k < KINDS; k++)
            if (t[k] < b[k]) {
                owed += b[k] - t[k];
                t[k] = b[k];
            }
        for (unsigned k = 0; k < KINDS; k++) {
            part = t[k] - b[k] < owed ? t[k] - b[k] : owed;
            t[k] -= part;
            owed -= part;
        }
    }
}

double gained(uint64_t now, uint64_t before)
{
    return now > before ? (double)(now - before) / 1e9 : 0;
}

static void record(FILE *f, const struct reading *a, const struct reading *b, uint64_t start)
{
    struct timespec wall;
    char stamp[32] = "";
    struct tm *tm;

    clock_gettime(CLOCK_REALTIME, &wall);
    tm = gmtime(&wall.tv_sec);
    if (tm)
        strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%S", tm);
    fprintf(f, "{\"time\": \"%s.%03ldZ\", \"at\": %.3f, \"interval\": %.6f, \"cpus\": [", stamp,
            wall.tv_nsec / 1000000, gained(b->ns, start), gained(b->ns, a->ns));
    for (unsigned i = 0; i < b->cpus; i++)
        for (unsigned k = 0; k < KINDS; k++) {
            unsigned kind = columns[k].kind;

            fprintf(f, "%s\"%s\": %.6f%s",
                    k   ? ", "
                    : i ? ", {"
                        : "{",
                    columns[k].name, gained(b->cpu[i].ns[kind], a->cpu[i].ns[kind]),
                    k + 1 < KINDS ? "" : "}");
        }
    fprintf(f, "], \"ready\": [");
    for (unsigned i = 0; i < b->cpus; i++)
        fprintf(f, "%s%lu", i ? ", " : "", (unsigned long)b->ready[i]);
    fprintf(f, "], \"states\": {");
    for (int i = 0; i < MEGA_STATES; i++)
        fprintf(f, "%s\"%s\": %lu", i ? ", " : "", state_names[i],
                (unsigned long)b->states.count[i]);
    fprintf(f, "}, \"pool\": {\"free_blocks\": %lu, \"free_bytes\": %lu}}\n",
            (unsigned long)b->states.pool_free_blocks, (unsigned long)b->states.pool_free);
}

#define WIDE 112 /* columns of a reading in one line */

/* The states and the pool follow, in a line of their own unless the terminal is wide. */
static void begin_states(void)
{
    if (mega$columns() < WIDE)
        printf("\n%9s", "");
}

/* Print the time of all CPUs together, in percent of one CPU. */
static void show(const struct reading *a, const struct reading *b, uint64_t start, unsigned lines)
{
    double t[KINDS] = {0}, interval = gained(b->ns, a->ns);
    unsigned long ready = 0;

    if (lines % 20 == 0) {
        printf("%8s %7s%7s%7s%7s%7s%7s", "Time s", "Kernel%", "User%", "Int%", "Spin%", "Idle%",
               "Ready");
        begin_states();
        for (int i = 0; i < MEGA_STATES; i++)
            printf("%6s", state_names[i]);
        printf("  Free blocks\n");
    }
    for (unsigned i = 0; i < b->cpus; i++) {
        for (unsigned k = 0; k < KINDS; k++)
            t[k] += gained(b->cpu[i].ns[columns[k].kind], a->cpu[i].ns[columns[k].kind]);
        ready += (unsigned long)b->ready[i];
    }
    printf("%8.2f ", gained(b->ns, start));
    for (int i = 0; i < KINDS; i++)
        printf("%7.1f", interval > 0 ? 100 * t[i] / interval : 0);
    printf("%7lu", ready);
    begin_states();
    for (int i = 0; i < MEGA_STATES; i++)
        printf("%6lu", (unsigned long)b->states.count[i]);
    printf("%13lu\n", (unsigned long)b->states.pool_free_blocks);
    fflush(stdout);
}

volatile sig_atomic_t interrupted;

static void interrupt(int signo)
{
    (void)signo;
    interrupted = 1;
}

/* Sleep until `due` or an interrupt. An interrupt between the check and the sleep is noticed at the
 * next whole second. Returns 0 or errno. */
static int sleep_until(uint64_t due)
{
    int status = 0;

    while (!interrupted && !status) {
        uint64_t now = monotonic(), next = now + 1000000000;
        struct timespec until;

        if (now >= due)
            break;
        next = next < due ? next : due;
        until.tv_sec = (time_t)(next / 1000000000u);
        until.tv_nsec = (long)(next % 1000000000u);
        status = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
        if (status == EINTR)
            status = 0;
    }
    return status;
}

static int run(FILE *f, const char *file, uint64_t interval, uint64_t ending, uint64_t count)
{
    uint64_t start = monotonic();
    struct reading r[2];
    int status;

    if (!take(&r[0]))
        return 1;
    /* Readings are due at whole intervals from the start; the last interval may be shorter. */
    for (uint64_t n = 1;; n++) {
        uint64_t due = start + n * interval, end = start + ending;
        struct reading *now = &r[n % 2], *before = &r[(n - 1) % 2];

        due = due < end ? due : end;
        status = sleep_until(due);
        if (status)
            return fail("NOSLEEP", "clock_nanosleep", strerror(status));
        if (!take(now))
            return 1;
        keep_rising(now, before);
        if (f)
            record(f, before, now, start);
        else
            show(before, now, start, (unsigned)(n - 1));
        if (f && (fflush(f) || ferror(f)))
            return fail("NOWRITE", file, strerror(errno));
        if (due == end || n == count || interrupted)
            return 0;
    }
}

/* If argv[*i] is the qualifier `name`, which may be abbreviated, returns its value, written
 * "/NAME=value" or "/NAME value"; otherwise NULL. */
static const char *qualifier(char **argv, int *i, const char *name)
{
    const char *p = argv[*i];
    size_t n = strcspn(p, "=");

    if (n < 2 || n > strlen(name) + 1 || strncasecmp(p + 1, name, n - 1) != 0)
        return NULL;
    if (p[n] == '=')
        return p + n + 1;
    return argv[*i + 1] ? argv[++*i] : "";
}

/* Parse a number of at most `most`, followed by the character `behind`. Moves *text after it. */
static bool digits(const char **text, unsigned long most, char behind, double *value)
{
    size_t n = strspn(*text, "0123456789");
    unsigned long v = strtoul(*text, NULL, 10);

    if (!n || n > 9 || v > most || (*text)[n] != behind)
        return false;
    *value = (double)v;
    *text += n + (behind != '\0');
    return true;
}

/* Parse a time of at least 0.01 seconds and at most a year, in nanoseconds; 0 if it is invalid. */
static uint64_t duration(const char *text)
{
    double days = 0, hours = 0, minutes = 0, s = 0;
    char *end;

    if (strchr(text, ':')) { /* [days-]hours:minutes[:seconds] */
        if (strchr(text, '-') && !digits(&text, 365, '-', &days))
            return 0;
        if (!digits(&text, 23, ':', &hours) || strspn(text, "0123456789") == 0)
            return 0;
        if (!digits(&text, 59, strchr(text, ':') ? ':' : '\0', &minutes))
            return 0;
    }
    s = *text ? strtod(text, &end) : 0;
    if (*text && (end == text || *end || (hours + minutes + days > 0 && s >= 60)))
        return 0;
    s += ((days * 24 + hours) * 60 + minutes) * 60;
    return s >= 0.01 && s <= 31536000 ? (uint64_t)(s * 1e9) : 0;
}

/* Is there a terminal at which someone can type? The console has no size where scripts/run has no
 * terminal: its input is then no keys of a user. */
static bool has_screen(void)
{
    struct winsize w;

    return isatty(0) && isatty(1) && ioctl(0, TIOCGWINSZ, &w) == 0 && w.ws_col && w.ws_row;
}

int main(int argc, char **argv)
{
    uint64_t interval = 1000000000, ending = UINT64_MAX / 2, count = 0; /* 0: no limit */
    struct sigaction action = {.sa_handler = interrupt};
    enum subject subject = SYSTEM;
    const char *file = NULL, *value;
    FILE *f = NULL;
    int status;

    for (int i = 1; i < argc; i++) {
        if (argv[i][0] != '/') {
            subject = subject_of(argv[i]);
            if (subject == SUBJECTS)
                return fail("IVVERB", "no such class", argv[i]);
            continue;
        }
        if ((value = qualifier(argv, &i, "RECORD"))) {
            if (!*value)
                return fail("IVQUAL", "/RECORD", "it requires a file name");
            file = value;
        } else if ((value = qualifier(argv, &i, "INTERVAL"))) {
            if (!(interval = duration(value)))
                return fail("IVQUAL", "/INTERVAL", "it requires a time of at least 0.01 seconds");
        } else if ((value = qualifier(argv, &i, "ENDING"))) {
            if (!(ending = duration(value)))
                return fail("IVQUAL", "/ENDING", "it requires a time of at least 0.01 seconds");
        } else if ((value = qualifier(argv, &i, "COUNT"))) {
            double n;

            if (!digits(&value, 999999999, '\0', &n) || n < 1)
                return fail("IVQUAL", "/COUNT", "it requires a number of readings");
            count = (uint64_t)n;
        } else {
            return fail("IVQUAL", "no such qualifier", argv[i]);
        }
    }
    if (file && subject != SYSTEM)
        return fail("IVQUAL", "/RECORD", "it records class system only");
    if (file && !(f = fopen(file, "a")))
        return fail("NOFILE", file, strerror(errno));
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    if (!f && (has_screen() || subject != SYSTEM))
        return screen(subject, has_screen(), interval, ending, count);
    status = run(f, file, interval, ending, count);
    if (f && fclose(f) && !status)
        return fail("NOWRITE", file, strerror(errno));
    return status;
}
