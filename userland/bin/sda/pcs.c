/*
 * PCS SHOW TRACE: the samples in order of time, or (/SUMMARY) the number of samples for each
 * process and routine.
 */
#include "sda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct mega_pc_sample *samples;
static size_t count;

/* Which samples to show. */
struct filter {
    uint64_t from_ns, to_ns, pid, cpu; /* UINT64_MAX: any */
    const char *program;
};

/* ---- reading ---- */

/* The name of an address in user mode: from the symbols of the program, or else the address. */
static void name_user(struct mega_pc_sample *s, const char *program)
{
    uint64_t offset;
    const char *name = program_symbol(program ? program : s->module, s->pc, &offset);

    if (name)
        snprintf(s->routine, sizeof(s->routine), "%.48s+%#lx", name, (unsigned long)offset);
    else
        snprintf(s->routine, sizeof(s->routine), "%#lx", (unsigned long)s->pc);
}

static bool wanted(const struct mega_pc_sample *s, const struct filter *f)
{
    return s->ns >= f->from_ns && s->ns < f->to_ns && (f->pid == UINT64_MAX || s->pid == f->pid);
}

static bool keep(const struct mega_pc_sample *s)
{
    static size_t room;

    if (count == room) {
        void *more = realloc(samples, (room * 2 + 1024) * sizeof(*samples));

        if (!more)
            return fail("INSFMEM", "not enough memory for the samples"), false;
        samples = more;
        room = room * 2 + 1024;
    }
    samples[count++] = *s;
    return true;
}

/* Returns false after an error message. A sample that is overwritten while it is read counts as
 * lost. */
static bool read_samples(const struct mega_trace *t, const struct filter *f, uint64_t *lost)
{
    struct mega_pc_sample s;
    bool failed = false;

    count = 0;
    *lost = 0;
    for (uint64_t cpu = 0; cpu < 4; cpu++) {
        if (f->cpu != UINT64_MAX && f->cpu != cpu)
            continue;
        *lost += t->first[cpu];
        for (uint64_t n = t->first[cpu]; n < t->next[cpu] && !failed; n++) {
            if (!ask(MEGA_INFO_PC_SAMPLE, (int64_t)(cpu << 48 | n), &s, sizeof(s), &failed)) {
                ++*lost;
                continue;
            }
            if (!wanted(&s, f))
                continue;
            if (s.user)
                name_user(&s, f->program);
            if (!keep(&s))
                return false;
        }
    }
    return !failed;
}

/* ---- samples ---- */

static int by_time(const void *a, const void *b)
{
    const struct mega_pc_sample *x = a, *y = b;

    return x->ns != y->ns ? (x->ns > y->ns) - (x->ns < y->ns) : (int)x->cpu - (int)y->cpu;
}

/* Nanoseconds from boot to wall-clock time. The two clocks are read one after the other, so this is
 * done once for a list; otherwise the times in it would not ascend. */
static int64_t wall_of_boot(void)
{
    struct timespec wall, mono;

    clock_gettime(CLOCK_REALTIME, &wall);
    clock_gettime(CLOCK_MONOTONIC, &mono);
    return (wall.tv_sec - mono.tv_sec) * 1000000000L + (wall.tv_nsec - mono.tv_nsec);
}

/* Formats a time as wall-clock time, to the microsecond. */
static void print_time(int64_t ns)
{
    time_t seconds = ns / 1000000000;
    struct tm *tm = gmtime(&seconds);
    char text[32] = "";

    if (tm)
        strftime(text, sizeof(text), "%d-%b %H:%M:%S", tm);
    printf("%s.%06lu", text, (unsigned long)(ns % 1000000000 / 1000));
}

static void list(uint64_t top)
{
    int64_t boot = wall_of_boot();

    qsort(samples, count, sizeof(samples[0]), by_time);
    printf("\nTimestamp               CPU PC               IPL      Pid  Routine              "
           "                    Module\n");
    for (size_t i = 0; i < count && i < top; i++) {
        const struct mega_pc_sample *s = &samples[i];

        print_time(boot + (int64_t)s->ns);
        printf("   %02u %016lX   %u %8u  %-40s %s\n", s->cpu, (unsigned long)s->pc, s->ipl, s->pid,
               s->routine, s->module);
    }
    if (count > top)
        printf("... and %lu more\n", (unsigned long)(count - top));
}

/* ---- sums ---- */

/* Orders by process, and for one process by routine. */
static int by_process(const struct mega_pc_sample *x, const struct mega_pc_sample *y)
{
    if (x->pid != y->pid)
        return (x->pid > y->pid) - (x->pid < y->pid);
    return x->pid ? 0 : strcmp(x->name, y->name);
}

