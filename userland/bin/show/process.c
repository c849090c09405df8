/* show process [PID] [/all] [/full]; show cpu [/full]; show parameter [NAME]; show pci */
#include "show.h"

#include <megalith/creds.h>
#include <privileges.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

/* The OpenVMS name for each value of enum thread_state (kernel/sched/thread.h). */
static const char *state_name(uint32_t state)
{
    static const char *const names[] = {"NEW", "COM", "CUR", "LEF", "DEAD"};

    return state < sizeof(names) / sizeof(names[0]) ? names[state] : "?";
}

static void identity(const struct mega_process *p)
{
    char current[512], authorised[512], rights[128];

    mega$format_names(mega$privileges, p->privileges, current, sizeof(current));
    mega$format_names(mega$privileges, p->authorised, authorised, sizeof(authorised));
    mega$format_names(mega$rights, p->rights, rights, sizeof(rights));
    printf("    UIC [%o,%o], privileges %s, authorised %s\n", p->uic_group, p->uic_member, current,
           authorised);
    printf("    Rights identifiers %s\n", rights);
}

static void full(const struct mega_process *p)
{
    printf("Process %u, %s, parent %u, user %u\n", p->pid, p->name, p->ppid, p->uid);
    identity(p);
    printf("    State %s, priority %u, CPU %u, time ", state_name(p->state), p->prio, p->cpu);
    print_duration(p->cpu_ns);
    printf(" (user ");
    print_duration(p->user_ns);
    printf(", kernel ");
    print_duration(p->cpu_ns - p->user_ns);
    printf("), %lu switches\n", (unsigned long)p->switches);
    printf("    Nice %ld, weight %lu, virtual time %+.3f ms from the least of its group\n",
           (long)p->nice, (unsigned long)p->weight, (double)p->lead_ns / 1e6);
    printf("    Pages: private %lu, locked %lu, section %lu, page tables %lu; virtual %.2f MB\n",
           (unsigned long)p->rss, (unsigned long)p->locked, (unsigned long)p->section_pages,
           (unsigned long)p->pt_pages, (double)p->vsize / 1048576.0);
    printf("    Faults: all %lu, demand zero %lu, copy on write %lu, object page valid %lu, file "
           "%lu, stack %lu\n",
           (unsigned long)p->faults, (unsigned long)p->demand_zero, (unsigned long)p->cow,
           (unsigned long)p->object_valid, (unsigned long)p->file, (unsigned long)p->stack_grow);
    printf("    Paging faults: modified page still in memory %lu, page file %lu\n",
           (unsigned long)p->aged, (unsigned long)p->page_file);
    printf("    Section faults: made valid %lu, table picked up %lu, raced %lu, global valid %lu\n",
           (unsigned long)p->section_made_valid, (unsigned long)p->section_l3_pickup,
           (unsigned long)p->section_raced, (unsigned long)p->section_global_valid);
    printf("    Unaligned accesses %lu, home domain %lu\n", (unsigned long)p->unaligned,
           (unsigned long)p->home_rad);
}

bool next_process(uint64_t *count, struct mega_process *p)
{
    int status = SS$_NONEXPR;

    if (*count)
        status = mega$info(MEGA_INFO_PROCESS, -1 - (int64_t)p->pid, p, sizeof(*p));
    if (status == SS$_NOMOREPROC)
        return false;
    /* This is the first one, or the process shown last has ended: continue by index. */
    if (!(status & 1) && !ask(MEGA_INFO_PROCESS, (int64_t)*count, p, sizeof(*p)))
        return false;
    ++*count;
    return true;
}

