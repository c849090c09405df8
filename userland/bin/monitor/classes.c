/*
 * The classes of monitor that consist of figures: each is a level, or a count of which the rate in
 * a second is shown. Figures are told apart by their names, as disks and locks come and go.
 *
 * Faults of each kind are counted by process: what one did since the last reading before its end is
 * in none of them, but among all faults.
 */
#include "classes.h"

#include <starlet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const char *const subject_names[SUBJECTS] = {"system", "processes", "page", "io",
                                             "disk",   "pool",      "lock"};

enum subject subject_of(const char *name)
{
    enum subject found = SUBJECTS;

    for (unsigned k = 0; *name && k < SUBJECTS; k++)
        if (strncasecmp(name, subject_names[k], strlen(name)) == 0) {
            if (found != SUBJECTS && strlen(name) != strlen(subject_names[k])) /* "p" */
                return SUBJECTS;
            found = k;
        }
    return found;
}

/* ---- values of figures ---- */

static struct figure *figure_of(struct figures *f, const char *name)
{
    struct figure *one;

    for (size_t i = 0; i < f->count; i++)
        if (strcmp(f->list[i].name, name) == 0)
            return &f->list[i];
    if (f->count == f->room) {
        size_t room = f->room * 2 + 16;
        void *more = realloc(f->list, room * sizeof(*f->list));

        if (!more)
            return NULL;
        f->list = more;
        f->room = room;
    }
    one = &f->list[f->count++];
    *one = (struct figure){.seen = false};
    snprintf(one->name, sizeof(one->name), "%s", name);
    return one;
}

static void add_reading(struct figure *one, double value, double seconds)
{
    one->seen = true;
    one->current = value;
    one->sum += value * seconds;
    one->seconds += seconds;
    one->least = one->readings && one->least < value ? one->least : value;
    one->most = one->most > value ? one->most : value;
    one->readings++;
}

static bool level(struct figures *f, const char *name, uint64_t value, double seconds)
{
    struct figure *one = figure_of(f, name);

    if (one)
        add_reading(one, (double)value, seconds);
    return one != NULL;
}

/* seconds: since the reading before; 0: there is none. */
static bool rate(struct figures *f, const char *name, double value, double seconds)
{
    struct figure *one = figure_of(f, name);

    if (!one)
        return false;
    if (one->rate && seconds > 0)
        add_reading(one, value > one->counted ? (value - one->counted) / seconds : 0, seconds);
    one->seen = true;
    one->rate = true;
    if (value > one->counted) /* what was counted once too often is made up for */
        one->counted = value;
    return true;
}

/* ---- what processes have counted ---- */

static int by_number(const void *a, const void *b)
{
    const struct process *x = a, *y = b;

    return (x->now.pid > y->now.pid) - (x->now.pid < y->now.pid);
}

/* What all processes have gained in one of their counters since the reading before. */
static double gain(const struct processes *now, const struct processes *before, size_t offset)
{
    double sum = 0;

    for (size_t i = 0; i < now->count; i++) {
        const struct process *one = &now->list[i], *old = NULL;
        uint64_t value, was = 0;

        memcpy(&value, (const char *)&one->now + offset, sizeof(value));
        if (before->count)
            old = bsearch(one, before->list, before->count, sizeof(*one), by_number);
        if (old && one->now.cpu_ns >= old->now.cpu_ns)
            memcpy(&was, (const char *)&old->now + offset, sizeof(was));
        sum += value > was ? (double)(value - was) : 0;
    }
    return sum;
}

struct counter {
    const char *name;
    size_t offset;
};

static bool count_processes(struct figures *f, const struct counter *c, size_t n,
                            const struct processes *now, const struct processes *before)
{
    double seconds = before->ns ? gained(now->ns, before->ns) : 0;
    bool all = true;

    for (size_t k = 0; k < n; k++) {
        const struct figure *one = figure_of(f, c[k].name);

        all &= one && rate(f, c[k].name, one->counted + gain(now, before, c[k].offset), seconds);
    }
    return all;
}

/* ---- the classes ---- */

static bool take_page_files(struct figures *f, double seconds)
{
    struct mega_page_file one, sum = {.slots = 0};

    for (unsigned k = 0; mega$info(MEGA_INFO_PAGE_FILE, k, &one, sizeof(one)) & 1; k++) {
        sum.reads += one.reads;
        sum.writes += one.writes;
        sum.slots += one.slots - one.bad;
        sum.used += one.used;
    }
    return rate(f, "Pages read from page files", (double)sum.reads, seconds) &&
           rate(f, "Pages written to page files", (double)sum.writes, seconds) &&
           level(f, "Page file slots in use", sum.used, seconds) &&
           level(f, "Page file slots", sum.slots, seconds);
}

static bool take_page(struct figures *f, double seconds, const struct mega_states *states,
                      const struct processes *now, const struct processes *before)
{
    static const struct counter counters[] = {
        {"Demand zero", offsetof(struct mega_process, demand_zero)},
        {"Copied on write", offsetof(struct mega_process, cow)},
        {"Found in an object", offsetof(struct mega_process, object_valid)},
        {"Pages of files", offsetof(struct mega_process, file)},
        {"Section pages made valid", offsetof(struct mega_process, section_made_valid)},
        {"Global valid", offsetof(struct mega_process, section_global_valid)},
        {"Shared table found", offsetof(struct mega_process, section_l3_pickup)},
        {"Aged page used again", offsetof(struct mega_process, aged)},
        {"Page read from a page file", offsetof(struct mega_process, page_file)},
    };
    struct mega_memory m;

    if (!rate(f, "Page faults", (double)states->faults, seconds) ||
        !count_processes(f, counters, sizeof(counters) / sizeof(counters[0]), now, before) ||
        !take_page_files(f, seconds))
        return false;
    if (!(mega$info(MEGA_INFO_MEMORY, 0, &m, sizeof(m)) & 1))
        return true;
    return level(f, "Free pages", m.free, seconds) && level(f, "Zeroed pages", m.zeroed, seconds) &&
           level(f, "Modified pages", m.modified, seconds) &&
           level(f, "Fluid pages", m.fluid, seconds) &&
           level(f, "Page-table pages", m.pt_pages, seconds);
}

