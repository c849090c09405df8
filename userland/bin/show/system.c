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

/* Prints a duration as days hh:mm:ss.cc, 13 columns. */
static void print_days(uint64_t ns)
{
    uint64_t day = 86400000000000;

    printf("%lu ", (unsigned long)(ns / day));
    print_duration(ns % day);
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
    print_days(m.uptime_ns);
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
    while (next_process(&count, &p)) {
        printf("%8u  %-15s %-5s %4u %4ld %10lu ", p.pid, p.name,
               p.waits < MEGA_STATES ? names[p.waits] : "?", p.prio, (long)p.nice,
               (unsigned long)p.io);
        print_days(p.cpu_ns);
        putchar(' ');
        print_days(p.user_ns);
        printf(" %10lu%10lu\n", (unsigned long)p.faults, (unsigned long)(p.rss + p.section_pages));
    }
    return 0;
}
