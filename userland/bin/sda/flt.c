/*
 * FLT SHOW TRACE: unaligned accesses in user mode by instruction and process, the most frequent
 * first, or (/SUMMARY) by routine. The kernel counts them for each CPU; this file adds the counts.
 */
#include "sda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct place {
    struct mega_fault f;
    char routine[64];
};

static double seconds; /* duration of the trace */

static const char *operation(unsigned opcode)
{
    static const struct {
        unsigned opcode;
        const char *name;
    } names[] = {{0x0C, "ldwu"}, {0x0D, "stw"}, {0x22, "lds"}, {0x23, "ldt"}, {0x26, "sts"},
                 {0x27, "stt"},  {0x28, "ldl"}, {0x29, "ldq"}, {0x2C, "stl"}, {0x2D, "stq"}};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (names[i].opcode == opcode)
            return names[i].name;
    return "?";
}

static void name_place(struct place *p, const char *program)
{
    uint64_t offset;
    const char *name = program_symbol(program ? program : p->f.path, p->f.pc, &offset);

    if (name)
        snprintf(p->routine, sizeof(p->routine), "%.48s+%#lx", name, (unsigned long)offset);
    else
        snprintf(p->routine, sizeof(p->routine), "%#lx", (unsigned long)p->f.pc);
}

static int by_place(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    if (x->f.pid != y->f.pid)
        return (x->f.pid > y->f.pid) - (x->f.pid < y->f.pid);
    if (x->f.pc != y->f.pc)
        return (x->f.pc > y->f.pc) - (x->f.pc < y->f.pc);
    return strcmp(x->f.path, y->f.path);
}

static int by_routine(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    int c = (x->f.pid > y->f.pid) - (x->f.pid < y->f.pid);

    if (!c)
        c = strcmp(x->routine, y->routine);
    return c ? c : strcmp(x->f.path, y->f.path);
}

static int by_count(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    return x->f.count != y->f.count ? (x->f.count < y->f.count) - (x->f.count > y->f.count)
                                    : by_place(a, b);
}

/* Merge equal neighbours. Returns the number of elements that are left. */
static size_t merge(struct place *all, size_t n, int (*compare)(const void *, const void *))
{
    size_t m = 0;

    qsort(all, n, sizeof(*all), compare);
    for (size_t i = 0; i < n; i++)
        if (m && compare(&all[m - 1], &all[i]) == 0) {
            all[m - 1].f.count += all[i].f.count;
            all[m - 1].f.last_address = all[i].f.last_address;
        } else {
            all[m++] = all[i];
        }
    return m;
}

/* All instructions with faults of that process (UINT64_MAX: of any process). NULL: the kernel
 * refused, or there is no memory. */
static struct place *read_places(const struct mega_trace *t, uint64_t pid, size_t *count)
{
    struct place *all = calloc(t->cpus * t->slots + 1, sizeof(*all));
    bool failed = false;
    size_t n = 0;

    for (uint64_t cpu = 0; all && cpu < t->cpus; cpu++)
        for (uint64_t slot = 0; slot < t->slots && !failed; slot++)
            if (ask(MEGA_INFO_FAULT, (int64_t)(cpu << 16 | slot), &all[n].f, sizeof(all[n].f),
                    &failed) &&
                all[n].f.count && (pid == UINT64_MAX || all[n].f.pid == pid))
                n++;
    if (!all || failed) {
        free(all);
        return NULL;
    }
    *count = merge(all, n, by_place);
    return all;
}

static void print_place(const struct place *p, bool summary)
{
    double rate = seconds > 0 ? (double)p->f.count / seconds : 0;

    if (summary)
        printf("%12.1f%12lu %8u  %-15s  %-32s %s\n", rate, (unsigned long)p->f.count, p->f.pid,
               p->f.name, p->routine, p->f.path);
    else
        printf("%12.1f%12lu %8u  %-15s  %016lX  %-4s  %016lX  %-32s %s\n", rate,
               (unsigned long)p->f.count, p->f.pid, p->f.name, (unsigned long)p->f.pc,
               operation(p->f.opcode), (unsigned long)p->f.last_address, p->routine, p->f.path);
}

int show_faults(const struct mega_trace *t, const struct command *c)
{
    const char *program = value_of(c, "PROGRAM");
    bool summary = given(c, "SUMMARY");
    uint64_t top, pid, sum = 0;
    struct place *all;
    size_t n;

    if (!number_of(c, "TOP", UINT64_MAX, summary ? 10 : UINT64_MAX, &top) ||
        !number_of(c, "PROCESS", UINT32_MAX, UINT64_MAX, &pid))
        return 1;
    seconds = (double)t->lasted_ns / 1e9;
    all = read_places(t, pid, &n);
    if (!all)
        return fail("NOFAULTS", "cannot read the table of faults");
    for (size_t i = 0; i < n; i++) {
        sum += all[i].f.count;
        name_place(&all[i], program);
        if (summary)
            all[i].routine[strcspn(all[i].routine, "+")] = 0;
    }
    if (summary)
        n = merge(all, n, by_routine);
    qsort(all, n, sizeof(*all), by_count);
    print_times(t);
    printf("%lu alignment faults, %.1f a second; %lu more found no place in the tables.\n",
           (unsigned long)sum, seconds > 0 ? (double)sum / seconds : 0, (unsigned long)t->dropped);
    if (n)
        printf(summary ? "\n  Faults/sec      Faults      Pid  Process          Routine           "
                         "               Program\n"
                       : "\n  Faults/sec      Faults      Pid  Process          Exception PC      "
                         "Op    Last address      Routine                          Program\n");
    for (size_t i = 0; i < n && i < top; i++)
        print_place(&all[i], summary);
    if (n > top)
        printf("... and %lu more\n", (unsigned long)(n - top));
    free(all);
    return 0;
}
