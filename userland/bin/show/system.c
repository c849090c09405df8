/*
 * show system: one line for each process. States: CUR running on a CPU; COM ready; MUTEX waiting
 * for a mutex; LEF waiting for an event (pipe, terminal, child), can be ended by a signal; HIB
 * sleeping for a time; RWAST waiting for an event, cannot be ended by a signal; SUSP stopped; ENDED
 * a zombie. I/O counts the calls that read or write, CPU all time on a CPU, User its part in
 * user mode, Page flts all page faults, Pages the pages that the process has in memory, including
 * pages of sections.
 */
#include "show.h"

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

/* Prints a duration as days hh:mm:ss.cc, 13 columns. */
static void put_days(uint64_t ns)
{
    uint64_t hundredths = ns / 10000000, seconds = hundredths / 100;

    put_number(seconds / 86400, 1, ' ');
    putchar_unlocked(' ');
    put_number(seconds / 3600 % 24, 2, '0');
    putchar_unlocked(':');
    put_number(seconds / 60 % 60, 2, '0');
    putchar_unlocked(':');
    put_number(seconds % 60, 2, '0');
    putchar_unlocked('.');
    put_number(hundredths % 100, 2, '0');
}

static void put_process(const struct mega_process *p)
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
    char text[32] = "";
    struct tm *tm;

    clock_gettime(CLOCK_REALTIME, &now);
    tm = gmtime(&now.tv_sec);
    if (tm)
        strftime(text, sizeof(text), "%d-%b-%Y %H:%M:%S", tm);
    if (uname(&u) == 0)
        printf("%s %s on node %s ", u.sysname, u.release, u.nodename);
    ask(MEGA_INFO_MEMORY, 0, &m, sizeof(m));
    printf("%s.%02ld  Uptime ", text, now.tv_nsec / 10000000);
    put_days(m.uptime_ns);
    putchar('\n');
}

int show_system(unsigned q, const char *name)
{
    struct mega_process p;
    uint64_t count = 0;

    (void)q, (void)name;
    heading();
    printf("     Pid  Process Name    State  Pri Nice        I/O           CPU          User  Page "
           "flts     Pages\n");
    while (next_process(&count, &p))
        put_process(&p);
    return 0;
}
