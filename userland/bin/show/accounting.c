/* show accounting [PID] [/full]: what processes had used that have ended, the last one last. */
#include "show.h"

#include <accdef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DAY_NS 86400000000000ul

static void print_days(uint64_t ns)
{
    printf("%4lu ", (unsigned long)(ns / DAY_NS));
    print_duration(ns % DAY_NS);
}

static void full(const struct mega_accounting *m)
{
    struct accdef a;

    memcpy(&a, m->message, ACC$K_TERMLEN);
    printf("Process %u, %s, owner %u, user %u, status %%X%08X\n", a.acc$l_pid, m->name,
           a.acc$l_owner, m->uid, a.acc$l_finalsts);
    printf("    Buffered I/O count: %12lu      Peak working set size: %12u\n",
           (unsigned long)m->buffered_io, a.acc$l_wspeak);
    printf("    Direct I/O count:   %12lu      Peak virtual size:     %12lu\n",
           (unsigned long)m->direct_io, (unsigned long)(m->peak_bytes / 512));
    printf("    Page faults:        %12lu      Mounted volumes:       %12u\n",
           (unsigned long)m->faults, a.acc$l_volumes);
    printf("    Charged CPU time: ");
    print_days(m->cpu_ns);
    printf("   Elapsed time: ");
    print_days(m->elapsed_ns);
    putchar('\n');
}

static void line(const struct mega_accounting *m)
{
    struct accdef a;

    memcpy(&a, m->message, ACC$K_TERMLEN);
    printf("%5u %-15s %5u ", a.acc$l_pid, m->name, m->uid);
    print_duration(m->cpu_ns);
    putchar(' ');
    print_duration(m->elapsed_ns);
    printf(" %7lu %8lu %9.2f\n", (unsigned long)m->faults, (unsigned long)m->peak_pages,
           (double)m->peak_bytes / 1048576.0);
}

int show_accounting(unsigned q, const char *name)
{
    struct mega_accounting m;
    unsigned long wanted = 0;
    bool found = !name;
    char *end;

    if (name && ((wanted = strtoul(name, &end, 0)) == 0 || *end)) {
        fprintf(stderr, "%%SHOW-W-NONEXPR, no such process: %s\n", name);
        return 1;
    }
    if (!(q & Q_FULL))
        printf("  Pid Process name     User    CPU time     Elapsed  Faults    Pages   Peak MB\n");
    for (uint64_t n = 1; ask(MEGA_INFO_ACCOUNTING, (int64_t)n, &m, sizeof(m)); n = m.number + 1) {
        if (wanted && ((struct accdef *)m.message)->acc$l_pid != wanted)
            continue;
        found = true;
        if (q & Q_FULL)
            full(&m);
        else
            line(&m);
    }
    if (!found)
        fprintf(stderr, "%%SHOW-W-NONEXPR, no record of process %lu\n", wanted);
    return !found;
}
