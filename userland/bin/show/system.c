/*
 * show system: one line for each process. States: CUR running on a CPU; COM ready; MUTEX waiting
 * for a mutex; LEF waiting for an event (pipe, terminal, child), can be ended by a signal; HIB
 * sleeping for a time; RWAST waiting for an event, cannot be ended by a signal; SUSP stopped; ENDED
 * a zombie. I/O counts the calls that read or write, CPU all time on a CPU, User its part in
 * user mode, Page flts (or Flts) all page faults, Pages the pages that the process has in memory,
 * including pages of sections. Where the columns are narrow, a number that is too large for its
 * column is shown in thousands (K), millions (M) or thousands of millions (G), and times have hours
 * instead of days.
 */
#include "show.h"

#include <filled.h>
#include <stdio.h>
#include <sys/utsname.h>
#include <time.h>

static const char *const names[MEGA_STATES] = {
    [MEGA_STATE_CUR] = "CUR",   [MEGA_STATE_COM] = "COM",    [MEGA_STATE_MUTEX] = "MUTEX",
    [MEGA_STATE_LEF] = "LEF",   [MEGA_STATE_HIB] = "HIB",    [MEGA_STATE_RWAST] = "RWAST",
    [MEGA_STATE_SUSP] = "SUSP", [MEGA_STATE_ENDED] = "ENDED"};

/*
 * A line without printf, which takes 800 instructions for each number: there may be thousands of
 * processes, and nobody waits for a list of them for long.
 */

/* Prints a number, right-aligned in `width` columns with `fill` before it. */
static void put_number(uint64_t value, unsigned width, char fill)
{
    char digits[20];
    unsigned n = 0;

    do
        digits[n++] = (char)('0' + value % 10);
    while ((value /= 10) != 0);
    for (; width > n; width--)
        putchar_unlocked(fill);
    while (n)
        putchar_unlocked(digits[--n]);
}

/* Prints a number, right-aligned in `width` columns, in larger units if it has more digits. */
static void put_count(uint64_t value, unsigned width)
{
    char text[24];
    uint64_t most = 1;

    for (unsigned i = 0; i < width; i++)
        most *= 10;
    if (value < most)
        put_number(value, width, ' ');
    else
        printf("%*s", (int)width, format_count(text, value, width));
}

/* Prints a string, left-aligned in `width` columns. */
static void put_text(const char *text, unsigned width)
{
    for (; *text; text++, width -= width > 0)
        putchar_unlocked(*text);
    for (; width; width--)
        putchar_unlocked(' ');
}

/* Prints a nice value, 4 columns. */
static void put_nice(long nice)
{
    if (nice < 0)
        put_text(nice > -10 ? "  -" : " -", 0);
    put_number((uint64_t)(nice < 0 ? -nice : nice), nice < 0 ? 1 : 4, ' ');
}

/* Prints a duration as print_duration does. */
static void put_hours(uint64_t ns)
{
    uint64_t hundredths = ns / 10000000, seconds = hundredths / 100;

    if (seconds >= 360000) {
        print_duration(ns);
        return;
    }
    put_number(seconds / 3600, 2, '0');
    putchar_unlocked(':');
    put_number(seconds / 60 % 60, 2, '0');
    putchar_unlocked(':');
    put_number(seconds % 60, 2, '0');
    putchar_unlocked('.');
    put_number(hundredths % 100, 2, '0');
}

#define DAY_NS 86400000000000u

/* Prints a duration as days hh:mm:ss.cc, 13 columns. */
static void put_days(uint64_t ns)
{
    put_number(ns / DAY_NS, 1, ' ');
    putchar_unlocked(' ');
    put_hours(ns % DAY_NS);
}

#define WIDE 101 /* columns of the wide table */

/* The row of a process in 80 columns. */
static void put_narrow(const struct mega_process *p)
{
    put_number(p->pid, 5, ' ');
    putchar_unlocked(' ');
    put_text(p->name, 16);
    put_text(p->waits < MEGA_STATES ? names[p->waits] : "?", 5);
    put_number(p->prio, 4, ' ');
    putchar_unlocked(' ');
    put_nice((long)p->nice);
    putchar_unlocked(' ');
    put_count(p->io, 6);
    putchar_unlocked(' ');
    put_hours(p->cpu_ns);
    putchar_unlocked(' ');
    put_hours(p->user_ns);
    putchar_unlocked(' ');
    put_count(p->faults, 5);
    putchar_unlocked(' ');
    put_count(p->rss + p->section_pages, 6);
    putchar_unlocked('\n');
}

static void put_wide(const struct mega_process *p)
{
    put_number(p->pid, 8, ' ');
    put_text("  ", 2);
    put_text(p->name, 16);
    put_text(p->waits < MEGA_STATES ? names[p->waits] : "?", 6);
    put_number(p->prio, 4, ' ');
    putchar_unlocked(' ');
    put_nice((long)p->nice);
    putchar_unlocked(' ');
    put_number(p->io, 10, ' ');
    putchar_unlocked(' ');
    put_days(p->cpu_ns);
    putchar_unlocked(' ');
    put_days(p->user_ns);
    putchar_unlocked(' ');
    put_number(p->faults, 10, ' ');
    put_number(p->rss + p->section_pages, 10, ' ');
    putchar_unlocked('\n');
}

static void heading(void)
{
    struct utsname u;
    struct mega_memory m = {.uptime_ns = 0};
    struct timespec now;
    unsigned long seconds;
    char text[32] = "", up[32];
    struct tm *tm;
    int n = 0;

    clock_gettime(CLOCK_REALTIME, &now);
    tm = gmtime(&now.tv_sec);
    if (tm)
        strftime(text, sizeof(text), "%d-%b-%Y %H:%M:%S", tm);
    if (uname(&u) == 0)
        n = printf("%s %s on node %s ", u.sysname, u.release, u.nodename);
    ask(MEGA_INFO_MEMORY, 0, &m, sizeof(m));
    n += printf("%s.%02ld", text, now.tv_nsec / 10000000);
    seconds = m.uptime_ns / 1000000000;
    snprintf(up, sizeof(up), "Uptime %lu %02lu:%02lu:%02lu.%02lu", seconds / 86400,
             seconds / 3600 % 24, seconds / 60 % 60, seconds % 60,
             (unsigned long)(m.uptime_ns / 10000000 % 100));
    mega$print_last((unsigned)n, up);
}

int show_system(unsigned q, const char *name)
{
    struct mega_process p;
    bool wide = mega$columns() >= WIDE;
    uint64_t count = 0;

    (void)q, (void)name;
    heading();
    printf(
        wide ? "     Pid  Process Name    State  Pri Nice        I/O           CPU          User  "
               "Page flts     Pages\n"
             : "  Pid Process Name    State Pri Nice    I/O         CPU        User  Flts  "
               "Pages\n");
    while (next_process(&count, &p))
        if (wide)
            put_wide(&p);
        else
            put_narrow(&p);
    return 0;
}
