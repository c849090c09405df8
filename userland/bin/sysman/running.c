/* RESERVED_MEMORY SHOW and FREE: the running system, by mega$info and mega$control. */
#include "sysman.h"

#include <condition.h>
#include <fnmatch.h>
#include <megalith/registry.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdio.h>
#include <string.h>

#define PAGES_PER_MB 128.0

enum status refused(const char *what, int status)
{
    return fail("REFUSED", "%s: the kernel answered %s", what, mega$condition_message(status, 0));
}

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