static int by_routine(const void *a, const void *b)
{
    const struct mega_pc_sample *x = a, *y = b;
    int c = by_process(x, y);

    if (!c)
        c = strcmp(x->routine, y->routine);
    return c ? c : strcmp(x->module, y->module);
}

struct sum {
    const struct mega_pc_sample *first;
    size_t samples, start;
};

static int by_samples(const void *a, const void *b)
{
    const struct sum *x = a, *y = b;

    return x->samples != y->samples ? (x->samples < y->samples) - (x->samples > y->samples)
                                    : (x->start > y->start) - (x->start < y->start);
}

/* The runs of equal elements in samples[start, end), the longest first; sets *n to their number.
 * NULL: there is no memory. */
static struct sum *
sum_up(size_t start, size_t end,
       int (*compare)(const struct mega_pc_sample *, const struct mega_pc_sample *), size_t *n)
{
    struct sum *sums = calloc(end - start + 1, sizeof(*sums));

    *n = 0;
    for (size_t i = start; sums && i < end; i++) {
        if (i == start || compare(&samples[i - 1], &samples[i]) != 0)
            sums[(*n)++] = (struct sum){&samples[i], 0, i};
        sums[*n - 1].samples++;
    }
    if (sums)
        qsort(sums, *n, sizeof(*sums), by_samples);
    return sums;
}

static int same_routine(const struct mega_pc_sample *x, const struct mega_pc_sample *y)
{
    return by_routine(x, y);
}

static double share(size_t n) { return count ? 100.0 * (double)n / (double)count : 0; }

static bool print_process(const struct sum *p, uint64_t top)
{
    const struct mega_pc_sample *last = p->first; /* has the name after the last exec */
    size_t n, user = 0;
    struct sum *routines = sum_up(p->start, p->start + p->samples, same_routine, &n);

    if (!routines)
        return false;
    for (size_t i = p->start; i < p->start + p->samples; i++) {
        user += samples[i].user;
        if (samples[i].ns > last->ns)
            last = &samples[i];
    }
    printf("\n%8u %-16s%9lu samples%7.1f%%, %lu of them in user mode\n", last->pid, last->name,
           (unsigned long)p->samples, share(p->samples), (unsigned long)user);
    for (size_t i = 0; i < n && i < top; i++)
        printf("%34lu %-40s %s\n", (unsigned long)routines[i].samples, routines[i].first->routine,
               routines[i].first->module);
    if (n > top)
        printf("%34s in %lu more routines\n", "", (unsigned long)(n - top));
    free(routines);
    return true;
}

static int summarise(uint64_t top)
{
    size_t n;
    struct sum *processes;
    bool done = true;

    for (size_t i = 0; i < count; i++) /* cut the offset off the routine */
        samples[i].routine[strcspn(samples[i].routine, "+")] = 0;
    qsort(samples, count, sizeof(samples[0]), by_routine);
    processes = sum_up(0, count, by_process, &n);
    for (size_t i = 0; processes && i < n && done; i++)
        done = print_process(&processes[i], top);
    free(processes);
    return processes && done ? 0 : fail("INSFMEM", "not enough memory for the sums");
}

int show_samples(const struct mega_trace *t, const struct command *c)
{
    struct filter f = {.program = value_of(c, "PROGRAM")};
    bool summary = given(c, "SUMMARY");
    uint64_t top, lost, late = 0;

    if (!number_of(c, "TOP", UINT64_MAX, summary ? 10 : UINT64_MAX, &top) ||
        !number_of(c, "PROCESS", UINT32_MAX, UINT64_MAX, &f.pid) ||
        !number_of(c, "CPU", 3, UINT64_MAX, &f.cpu) || !seconds_of(c, "FROM", 0, &f.from_ns) ||
        !seconds_of(c, "TO", UINT64_MAX / 2, &f.to_ns))
        return 1;
    f.from_ns += t->started_ns;
    f.to_ns += t->started_ns;
    if (!read_samples(t, &f, &lost))
        return 1;
    print_times(t);
    for (int i = 0; i < 4; i++)
        late += t->late[i];
    printf(
        "%lu samples, one each %.3f ms and CPU; %lu overwritten, %lu times the clock was late.\n",
        (unsigned long)count, (double)t->interval_ns / 1e6, (unsigned long)lost,
        (unsigned long)late);
    if (summary)
        return summarise(top);
    list(top);
    return 0;
}