static const char *const kinds[MEGA_DISK_KINDS] = {
    [MEGA_DISK_READ] = "read", [MEGA_DISK_WRITE] = "write", [MEGA_DISK_FLUSH] = "flush"};

static bool take_disks(struct figures *f, double seconds)
{
    struct mega_disk d;
    char name[48];
    bool all = true;

    for (unsigned i = 0; mega$info(MEGA_INFO_DISK, i, &d, sizeof(d)) & 1; i++) {
        if (d.flags & MEGA_DISK_PARTITION)
            continue;
        for (unsigned k = 0; k < MEGA_DISK_KINDS; k++) {
            snprintf(name, sizeof(name), "%s: %s requests", d.name, kinds[k]);
            all &= rate(f, name, (double)d.requests[k], seconds);
            if (k == MEGA_DISK_FLUSH)
                continue;
            snprintf(name, sizeof(name), "%s: %s KiB", d.name, kinds[k]);
            all &= rate(f, name, (double)d.bytes[k] / 1024, seconds);
        }
        snprintf(name, sizeof(name), "%s: requests with it", d.name);
        all &= level(f, name, d.with_device, seconds);
        snprintf(name, sizeof(name), "%s: errors", d.name);
        all &= level(f, name, d.errors[0] + d.errors[1] + d.errors[2] + d.late, seconds);
    }
    return all;
}

static bool take_io(struct figures *f, double seconds, const struct mega_states *states)
{
    struct mega_disk d;
    double requests = 0, nbytes = 0;

    for (unsigned i = 0; mega$info(MEGA_INFO_DISK, i, &d, sizeof(d)) & 1; i++)
        for (unsigned k = 0; k < MEGA_DISK_KINDS && !(d.flags & MEGA_DISK_PARTITION); k++) {
            requests += (double)d.requests[k];
            nbytes += (double)d.bytes[k];
        }
    return rate(f, "Read and write calls", (double)states->io, seconds) &&
           rate(f, "Requests to disks", requests, seconds) &&
           rate(f, "KiB from and to disks", nbytes / 1024, seconds) && take_page_files(f, seconds);
}

static bool take_pool(struct figures *f, double seconds)
{
    static const char *const pools[] = {"Nonpaged", "Paged"};
    struct mega_pool p;
    char name[48];
    bool all = true;

    for (unsigned k = 0; k < 2 && mega$info(MEGA_INFO_POOL, k, &p, sizeof(p)) & 1; k++) {
        const struct {
            const char *what;
            uint64_t value;
            bool rate;
        } of[] = {{"bytes in use", p.in_use, false},
                  {"bytes on lists", p.lookaside_bytes, false},
                  {"bytes free", p.free, false},
                  {"free blocks", p.free_blocks, false},
                  {"largest free block", p.largest, false},
                  {"requests to lists", p.requests, true},
                  {"of them satisfied", p.hits, true},
                  {"other requests", p.direct, true}};

        for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
            snprintf(name, sizeof(name), "%s: %s", pools[k], of[i].what);
            all &= of[i].rate ? rate(f, name, (double)of[i].value, seconds)
                              : level(f, name, of[i].value, seconds);
        }
    }
    return all;
}

static bool take_locks(struct figures *f, double seconds)
{
    static const int items[] = {MEGA_INFO_SPINLOCK, MEGA_INFO_MUTEX};
    struct mega_lock l;
    char name[48];
    bool all = true;

    for (unsigned k = 0; k < 2; k++)
        for (unsigned i = 0; mega$info(items[k], i, &l, sizeof(l)) & 1; i++) {
            if (!l.measuring || !(l.acquisitions + l.shared))
                continue;
            snprintf(name, sizeof(name), "%.20s %u: taken", l.name, l.rank);
            all &= rate(f, name, (double)(l.acquisitions + l.shared), seconds);
            if (!l.waits)
                continue;
            snprintf(name, sizeof(name), "%.20s %u: waits", l.name, l.rank);
            all &= rate(f, name, (double)l.waits, seconds);
        }
    return all;
}

static int by_current(const void *a, const void *b)
{
    const struct figure *x = a, *y = b;

    return (x->current < y->current) - (x->current > y->current);
}

bool take_figures(struct figures *f, enum subject subject, const struct mega_states *states,
                  const struct processes *now, const struct processes *before)
{
    uint64_t ns = monotonic();
    double seconds = f->subject == subject ? gained(ns, f->ns) : 0;
    size_t kept = 0;
    bool all = true;

    if (f->subject != subject)
        f->count = 0;
    f->subject = subject;
    f->ns = ns;
    for (size_t i = 0; i < f->count; i++)
        f->list[i].seen = false;
    if (subject == PAGE)
        all = take_page(f, seconds, states, now, before);
    else if (subject == IO)
        all = take_io(f, seconds, states);
    else if (subject == DISK)
        all = take_disks(f, seconds);
    else if (subject == POOL)
        all = take_pool(f, seconds);
    else if (subject == LOCK)
        all = take_locks(f, seconds);
    for (size_t i = 0; i < f->count; i++)
        if (f->list[i].seen)
            f->list[kept++] = f->list[i];
    f->count = kept;
    if (subject == LOCK) /* there are many: those that are taken most come first */
        qsort(f->list, f->count, sizeof(f->list[0]), by_current);
    return all;
}
