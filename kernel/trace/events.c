/*
 * The monitor of translation-buffer events: the counts at its start, and at its stop. The model
 * only adds, and stores whole quadwords, so a difference is right while it counts; two counts of a
 * CPU that runs may be of different moments.
 */
#include "kernel/trace/events.h"

#include "arch/alpha/hw/tb_model.h"
#include "kernel/base/errno.h"
#include "kernel/sched/timer.h"

static bool loaded, running;
static uint64_t started_at, stopped_at;
static struct vhpt_counts begun[MAX_CPUS], ended[MAX_CPUS];

static void read_all(struct vhpt_counts *to)
{
    for (unsigned i = 0; i < cpu_count; i++)
        to[i] = vhpt_counted(i);
}

int events_load(void)
{
    if (!tb_model_listens)
        return -EOPNOTSUPP;
    if (loaded)
        return -EALREADY;
    loaded = true;
    return 0;
}

int events_start(void)
{
    if (!loaded)
        return -ENOENT;
    if (running)
        return -EALREADY;
    read_all(begun);
    started_at = clock_ns();
    running = true;
    return 0;
}

int events_stop(void)
{
    if (!running)
        return -EALREADY;
    read_all(ended);
    stopped_at = clock_ns();
    running = false;
    return 0;
}

int events_unload(void)
{
    if (!loaded)
        return -ENOENT;
    loaded = running = false;
    started_at = 0;
    return 0;
}

bool events_loaded(void) { return loaded; }
bool events_on(void) { return running; }

void events_times(uint64_t *started_ns, uint64_t *lasted_ns)
{
    *started_ns = started_at;
    *lasted_ns = started_at ? (running ? clock_ns() : stopped_at) - started_at : 0;
}

struct vhpt_counts events_of(unsigned cpu)
{
    struct vhpt_counts now = running ? vhpt_counted(cpu) : ended[cpu];
    const struct vhpt_counts *then = &begun[cpu];

    return (struct vhpt_counts){.data_misses = now.data_misses - then->data_misses,
                                .fetch_misses = now.fetch_misses - then->fetch_misses,
                                .walks = now.walks - then->walks,
                                .data_hits = now.data_hits - then->data_hits,
                                .fetch_hits = now.fetch_hits - then->fetch_hits,
                                .replaced = now.replaced - then->replaced};
}
