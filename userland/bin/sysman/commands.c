/* The commands, implemented by mega$info and mega$control. */
#include "sysman.h"

#include <condition.h>
#include <fnmatch.h>
#include <megalith/registry.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define PAGES_PER_MB 128.0

static enum status refused(const char *what, int status)
{
    return fail("REFUSED", "%s: the kernel answered %s", what, mega$condition_text(status));
}

/* ---- reservations ---- */

static void scope_of(const struct mega_reserved *r, char *text, size_t size)
{
    if (r->flags & RMD_NOGLOBAL)
        snprintf(text, size, "none");
    else if (r->flags & RMD_GROUP)
        snprintf(text, size, "%o", r->group);
    else
        snprintf(text, size, "SYSGBL");
}

static void reserved_line(const struct mega_reserved *r, uint64_t pages, uint64_t used,
                          const char *type)
{
    char scope[16];

    scope_of(r, scope, sizeof(scope));
    printf("%-43s  %-6s %12.2f %11lu %11lu  %s\n", r->name, scope, (double)pages / PAGES_PER_MB,
           (unsigned long)pages, (unsigned long)used, type);
}

enum status reserved_show(const struct command *c)
{
    struct mega_reserved r;
    uint64_t total = 0;
    unsigned shown = 0;
    int status;

    for (int64_t i = 0; (status = mega$info(MEGA_INFO_RESERVED, i, &r, sizeof(r))) == SS$_NORMAL;
         i++) {
        bool alloc = (r.flags & RMD_ALLOC) && !(r.flags & RMD_NO_CONTIG);

        if (c->words &&
            fnmatch(c->word[0], r.name, 0) != 0) /* case-sensitive, as names of sections are */
            continue;
        if (shown++ == 0)
            printf("%-43s  %-6s %12s %11s %11s  %s\n", "Name", "Group", "MB", "Pages", "In use",
                   "Type");
        reserved_line(&r, r.npages, r.used,
                      r.flags & RMD_FREED ? "Rest freed"
                      : alloc             ? "Allocated"
                                          : "Fluid");
        if (r.npt_pages)
            reserved_line(&r, r.npt_pages, r.pt_used, alloc ? "Page table" : "Fluid page table");
        total += r.npages + r.npt_pages;
    }
    if (status != SS$_NONEXPR)
        return refused("RESERVED_MEMORY SHOW", status);
    if (shown == 0 && c->words)
        return fail("NOTFOUND", "%s: no such reservation in the running system", c->word[0]);
    if (shown == 0)
        printf("There are no memory reservations.\n");
    else
        printf("Total: %.2f MB, %lu pages\n", (double)total / PAGES_PER_MB, (unsigned long)total);
    return DONE;
}

static const char *why_not_freed(int status)
{
    switch (status) {
    case SS$_NORESERVEDMEM:
        return "no such reservation in the running system";
    case SS$_RESERVEDMEMUSED:
        return "nothing of it is unused";
    case SS$_NOCMKRNL:
        return "this requires the privilege CMKRNL";
    default:
        return NULL;
    }
}

enum status reserved_free(const struct command *c)
{
    int group = given(c, "GROUP"), none = given(c, "NOGLOBAL_SECTION");
    int64_t scope = MEGA_SCOPE_SYSGBL;
    uint64_t freed = 0;
    int status;

    if (c->qualifiers > 1)
        return fail("CONFLICT", "/GROUP, /SYSGBL and /NOGLOBAL_SECTION exclude each other");
    if (group >= 0 && (!number(c->value[group], 8, &scope) || scope < 0 || scope > 037777))
        return fail("IVGROUP", "/GROUP is octal, 0 to 37777, not '%s'", c->value[group]);
    if (none >= 0)
        scope = MEGA_SCOPE_NOGLOBAL;
    status = mega$control(MEGA_CTL_FREE_RESERVED, (uint64_t)c->word[0], (uint64_t)scope,
                          (uint64_t)&freed, 0, 0);
    if (status != SS$_NORMAL && why_not_freed(status))
        return fail("NOTFREED", "%s: %s", c->word[0], why_not_freed(status));
    if (status != SS$_NORMAL)
        return refused(c->word[0], status);
    printf("%%SYSMAN-I-FREED, %s: %lu pages (%.2f MB) are fluid again\n", c->word[0],
           (unsigned long)freed, (double)freed / PAGES_PER_MB);
    return DONE;
}

