/*
 * Changes of a reserved-memory registry.
 *
 * An entry is a record and those of its further parts, which follow it and have RMD_EXTENDS. A
 * command makes the new records of one entry in a small array, checks them, and puts them in place
 * of the old ones; so a refused change changes nothing.
 */
#include "registry.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define PARTS_MAX (CONFIG_RAD_MAX + 2) /* one in each domain, one without a preference */

struct entry {
    uint32_t nparts;
    struct registry_entry part[PARTS_MAX];
};

static int refuse(char *why, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int refuse(char *why, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    vsnprintf(why, REGISTRY_WHY, format, ap);
    va_end(ap);
    return -1;
}

uint32_t registry_records(const struct registry *g, uint32_t at)
{
    uint32_t n = 1;

    while (at + n < g->count && (g->entries[at + n].flags & RMD_EXTENDS))
        n++;
    return n;
}

static bool is_global(const struct registry_entry *e) { return !(e->flags & RMD_NOGLOBAL); }

/* The group, or -1 for a system-wide entry or one for no section. */
static int64_t group_of(const struct registry_entry *e)
{
    return e->flags & RMD_GROUP ? (int64_t)e->group : -1;
}

static bool says_none(const struct wish *w) { return w->global_section == NO; }

/* ---- finding ---- */

static int find(const struct registry *g, const struct wish *w, char *why)
{
    int64_t group = w->group_said == YES ? (int64_t)w->group : -1;
    int first = -1, found = 0;

    for (uint32_t k = 0; k < g->count; k++) {
        const struct registry_entry *e = &g->entries[k];

        if ((e->flags & RMD_EXTENDS) || strcmp(e->name, w->name) != 0)
            continue;
        if ((w->group_said == YES || w->sysgbl == YES || says_none(w)) && group_of(e) == group)
            return (int)k;
        if (found++ == 0)
            first = (int)k;
    }
    if (found == 0)
        return refuse(why, "%s: no such entry", w->name);
    if (found > 1)
        return refuse(why, "%s: there are several entries: say /GROUP or /SYSGBL", w->name);
    return first;
}

/* The same; it is an error if the entry does not have the scope that the command says. */
static int find_exact(const struct registry *g, const struct wish *w, char *why)
{
    int at = find(g, w, why);
    const struct registry_entry *e = &g->entries[at < 0 ? 0 : at];

    if (at < 0)
        return at;
    if (w->group_said == YES && group_of(e) != (int64_t)w->group)
        return refuse(why, "%s: no such entry in group %o", w->name, w->group);
    if (w->sysgbl == YES && (group_of(e) >= 0 || !is_global(e)))
        return refuse(why, "%s: the entry is not system-wide", w->name);
    if (says_none(w) && is_global(e))
        return refuse(why, "%s: the entry is for a section", w->name);
    return at;
}

/* Is there another entry of the name and scope? `but`: the number of one that does not count. */
static bool is_taken(const struct registry *g, const struct registry_entry *e, int but)
{
    for (uint32_t k = 0; k < g->count; k++)
        if ((int)k != but && !(g->entries[k].flags & RMD_EXTENDS) &&
            strcmp(g->entries[k].name, e->name) == 0 && group_of(&g->entries[k]) == group_of(e))
            return true;
    return false;
}

/* The part that is in a domain. needed: one must be meant, and without a domain it is not clear
 * which if there are several. */
static int part_in(const struct entry *e, const struct wish *w, bool needed, char *why)
{
    uint32_t rad = w->rad_said == YES ? w->rad : CONFIG_RAD_NONE;

    for (uint32_t k = 0; k < e->nparts; k++)
        if (e->part[k].rad == rad)
            return (int)k;
    if (w->rad_said != YES && needed && e->nparts > 1)
        return refuse(why, "%s: the entry has several parts: say /RAD", w->name);
    if (w->rad_said != YES)
        return 0;
    return refuse(why, "%s: %s in RAD %u; /NEW_RAD changes it", w->name,
                  e->nparts > 1 ? "no part of the entry is" : "the entry is not", w->rad);
}

/* ---- rules ---- */

static int check_name(const char *name, char *why)
{
    size_t n = strlen(name);
    bool good = n >= 1 && n <= CONFIG_RESERVED_NAME_MAX;

    for (size_t k = 0; good && k < n; k++)
        good = name[k] > ' ' && name[k] < 0x7F && name[k] != ':';
    return good ? 0
                : refuse(why, "'%.60s': a name has 1 to %d visible characters and no colon", name,
                         CONFIG_RESERVED_NAME_MAX);
}

static int check_parts(const struct entry *e, char *why)
{
    const char *name = e->part[0].name;
    uint64_t total = 0;

    for (uint32_t k = 0; k < e->nparts; k++) {
        const struct registry_entry *p = &e->part[k];

        if (p->megabytes < 1 || p->megabytes > CONFIG_RESERVED_MB_MAX)
            return refuse(why, "%s: the size is 1 to %d MB, not %ld", name, CONFIG_RESERVED_MB_MAX,
                          (long)p->megabytes);
        if (p->rad != CONFIG_RAD_NONE && p->rad > CONFIG_RAD_MAX)
            return refuse(why, "%s: /RAD is 0 to %u", name, CONFIG_RAD_MAX);
        for (uint32_t j = 0; j < k; j++)
            if (e->part[j].rad == p->rad)
                return refuse(why, "%s: no two parts of an entry have the same RAD, or none", name);
        if (k + 1 < e->nparts && (p->flags & RMD_ALLOC) && p->megabytes % CONFIG_PART_MB)
            return refuse(why, "%s: with /ALLOCATE every part but the last is a multiple of %u MB",
                          name, CONFIG_PART_MB);
        total += p->megabytes;
    }
    if (total > CONFIG_RESERVED_MB_MAX)
        return refuse(why, "%s: all parts together are at most %d MB", name,
                      CONFIG_RESERVED_MB_MAX);
    return 0;
}

static int check(const struct entry *e, char *why)
{
    const struct registry_entry *first = &e->part[0];
    int err = check_name(first->name, why);

    if (!err)
        err = check_parts(e, why);
    if (!err && !is_global(first) && (first->flags & RMD_PAGE_TABLES))
        err = refuse(why, "%s: /PAGE_TABLES and /NOGLOBAL_SECTION exclude each other", first->name);
    if (!err && first->group > CONFIG_GROUP_MAX)
        err = refuse(why, "%s: /GROUP is octal, 0 to %o", first->name, CONFIG_GROUP_MAX);
    return err;
}

/* Qualifiers that exclude each other. */
static int check_pairs(const struct wish *w, char *why)
{
    const struct {
        bool both;
        const char *text;
    } pairs[] = {
        {w->zero == YES && w->allocate == NO, "/ZERO and /NOALLOCATE"},
        {w->group_said == YES && w->sysgbl == YES, "/GROUP and /SYSGBL"},
        {w->group_said == YES && says_none(w), "/GROUP and /NOGLOBAL_SECTION"},
        {w->sysgbl == YES && says_none(w), "/SYSGBL and /NOGLOBAL_SECTION"},
        {w->page_tables == YES && says_none(w), "/PAGE_TABLES and /NOGLOBAL_SECTION"},
    };

    for (size_t k = 0; k < sizeof(pairs) / sizeof(pairs[0]); k++)
        if (pairs[k].both)
            return refuse(why, "%s exclude each other", pairs[k].text);
    return 0;
}

static void set(uint32_t *flags, uint32_t flag, bool on)
{
    *flags = on ? *flags | flag : *flags & ~flag;
}

/* Apply a command's qualifiers, but for sizes and domains; what is not said stays. */
static int apply(struct entry *e, const struct wish *w, char *why)
{
    uint32_t flags = e->part[0].flags, group = e->part[0].group;

    if (check_pairs(w, why))
        return -1;
    if (w->allocate)
        set(&flags, RMD_ALLOC, w->allocate == YES);
    if (w->zero)
        set(&flags, RMD_ZERO, w->zero == YES);
    if (w->zero == YES)
        flags |= RMD_ALLOC;
    if (w->allocate == NO)
        flags &= ~RMD_ZERO;
    if (w->global_section == NO) {
        flags = (flags & ~(RMD_PAGE_TABLES | RMD_GROUP | RMD_SYSGBL)) | RMD_NOGLOBAL;
        group = 0;
    } else if (w->global_section == YES && (flags & RMD_NOGLOBAL)) {
        flags = (flags & ~RMD_NOGLOBAL) | RMD_SYSGBL;
    }
    if (w->page_tables)
        set(&flags, RMD_PAGE_TABLES, w->page_tables == YES);
    if ((flags & RMD_NOGLOBAL) && (w->group_said == YES || w->sysgbl == YES))
        return refuse(why, "%s: the entry is /NOGLOBAL_SECTION: say /GLOBAL_SECTION too", w->name);
    if (w->group_said == YES) {
        flags = (flags & ~RMD_SYSGBL) | RMD_GROUP;
        group = w->group;
    }
    if (w->sysgbl == YES) {
        flags = (flags & ~RMD_GROUP) | RMD_SYSGBL;
        group = 0;
    }
    for (uint32_t k = 0; k < e->nparts; k++) {
        e->part[k].flags = flags | (k ? RMD_EXTENDS : 0);
        e->part[k].group = group;
    }
    return check(e, why);
}

/* ---- changes ---- */

/* Put an entry in place of the `old` records from `at` on. */
static int replace(struct registry *g, uint32_t at, uint32_t old, const struct entry *e, char *why)
{
    if (g->count - old + e->nparts > CONFIG_MAX_RESERVED)
        return refuse(why, "more than %d reservations, parts included", CONFIG_MAX_RESERVED);
    memmove(&g->entries[at + e->nparts], &g->entries[at + old],
            (g->count - at - old) * sizeof(g->entries[0]));
    memcpy(&g->entries[at], e->part, e->nparts * sizeof(e->part[0]));
    g->count = g->count - old + e->nparts;
    return (int)at;
}

static void take(const struct registry *g, uint32_t at, struct entry *e)
{
    e->nparts = registry_records(g, at);
    if (e->nparts > PARTS_MAX)
        e->nparts = PARTS_MAX; /* cannot be: all have different domains */
    memcpy(e->part, &g->entries[at], e->nparts * sizeof(e->part[0]));
}

int registry_add(struct registry *g, const struct wish *w, char why[REGISTRY_WHY])
{
    struct entry e = {.nparts = 1};
    struct registry_entry *p = &e.part[0];

    if (check_name(w->name, why))
        return -1;
    if (w->size_said != YES)
        return refuse(why, "%s: /SIZE is missing", w->name);
    strcpy(p->name, w->name); /* as long as check_name() admits */
    p->flags = RMD_PAGE_TABLES | RMD_SYSGBL;
    p->megabytes = w->size;
    p->rad = w->rad_said == YES ? w->rad : CONFIG_RAD_NONE;
    if (apply(&e, w, why))
        return -1;
    if (is_taken(g, p, -1))
        return refuse(why, "%s: there is such an entry already", w->name);
    return replace(g, g->count, 0, &e, why);
}

int registry_modify(struct registry *g, const struct wish *w, char why[REGISTRY_WHY])
{
    int at = find(g, w, why), part;
    struct entry e;

    if (at < 0)
        return at;
    take(g, (uint32_t)at, &e);
    part = part_in(&e, w, w->size_said == YES || w->new_rad_said, why);
    if (part < 0)
        return part;
    if (w->size_said == YES)
        e.part[part].megabytes = w->size;
    if (w->new_rad_said)
        e.part[part].rad = w->new_rad_said == YES ? w->new_rad : CONFIG_RAD_NONE;
    if (apply(&e, w, why))
        return -1;
    if (is_taken(g, &e.part[0], at))
        return refuse(why, "%s: there is such an entry already", w->name);
    return replace(g, (uint32_t)at, e.nparts, &e, why);
}

int registry_extend(struct registry *g, const struct wish *w, char why[REGISTRY_WHY])
{
    int at;
    struct entry e;
    uint32_t old;

    if (w->size_said != YES)
        return refuse(why, "%s: /SIZE is missing", w->name);
    at = find_exact(g, w, why);
    if (at < 0)
        return at;
    take(g, (uint32_t)at, &e);
    old = e.nparts;
    if (old == PARTS_MAX)
        return refuse(why, "%s: no two parts of an entry have the same RAD, or none", w->name);
    e.part[old] = e.part[0];
    e.part[old].flags |= RMD_EXTENDS;
    e.part[old].megabytes = w->size;
    e.part[old].rad = w->rad_said == YES ? w->rad : CONFIG_RAD_NONE;
    e.nparts++;
    if (check(&e, why))
        return -1;
    return replace(g, (uint32_t)at, old, &e, why);
}

int registry_remove(struct registry *g, const struct wish *w, char why[REGISTRY_WHY])
{
    int at = find_exact(g, w, why), part = 0;
    struct entry e;
    uint32_t old;

    if (at < 0)
        return at;
    take(g, (uint32_t)at, &e);
    old = e.nparts;
    if (w->rad_said == YES)
        part = part_in(&e, w, true, why);
    if (part < 0)
        return part;
    if (w->rad_said != YES || old == 1) {
        e.nparts = 0;
        (void)replace(g, (uint32_t)at, old, &e, why);
        return REGISTRY_GONE;
    }
    memmove(&e.part[part], &e.part[part + 1], (old - (uint32_t)part - 1) * sizeof(e.part[0]));
    e.nparts--;
    e.part[0].flags &= ~RMD_EXTENDS;
    if (check(&e, why))
        return -1;
    return replace(g, (uint32_t)at, old, &e, why);
}

/* ---- texts ---- */

void registry_describe(const struct registry *g, uint32_t at, char *text, size_t size)
{
    size_t n = 0;

    for (uint32_t k = 0; k < registry_records(g, at); k++) {
        const struct registry_entry *e = &g->entries[at + k];
        char rad[24] = "", scope[48] = "";

        if (e->rad != CONFIG_RAD_NONE)
            snprintf(rad, sizeof(rad), " /RAD=%u", e->rad);
        if (!is_global(e))
            snprintf(scope, sizeof(scope), "/NOGLOBAL_SECTION");
        else if (e->flags & RMD_GROUP)
            snprintf(scope, sizeof(scope), "/GROUP=%o", e->group);
        else
            snprintf(scope, sizeof(scope), "/SYSGBL");
        if (k == 0)
            n += (size_t)snprintf(text, size, "/SIZE=%lu %s %s %s%s%s", (unsigned long)e->megabytes,
                                  e->flags & RMD_ALLOC ? "/ALLOCATE" : "/NOALLOCATE",
                                  e->flags & RMD_ZERO ? "/ZERO" : "/NOZERO",
                                  !is_global(e)                ? ""
                                  : e->flags & RMD_PAGE_TABLES ? "/PAGE_TABLES "
                                                               : "/NOPAGE_TABLES ",
                                  scope, rad);
        else if (n < size)
            n += (size_t)snprintf(text + n, size - n, "; and /SIZE=%lu%s",
                                  (unsigned long)e->megabytes, rad);
    }
}
