/*
 * PC sampling.
 *
 * The clock interrupts each CPU 1,024 times a second, and besides when an alarm is due. A sample is
 * taken at the first clock interrupt within half an interval of when the next one is due, as ticks
 * are told from alarms (tick.c): so alarms of other timers do not add samples. For a rate above the
 * clock's a timer of this file makes the interrupts: each CPU starts its own at its next tick, and
 * it starts itself again for as long as it samples.
 *
 * A clock interrupt arrives below IPL_CLOCK only. What runs with it blocked is sampled where it
 * lowers its IPL (docs/CAVEATS.md).
 *
 * Rings. A CPU writes its own, at IPL_HIGH: then no inter-processor call is answered in the middle
 * of a sample, and once every CPU has answered one after pcs_running went to 0, no ring is touched.
 * A reader takes a copy and looks at `next` again: the slot that is being written next is number
 * next - room, so what is older than next - room + 1 may have changed under it. Samples of the ring
 * are plain memory written by one CPU; `next` is stored behind them by release order.
 *
 * Paths are found by comparing with those noted before by this CPU; the process's path itself is
 * written by its own thread, which is the one interrupted here.
 */
#include "kernel/trace/pcsample.h"

#include "arch/alpha/hw/clock.h"
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/proc/process.h"
#include "kernel/sched/ipi.h"
#include "kernel/sched/ipl.h"
#include "mm/phys/page.h"
#include "mm/pool/pool.h"

struct ring {
    struct pc_sample *samples; /* NULL: none */
    uint64_t next;             /* atomic: number of the next sample; own CPU */
    uint64_t late;             /* own CPU */
    uint64_t due_ns;           /* own CPU */
    struct timer timer;        /* own CPU */
    uint32_t images;           /* atomic: so many paths are noted; own CPU */
    char path[PCS_IMAGES][PCS_PATH_MAX];
};

static struct ring rings[MAX_CPUS];
/* Constant while it samples; changed by the callers that exclude each other. */
static uint64_t room, interval_ns, nbytes;
static uint64_t started_at, ended_at;

uint32_t pcs_running;

static uint16_t image_of(struct ring *r, const char *path)
{
    uint32_t n = r->images;

    for (uint32_t i = 0; i < n; i++)
        if (strncmp(r->path[i], path, PCS_PATH_MAX - 1) == 0)
            return (uint16_t)i;
    if (n == PCS_IMAGES)
        return PCS_NO_IMAGE;
    str_copy(r->path[n], path, PCS_PATH_MAX);
    __atomic_store_n(&r->images, n + 1, __ATOMIC_RELEASE);
    return (uint16_t)n;
}

static void record(struct ring *r, const struct trapframe *f, uint64_t now)
{
    const struct thread *t = thread_self();
    const struct process *p = t->process;
    struct pc_sample *s = &r->samples[r->next % room];

    s->ns = now;
    s->pc = f->pc;
    s->pid = p ? p->pid : 0;
    s->ipl = (uint8_t)(f->ps & 7);
    s->user = frame_from_user(f);
    s->image = p && s->user ? image_of(r, p->exe) : PCS_NO_IMAGE;
    str_copy(s->name, p ? p->name : t->name, sizeof(s->name));
    __atomic_store_n(&r->next, r->next + 1, __ATOMIC_RELEASE);
}

/* At IPL_CLOCK, on the CPU of the timer: the interrupt is what was wanted, here is the next. It is
 * never started for a time that has passed: whoever runs the timers that are due would find it
 * again, and again, as the next sample's time does not move before the next interrupt. */
static void timer_again(struct timer *t)
{
    uint64_t due = rings[t->cpu].due_ns, now = clock_ns();

    if (pcs_on())
        timer_start(t, due > now ? due : now + interval_ns);
}

static bool is_due(struct ring *r, uint64_t now)
{
    if (now + interval_ns / 2 < r->due_ns)
        return false;
    if (r->due_ns == 0)
        r->due_ns = now;
    r->due_ns += interval_ns;
    if (r->due_ns <= now) { /* by more than an interval */
        r->due_ns = now + interval_ns;
        r->late++;
    }
    return true;
}