/* ---- parameters ---- */

static bool matches(const char *pattern, const char *name)
{
    size_t n = strlen(pattern);

    if (n > 0 && pattern[n - 1] == '*')
        return strncasecmp(pattern, name, n - 1) == 0;
    return strcasecmp(pattern, name) == 0;
}

enum status parameters_show(const struct command *c)
{
    struct mega_param p;
    unsigned shown = 0;
    int status;

    for (int64_t i = 0; (status = mega$info(MEGA_INFO_PARAM, i, &p, sizeof(p))) == SS$_NORMAL;
         i++) {
        if ((c->words && !matches(c->word[0], p.name) && strcasecmp(c->word[0], p.older_name)) ||
            (c->qualifiers && !p.dynamic))
            continue;
        if (shown++ == 0)
            printf("%-20s %14s %14s %12s %14s  %-8s Dynamic\n", "Name", "Value", "Default",
                   "Minimum", "Maximum", "Unit");
        printf("%-20s %14ld %14ld %12ld %14ld  %-8s %s\n", p.name, (long)p.value, (long)p.dflt,
               (long)p.min, (long)p.max, p.unit, p.dynamic ? "D" : "");
    }
    if (status != SS$_NONEXPR)
        return refused("PARAMETERS SHOW", status);
    if (shown == 0)
        return fail("NOPARAM", "%s: no such system parameter", c->words ? c->word[0] : "*");
    return DONE;
}

/* Find a parameter by its name or older name, in any case. */
static bool find_parameter(const char *name, struct mega_param *p)
{
    for (int64_t i = 0; mega$info(MEGA_INFO_PARAM, i, p, sizeof(*p)) == SS$_NORMAL; i++)
        if (strcmp(p->name, name) == 0 || strcmp(p->older_name, name) == 0)
            return true;
    return false;
}

enum status parameters_set(const struct command *c)
{
    struct mega_param p;
    char name[sizeof(p.name)];
    int64_t value;
    size_t n = strlen(c->word[0]);
    int status;

    if (n >= sizeof(name))
        return fail("NOPARAM", "%s: no such system parameter", c->word[0]);
    for (size_t i = 0; i <= n; i++)
        name[i] = c->word[0][i] >= 'a' && c->word[0][i] <= 'z' ? (char)(c->word[0][i] - 'a' + 'A')
                                                               : c->word[0][i];
    if (!number(c->word[1], 10, &value))
        return fail("IVNUM", "'%s' is not a number", c->word[1]);
    status = mega$control(MEGA_CTL_SET_PARAM, (uint64_t)name, (uint64_t)value, 0, 0, 0);
    switch (status) {
    case SS$_NORMAL:
        printf("%%SYSMAN-I-SET, %s is %ld until the next boot\n", name, (long)value);
        return DONE;
    case SS$_NONEXPR:
        return fail("NOPARAM", "%s: no such system parameter", name);
    case SS$_NOWRT:
        return fail("NOTDYNAMIC", "%s is not dynamic: scripts/sysman sets it for the next boot",
                    name);
    case SS$_BADPARAM:
        if (find_parameter(name, &p))
            return fail("RANGE", "%s: %ld is not between %ld and %ld %s", name, (long)value,
                        (long)p.min, (long)p.max, p.unit);
        return fail("RANGE", "%s: %ld is out of range", name, (long)value);
    case SS$_NOCMKRNL:
        return fail("NOPRIV", "%s: this requires the privilege CMKRNL", name);
    default:
        return refused(name, status);
    }
}
