/* show process [PID] [/all] [/full]; show cpu [/full]; show parameter [NAME]; show pci */
#include "show.h"

#include <filled.h>
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
    mega$print_filled(8, "    UIC [%o,%o], privileges %s, authorised %s", p->uic_group,
                      p->uic_member, current, authorised);
    mega$print_filled(8, "    Rights identifiers %s", rights);
}

static void full(const struct mega_process *p)
{
    char all[DURATION_SIZE], user[DURATION_SIZE], kernel[DURATION_SIZE];

    printf("Process %u, %s, parent %u, user %u\n", p->pid, p->name, p->ppid, p->uid);
    identity(p);
    mega$print_filled(
        8, "    State %s, priority %u, CPU %u, time %s (user %s, kernel %s), %lu switches",
        state_name(p->state), p->prio, p->cpu, format_duration(all, p->cpu_ns),
        format_duration(user, p->user_ns), format_duration(kernel, p->cpu_ns - p->user_ns),
        (unsigned long)p->switches);
    mega$print_filled(8,
                      "    Nice %ld, weight %lu, virtual time %+.3f ms from the least of its group",
                      (long)p->nice, (unsigned long)p->weight, (double)p->lead_ns / 1e6);
    mega$print_filled(
        8, "    Pages: private %lu, locked %lu, section %lu, page tables %lu; virtual %.2f MB",
        (unsigned long)p->rss, (unsigned long)p->locked, (unsigned long)p->section_pages,
        (unsigned long)p->pt_pages, (double)p->vsize / 1048576.0);
    mega$print_filled(8,
                      "    Faults: all %lu, demand zero %lu, copy on write %lu, object page valid "
                      "%lu, file %lu, stack %lu",
                      (unsigned long)p->faults, (unsigned long)p->demand_zero,
                      (unsigned long)p->cow, (unsigned long)p->object_valid, (unsigned long)p->file,
                      (unsigned long)p->stack_grow);
    mega$print_filled(8, "    Paging faults: modified page still in memory %lu, page file %lu",
                      (unsigned long)p->aged, (unsigned long)p->page_file);
    mega$print_filled(
        8, "    Section faults: made valid %lu, table picked up %lu, raced %lu, global valid %lu",
        (unsigned long)p->section_made_valid, (unsigned long)p->section_l3_pickup,
        (unsigned long)p->section_raced, (unsigned long)p->section_global_valid);
    printf("    Unaligned accesses %lu, home domain %lu\n", (unsigned long)p->unaligned,
           (unsigned long)p->home_rad);
}

#define WIDE 128 /* columns for a row in one line, unless the process has many privileges */

/* A row of the table of all processes: one line in a wide terminal, else two. */
static void row(const struct mega_process *p)
{
    bool wide = mega$columns() >= WIDE;
    char uic[32], privileges[512], cpu[DURATION_SIZE];

    snprintf(uic, sizeof(uic), "[%o,%o]", p->uic_group, p->uic_member);
    mega$format_names(mega$privileges, p->privileges, privileges, sizeof(privileges));
    mega$print_filled(
        wide ? 109 : 42, "%5u %6u %-15s %-5s %3u %3u %11s %9lu %9lu%s%9lu %8lu  %-13s %s", p->pid,
        p->ppid, p->name, state_name(p->state), p->prio, p->cpu, format_duration(cpu, p->cpu_ns),
        (unsigned long)p->faults, (unsigned long)p->rss, wide ? " " : "\n       ",
        (unsigned long)p->section_pages, (unsigned long)p->pt_pages, uic, privileges);
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
        printf(
            "  Pid Parent Process name    State Pri CPU    CPU time Page flts     Pages%sSec pages "
            "PT pages  UIC           Privileges\n",
            mega$columns() >= WIDE ? " " : "\n       ");
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
        row(&p);
    }
    if (!found)
        fprintf(stderr, "%%SHOW-W-NONEXPR, no such process: %u\n", wanted);
    return !found;
}

/* Seconds, with as many decimals as fit into `width` columns. */
static const char *seconds(char text[24], uint64_t ns, unsigned width)
{
    double s = (double)ns / 1e9;
    int decimals = 2;

    while (snprintf(text, 24, "%.*f", decimals, s) > (int)width && decimals)
        decimals--;
    return text;
}

#define WIDE_CPU 105 /* columns of the wide table */

int show_cpu(unsigned q, const char *name)
{
    bool wide = mega$columns() >= WIDE_CPU;
    int times = wide ? 13 : 8, counts = wide ? 11 : 6;
    struct mega_cpu c;
    struct mega_tb tb;

    (void)name;
    printf("CPU State   Process           Pid Ready %*s %*s %*s %*s %*s\n", times, "Idle s", times,
           "Kernel s", times, "User s", counts, wide ? "Switches" : "Switch", counts,
           wide ? "Interrupts" : "Interr");
    for (int64_t i = 0; ask(MEGA_INFO_CPU, i, &c, sizeof(c)); i++) {
        char idle[24], kernel[24], user[24], switches[24], interrupts[24];

        printf("%3u %-7s %-15s %5u %5lu %*s %*s %*s %*s %*s\n", c.id,
               !c.online ? "stopped"
               : c.idle  ? "idle"
                         : "RUN",
               c.current_name, c.current_pid, (unsigned long)c.runq, times,
               seconds(idle, c.idle_ns, (unsigned)times), times,
               seconds(kernel, c.kernel_ns, (unsigned)times), times,
               seconds(user, c.user_ns, (unsigned)times), counts,
               format_count(switches, c.switches, (unsigned)counts), counts,
               format_count(interrupts, c.interrupts, (unsigned)counts));
        if (q & Q_FULL)
            mega$print_filled(4,
                              "    clock ticks %lu, interprocessor interrupts %lu, shootdowns %lu, "
                              "unaligned accesses %lu",
                              (unsigned long)c.clock_ticks, (unsigned long)c.ipis,
                              (unsigned long)c.shootdowns, (unsigned long)c.unaligned);
    }
    if (q & Q_FULL && ask(MEGA_INFO_TB, 0, &tb, sizeof(tb))) {
        char reasons[8 * 21 + 1] = "";
        size_t n = 0;

        for (unsigned i = 0; i < sizeof(tb.flushes) / sizeof(tb.flushes[0]); i++)
            n += (size_t)snprintf(reasons + n, sizeof(reasons) - n, " %lu",
                                  (unsigned long)tb.flushes[i]);
        mega$print_filled(4,
                          "Translation buffer: %lu interrupts sent, %lu spared, %lu whole flushes; "
                          "by reason%s",
                          (unsigned long)tb.ipis, (unsigned long)tb.skipped, (unsigned long)tb.full,
                          reasons);
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
            printf("%-20s%12s%12s%11s%12s  Unit\n", "Parameter", "Value", "Default", "Minimum",
                   "Maximum");
        found = true;
        printf("%-20s%12ld%12ld%11ld%12ld  %s\n", p.name, (long)p.value, (long)p.dflt, (long)p.min,
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