void pcs_clock(const struct trapframe *f)
{
    ipl_t ipl = ipl_raise(IPL_HIGH);
    bool on = __atomic_load_n(&pcs_running, __ATOMIC_ACQUIRE) != 0, alarms = false;
    struct ring *r = &rings[cpu_id()];
    uint64_t now = clock_ns();

    if (on && r->samples && is_due(r, now)) {
        record(r, f, now);
        alarms = interval_ns < CLOCK_TICK_NS && !r->timer.pending;
    }
    ipl_set(ipl);
    if (alarms)
        timer_start(&r->timer, r->due_ns);
}

static void nothing(void *arg) { (void)arg; }

static void free_rings(void)
{
    for (unsigned i = 0; i < MAX_CPUS; i++) {
        struct pc_sample *s = rings[i].samples;

        rings[i].samples = NULL;
        if (s)
            npp_free(s, nbytes);
    }
    room = 0;
}

int pcs_load(uint64_t npages)
{
    cpumask_t online = __atomic_load_n(&cpu_online_mask, __ATOMIC_ACQUIRE);

    if (room)
        return -EALREADY;
    nbytes = npages * PAGE_SIZE;
    for (unsigned i = 0; i < MAX_CPUS; i++) {
        if (!((online >> i) & 1))
            continue;
        rings[i].samples = npp_alloc(nbytes);
        rings[i].next = 0;
        if (!rings[i].samples) {
            free_rings();
            return -ENOMEM;
        }
    }
    room = nbytes / sizeof(struct pc_sample);
    return 0;
}

int pcs_start(uint64_t rate_hz)
{
    if (!room)
        return -ENOENT;
    if (pcs_on())
        return -EALREADY;
    interval_ns = rate_hz ? 1000000000u / rate_hz : CLOCK_TICK_NS;
    for (unsigned i = 0; i < MAX_CPUS; i++) {
        rings[i].next = rings[i].late = rings[i].due_ns = 0;
        rings[i].images = 0;
        rings[i].timer.fn = timer_again;
    }
    started_at = clock_ns();
    __atomic_store_n(&pcs_running, 1, __ATOMIC_RELEASE);
    return 0;
}

int pcs_stop(void)
{
    if (!__atomic_exchange_n(&pcs_running, 0, __ATOMIC_ACQ_REL))
        return -EALREADY;
    ipi_call(~0ul, nothing, NULL);
    ended_at = clock_ns();
    return 0;
}

int pcs_unload(void)
{
    if (!room)
        return -ENOENT;
    pcs_stop();
    free_rings();
    return 0;
}

uint64_t pcs_room(void) { return room; }
uint64_t pcs_ring_bytes(void) { return nbytes; }
uint64_t pcs_interval_ns(void) { return interval_ns; }

void pcs_times(uint64_t *started_ns, uint64_t *lasted_ns)
{
    *started_ns = started_at;
    *lasted_ns = (pcs_on() ? clock_ns() : ended_at) - started_at;
}

void pcs_state_of(unsigned cpu, struct pcs_state *s)
{
    const struct ring *r = &rings[cpu];
    uint64_t next = room && r->samples ? __atomic_load_n(&r->next, __ATOMIC_ACQUIRE) : 0;

    *s = (struct pcs_state){/* The slot behind the newest may be in the middle of being written. */
                            .first = next > room - pcs_on() ? next - (room - pcs_on()) : 0,
                            .next = next,
                            .late = __atomic_load_n(&r->late, __ATOMIC_RELAXED)};
}

bool pcs_get(unsigned cpu, uint64_t number, struct pc_sample *out, char path[PCS_PATH_MAX])
{
    const struct ring *r = &rings[cpu];
    struct pcs_state s;

    path[0] = 0;
    if (!room || !r->samples)
        return false;
    pcs_state_of(cpu, &s);
    if (number < s.first || number >= s.next)
        return false;
    memcpy(out, &r->samples[number % room], sizeof(*out));
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* the copy, then the look that vouches for it */
    pcs_state_of(cpu, &s);
    if (number < s.first)
        return false;
    if (out->image < __atomic_load_n(&r->images, __ATOMIC_ACQUIRE))
        str_copy(path, r->path[out->image], PCS_PATH_MAX);
    return true;
}
