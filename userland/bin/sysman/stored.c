/* RESERVED_MEMORY ADD, MODIFY, EXTEND, REMOVE and LIST: the registry on the system disk. */
#include "disk.h"
#include "registry.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

static struct config config;

/* A qualifier's number in *value, of at most `most`. True if it is given and right. */
static bool take_number(const struct command *c, const char *name, int radix, uint64_t most,
                        enum choice *said, uint64_t *value, bool *wrong)
{
    int at = given(c, name);
    int64_t n;

    if (at < 0)
        return false;
    if (!number(c->value[at], radix, &n) || n < 0 || (uint64_t)n > most) {
        (void)fail("IVNUM", "/%s: '%s' is no number, or too large", name, c->value[at]);
        *wrong = true;
        return false;
    }
    *said = YES;
    *value = (uint64_t)n;
    return true;
}

static enum choice choice(const struct command *c, const char *yes, const char *no)
{
    return given(c, yes) >= 0 ? YES : given(c, no) >= 0 ? NO : UNSAID;
}

static bool make_wish(const struct command *c, struct wish *w)
{
    uint64_t value = 0;
    bool wrong = false;
    int64_t n;

    *w = (struct wish){
        .name = c->word[0],
        .allocate = choice(c, "ALLOCATE", "NOALLOCATE"),
        .zero = choice(c, "ZERO", "NOZERO"),
        .page_tables = choice(c, "PAGE_TABLES", "NOPAGE_TABLES"),
        .global_section = choice(c, "GLOBAL_SECTION", "NOGLOBAL_SECTION"),
        .sysgbl = given(c, "SYSGBL") >= 0 ? YES : UNSAID,
        .new_rad_said = given(c, "NONEW_RAD") >= 0 ? NO : UNSAID,
    };
    if (take_number(c, "GROUP", 8, UINT32_MAX, &w->group_said, &value, &wrong))
        w->group = (uint32_t)value;
    /* Domains that are too large are named as such: CONFIG_RAD_NONE has a meaning of its own. */
    if (take_number(c, "RAD", 10, INT32_MAX, &w->rad_said, &value, &wrong))
        w->rad = (uint32_t)value;
    if (take_number(c, "NEW_RAD", 10, INT32_MAX, &w->new_rad_said, &value, &wrong))
        w->new_rad = (uint32_t)value;
    (void)take_number(c, "SIZE", 10, INT64_MAX, &w->size_said, &w->size, &wrong);
    if (wrong)
        return false;
    if (c->words < 2)
        return true;
    if (w->size_said == YES)
        return fail("CONFLICT", "the size is given twice"), false;
    if (!number(c->word[1], 10, &n) || n < 0)
        return fail("IVNUM", "'%s' is no number", c->word[1]), false;
    w->size_said = YES;
    w->size = (uint64_t)n;
    return true;
}

typedef int change(struct registry *g, const struct wish *w, char why[REGISTRY_WHY]);

/* Read, change, write. said: what is said of the entry before its qualifiers. */
static enum status apply(const struct command *c, change *fn, const char *said)
{
    char why[REGISTRY_WHY], text[4096];
    struct wish w;
    int at;

    if (!make_wish(c, &w) || !disk_open(&config, true))
        return FAILED;
    at = fn(&config.registry, &w, why);
    if (at == -1) {
        disk_close();
        return fail("REFUSED", "%s", why);
    }
    if (disk_write(&config) != DONE)
        return FAILED;
    if (at == REGISTRY_GONE) {
        printf("%%SYSMAN-I-WRITTEN, %s removed\n", w.name);
        return DONE;
    }
    registry_describe(&config.registry, (uint32_t)at, text, sizeof(text));
    printf("%%SYSMAN-I-WRITTEN, %s %s: %s\n", w.name, said, text);
    return DONE;
}

enum status stored_add(const struct command *c) { return apply(c, registry_add, "added"); }
enum status stored_modify(const struct command *c) { return apply(c, registry_modify, "is now"); }
enum status stored_extend(const struct command *c) { return apply(c, registry_extend, "is now"); }
enum status stored_remove(const struct command *c) { return apply(c, registry_remove, "is now"); }

static void print_record(const struct registry_entry *e)
{
    char scope[16] = "SYSGBL", rad[16] = "";

    if (e->flags & RMD_NOGLOBAL)
        snprintf(scope, sizeof(scope), "none");
    else if (e->flags & RMD_GROUP)
        snprintf(scope, sizeof(scope), "%o", e->group);
    if (e->rad != CONFIG_RAD_NONE)
        snprintf(rad, sizeof(rad), "%u", e->rad);
    printf("%-43s  %-6s %10lu  %-8s  %-4s  %-11s  %3s\n",
           e->flags & RMD_EXTENDS ? "  and" : e->name, scope, (unsigned long)e->megabytes,
           e->flags & RMD_ALLOC ? "yes" : "no", e->flags & RMD_ZERO ? "yes" : "no",
           e->flags & RMD_PAGE_TABLES ? "yes" : "no", rad);
}

enum status stored_list(const struct command *c)
{
    const struct registry *g = &config.registry;
    unsigned entries = 0;
    uint64_t total = 0;

    if (!disk_open(&config, false))
        return FAILED;
    disk_close();
    for (uint32_t at = 0, n; at < g->count; at += n) {
        n = registry_records(g, at);
        if (c->words && fnmatch(c->word[0], g->entries[at].name, 0) != 0)
            continue;
        if (entries++ == 0)
            printf("%-43s  %-6s %10s  Allocate  Zero  Page tables  RAD\n", "Name", "Group", "MB");
        for (uint32_t k = 0; k < n; k++) {
            print_record(&g->entries[at + k]);
            total += g->entries[at + k].megabytes;
        }
    }
    if (entries == 0 && c->words)
        return fail("NOTFOUND", "%s: no such entry", c->word[0]);
    if (entries == 0)
        printf("There are no entries on %s.\n", disk_name());
    else
        printf("%u entries, %lu MB\n", entries, (unsigned long)total);
    return DONE;
}
