/*
 * PC sampling.
 *
 * The clock interrupts each CPU 1,024 times a second, and also when an alarm is due. A sample is
 * taken at the first clock interrupt that comes no earlier than half an interval before the sample
 * is due, in the way ticks are distinguished from alarms (tick.c): so alarms of other timers do not
 * add samples. For a rate above the clock's, a timer of this file causes the interrupts: each CPU
 * starts its own timer at its next tick, and the timer restarts itself as long as sampling is on.
 *
 * A clock interrupt arrives below IPL_CLOCK only. Code that runs with it blocked is sampled where
 * it lowers the IPL (docs/CAVEATS.md).
 *
 * Rings. A CPU writes its own ring at IPL_HIGH: it answers no inter-processor call in the middle of
 * a sample, and once every CPU has answered a call that was made after pcs_running became 0, no
 * ring is accessed. A reader takes a copy and then reads `next` again: the slot that is written
 * next is that of number next - room, so samples older than next - room + 1 may have changed while
 * they were copied. Samples are plain memory, written by one CPU; `next` is stored after them with
 * release order.
 *
 * The path of a program is compared with those that this CPU has recorded already. The process's
 * own copy of the path is written by its own thread, which is the one interrupted here.
 *
 * Memory is allocated by pcs_load() only.
 */
#include "kernel/trace/pcsample.h"

#include "arch/alpha/hw/clock.h"
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/proc/process.h"
#include "kernel/proc/program_path.h"
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
    uint32_t images;           /* atomic: number of paths recorded; own CPU */
    char path[PCS_IMAGES][PCS_PATH_MAX];
};

static struct ring rings[MAX_CPUS];
/* Constant while sampling is on; changed by the callers that exclude each other. */
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
    s->image = p && s->user ? image_of(r, program_path_text(p->program)) : PCS_NO_IMAGE;
    str_copy(s->name, p ? p->name : t->name, sizeof(s->name));
    __atomic_store_n(&r->next, r->next + 1, __ATOMIC_RELEASE);
}

/* Restart the timer for the next sample; the interrupt itself has taken this one. IPL_CLOCK, on the
 * timer's CPU. The timer must not be started for a time in the past: timer_run() would find it due
 * again and again, since the time of the next sample does not change before the next interrupt. */
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

    *s = (struct pcs_state){/* While sampling is on, the oldest slot may be being overwritten. */
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
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* first the copy, then the check that it is valid */
    pcs_state_of(cpu, &s);
    if (number < s.first)
        return false;
    if (out->image < __atomic_load_n(&r->images, __ATOMIC_ACQUIRE))
        str_copy(path, r->path[out->image], PCS_PATH_MAX);
    return true;
}
