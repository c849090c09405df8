/* show section [NAME] [/full] */
#include "show.h"

#include <filled.h>
#include <secdef.h>
#include <stdio.h>
#include <string.h>

static const char *const hint_names[4] = {"1 page", "8 pages", "64 pages", "512 pages"};

static void flag_names(uint32_t f, char *out, size_t size)
{
    static const struct {
        uint32_t bit;
        const char *name;
    } names[] = {
        {SEC$M_MRES, "MRES"},         {SEC$M_MRES_ALLOC, "MRES_ALLOC"},
        {SEC$M_GRANHINT, "GRANHINT"}, {SEC$M_SHARED_PTS, "SHARED_PTS"},
        {SEC$M_PERM, "PERM"},         {SEC$M_WRT, "WRT"},
        {SEC$M_DZRO, "DZRO"},         {SEC$M_READ_ONLY_SHPT, "READ_ONLY_SHPT"},
        {SEC$M_PAGFIL, "PAGFIL"},     {SEC$M_PFNMAP, "PFNMAP"},
    };
    size_t n = 0;

    out[0] = 0;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (f & names[i].bit)
            n += (size_t)snprintf(out + n, n < size ? size - n : 0, "%s%s", n ? " " : "",
                                  names[i].name);
}

#define TEXT 34 /* column of what is said of a section */

static void hints(const char *what, const uint64_t ptes[4])
{
    char text[160] = "  none";
    size_t n = 0;

    for (int i = 0; i < 4; i++)
        if (ptes[i])
            n += (size_t)snprintf(text + n, sizeof(text) - n, "  %lu of %s", (unsigned long)ptes[i],
                                  hint_names[i]);
    mega$print_filled(TEXT, "    %-28s%s", what, text);
}

struct memory {
    const char *name, *words;
};

static const struct memory *memory_of(uint32_t flags)
{
    static const struct memory alloc = {"ALLOC", "allocated at boot"}, fluid = {"FLUID", "fluid"},
                               pagfil = {"PGFIL", "when touched; pageable"},
                               pfn = {"PFN", "page frames"};

    return flags & SEC$M_PFNMAP       ? &pfn
           : flags & SEC$M_PAGFIL     ? &pagfil
           : flags & SEC$M_MRES_ALLOC ? &alloc
                                      : &fluid;
}

/* Prints the valid pages of each memory domain, if there is more than one domain. */
static void by_domain(const uint64_t pages[8])
{
    struct mega_rad r;
    char text[8 * 26];
    size_t n = 0;

    if (!ask(MEGA_INFO_RAD, 1, &r, sizeof(r)))
        return;
    for (int i = 0; i < 8 && ask(MEGA_INFO_RAD, i, &r, sizeof(r)); i++)
        n += (size_t)snprintf(text + n, sizeof(text) - n, "  %d: %lu", i, (unsigned long)pages[i]);
    mega$print_filled(TEXT, "    %-28s%s", "Valid pages by domain", text);
}

static void full(const struct mega_section *s)
{
    char flags[160];

    flag_names(s->flags, flags, sizeof(flags));
    printf("\nGlobal section %s\n", s->name);
    mega$print_filled(TEXT, "    %-28s  %s", "Flags", flags);
    if (s->flags & SEC$M_SYSGBL)
        mega$print_filled(TEXT, "    %-28s  system", "Scope");
    else
        mega$print_filled(TEXT, "    %-28s  group %o", "Scope", s->group);
    mega$print_filled(TEXT, "    %-28s  %lu (%.0f MB), %lu valid", "Pages",
                      (unsigned long)s->npages, megabytes(s->npages),
                      (unsigned long)s->valid_pages);
    mega$print_filled(TEXT, "    %-28s  %s", "Memory", memory_of(s->flags)->words);
    mega$print_filled(TEXT, "    %-28s  %lu", "Shared page-table pages",
                      (unsigned long)s->pt_pages);
    if (s->shpt_flags) {
        flag_names(s->shpt_flags, flags, sizeof(flags));
        mega$print_filled(TEXT, "    %-28s  %s", "Flags of their section", flags);
    }
    mega$print_filled(TEXT, "    %-28s  %lu mappings, %lu references", "In use by",
                      (unsigned long)s->shares, (unsigned long)s->refs);
    mega$print_filled(TEXT, "    %-28s  %lu", "Level-2 pages shared whole",
                      (unsigned long)s->l1_ptes);
    mega$print_filled(
        TEXT, "    %-28s  %lu global page table entries, %lu bytes nonpaged pool, %lu paged",
        "Costs beside its pages", (unsigned long)s->gptes, (unsigned long)s->npp_bytes,
        (unsigned long)s->pgd_bytes);
    by_domain(s->rad_pages);
    if (s->delete_pending)
        mega$print_filled(TEXT, "    %-28s  with its last mapping", "To be deleted");
    hints("Level-3 PTEs, by hint", s->l3_ptes);
    hints("Level-2 PTEs, by hint", s->l2_ptes);
    mega$print_filled(TEXT, "    %-28s  %lu", "PTEs with a wrong hint",
                      (unsigned long)s->gh_errors);
    mega$print_filled(TEXT,
                      "    %-28s  made valid %lu, table picked up %lu, raced %lu, global valid %lu",
                      "Faults", (unsigned long)s->made_valid, (unsigned long)s->l3_pickups,
                      (unsigned long)s->raced, (unsigned long)s->global_valid);
}

int show_section(unsigned q, const char *name)
{
    struct mega_section s;
    /* The other columns take 53. */
    int name_columns = mega$columns() >= sizeof(s.name) + 53 ? (int)sizeof(s.name) : 27;
    int64_t i;
    unsigned shown = 0;

    for (i = 0; ask(MEGA_INFO_SECTION, i, &s, sizeof(s)); i++) {
        char scope[16] = "SYSGBL";

        if (name && strcmp(name, s.name) != 0)
            continue;
        if (q & Q_FULL || name) {
            full(&s);
            shown++;
            continue;
        }
        if (!shown++)
            printf("%-*s Group       Pages     Valid  Type  Page tables  Maps\n", name_columns,
                   "Global section");
        if (!(s.flags & SEC$M_SYSGBL))
            snprintf(scope, sizeof(scope), "%o", s.group);
        mega$print_first(s.name, (unsigned)name_columns);
        printf(" %-6s%11lu%10lu  %-5s%12lu%6lu\n", scope, (unsigned long)s.npages,
               (unsigned long)s.valid_pages, memory_of(s.flags)->name, (unsigned long)s.pt_pages,
               (unsigned long)s.shares);
    }
    if (shown)
        return 0;
    if (!name) {
        printf("There are no global sections.\n");
        return 0;
    }
    fprintf(stderr, "%%SHOW-W-NOSUCHSEC, no such section: %s\n", name);
    return 1;
}
