/*
 * PRF SHOW MONITOR: events of translation buffers that a model beside the machine has counted
 * (scripts/run --tb-model), for each CPU, since the monitor was started. The names are those of
 * PRF on Itanium systems.
 */
#include "sda.h"

#include <stdio.h>

static void line(const char *name, uint64_t n, uint64_t whole, const char *of)
{
    printf("      %-18s%12lu", name, (unsigned long)n);
    if (of)
        printf("%10.3f%% of %s", whole ? 100.0 * (double)n / (double)whole : 0.0, of);
    putchar('\n');
}

static void show_cpu(unsigned cpu, const struct mega_events *e)
{
    printf("\nCPU %u, ", cpu);
    if (e->vhpt_kib)
        printf("hashed page table of %lu KB at %016lX\n", (unsigned long)e->vhpt_kib,
               (unsigned long)e->vhpt_address);
    else
        printf("no hashed page table (VHPT_SIZE)\n");
    line("DTB_MISSES", e->data_misses, 0, NULL);
    line("ITB_MISSES", e->fetch_misses, 0, NULL);
    line("VHPT_WALKER", e->walks, e->data_misses + e->fetch_misses, "misses");
    line("HPW_DHITS", e->data_hits, e->walks, "walks");
    line("HPW_IDEMAND_HITS", e->fetch_hits, e->walks, "walks");
    line("VHPT_REPLACED", e->replaced, e->walks, "walks");
}

int show_events(const struct mega_trace *t)
{
    bool failed = false;

    printf("Monitored for %.3f seconds; the monitor %s.\n", (double)t->lasted_ns / 1e9,
           t->running ? "is running" : "has stopped");
    for (unsigned cpu = 0; cpu < t->cpus; cpu++) {
        struct mega_events e;

        if (!ask(MEGA_INFO_EVENTS, cpu, &e, sizeof(e), &failed))
            return failed;
        show_cpu(cpu, &e);
    }
    return 0;
}