int show_process(unsigned q, const char *name)
{
    char uic[32], privileges[512];
    struct mega_process p;
    /* Without a PID, shows the caller: the parent of this process, or itself if it has none. */
    uint32_t self = (uint32_t)(getppid() ? getppid() : getpid());
    uint32_t wanted = self;
    bool found = q & Q_ALL;
    uint64_t count = 0;
    char *end = NULL;

    if (name && ((wanted = (uint32_t)strtoul(name, &end, 0)) == 0 || *end)) {
        fprintf(stderr, "%%SHOW-W-NONEXPR, no such process: %s\n", name);
        return 1;
    }
    if (q & Q_ALL && !(q & Q_FULL))
        printf("   Pid  Parent Process name    State  Pri CPU         CPU time  Page flts     "
               "Pages Sec pages PT pages  UIC           Privileges\n");
    while (next_process(&count, &p)) {
        if (!(q & Q_ALL)) {
            if (p.pid == wanted) {
                full(&p);
                found = true;
            }
            continue;
        }
        if (q & Q_FULL) {
            full(&p);
            continue;
        }
        printf("%6u  %6u %-15s %-5s %4u %3u      ", p.pid, p.ppid, p.name, state_name(p.state),
               p.prio, p.cpu);
        print_duration(p.cpu_ns);
        snprintf(uic, sizeof(uic), "[%o,%o]", p.uic_group, p.uic_member);
        mega$format_names(mega$privileges, p.privileges, privileges, sizeof(privileges));
        printf("%11lu%10lu%10lu%9lu  %-13s %s\n", (unsigned long)p.faults, (unsigned long)p.rss,
               (unsigned long)p.section_pages, (unsigned long)p.pt_pages, uic, privileges);
    }
    if (!found)
        fprintf(stderr, "%%SHOW-W-NONEXPR, no such process: %u\n", wanted);
    return !found;
}

int show_cpu(unsigned q, const char *name)
{
    struct mega_cpu c;
    struct mega_tb tb;

    (void)name;
    printf(
        "CPU  State    Process              Pid  Ready        Idle s      Kernel s        User s  "
        "Switches  Interrupts\n");
    for (int64_t i = 0; ask(MEGA_INFO_CPU, i, &c, sizeof(c)); i++) {
        printf("%3u  %-7s  %-15s %8u %6lu %13.2f %13.2f %13.2f %9lu %11lu\n", c.id,
               !c.online ? "stopped"
               : c.idle  ? "idle"
                         : "RUN",
               c.current_name, c.current_pid, (unsigned long)c.runq, (double)c.idle_ns / 1e9,
               (double)c.kernel_ns / 1e9, (double)c.user_ns / 1e9, (unsigned long)c.switches,
               (unsigned long)c.interrupts);
        if (q & Q_FULL)
            printf("     clock ticks %lu, interprocessor interrupts %lu, shootdowns %lu, unaligned "
                   "accesses %lu\n",
                   (unsigned long)c.clock_ticks, (unsigned long)c.ipis, (unsigned long)c.shootdowns,
                   (unsigned long)c.unaligned);
    }
    if (q & Q_FULL && ask(MEGA_INFO_TB, 0, &tb, sizeof(tb))) {
        printf("Translation buffer: %lu interrupts sent, %lu spared, %lu whole flushes; by reason",
               (unsigned long)tb.ipis, (unsigned long)tb.skipped, (unsigned long)tb.full);
        for (unsigned i = 0; i < sizeof(tb.flushes) / sizeof(tb.flushes[0]); i++)
            printf(" %lu", (unsigned long)tb.flushes[i]);
        putchar('\n');
    }
    return 0;
}

int show_parameter(unsigned q, const char *name)
{
    struct mega_param p;
    bool found = false;

    (void)q;
    for (int64_t i = 0; ask(MEGA_INFO_PARAM, i, &p, sizeof(p)); i++) {
        if (name && strcasecmp(name, p.name) != 0 && strcasecmp(name, p.older_name) != 0)
            continue;
        if (!found)
            printf("Parameter                    Value        Default      Minimum        Maximum  "
                   "Unit\n");
        found = true;
        printf("%-20s%14ld%15ld%13ld%15ld  %s\n", p.name, (long)p.value, (long)p.dflt, (long)p.min,
               (long)p.max, p.unit);
    }
    if (!found && name)
        fprintf(stderr, "%%SHOW-W-NOPARAM, no such parameter: %s\n", name);
    return name && !found;
}

int show_pci(unsigned q, const char *name)
{
    struct mega_pci p;

    (void)q, (void)name;
    for (int64_t i = 0; ask(MEGA_INFO_PCI, i, &p, sizeof(p)); i++)
        printf("%02x:%02x.%x  %04x:%04x  class %06x  irq %u\n", p.bus, p.slot, p.func, p.vendor,
               p.device, p.class_code, p.irq);
    return 0;
}
