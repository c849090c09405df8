/* show section [NAME] [/full] */
#include "show.h"

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

static void hints(const char *what, const uint64_t ptes[4])
{
    printf("    %-28s", what);
    for (int i = 0; i < 4; i++)
        if (ptes[i])
            printf("  %lu of %s", (unsigned long)ptes[i], hint_names[i]);
    if (!(ptes[0] | ptes[1] | ptes[2] | ptes[3]))
        printf("  none");
    putchar('\n');
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

    if (!ask(MEGA_INFO_RAD, 1, &r, sizeof(r)))
        return;
    printf("    %-28s", "Valid pages by domain");
    for (int i = 0; i < 8 && ask(MEGA_INFO_RAD, i, &r, sizeof(r)); i++)
        printf("  %d: %lu", i, (unsigned long)pages[i]);
    putchar('\n');
}

static void full(const struct mega_section *s)
{
    char flags[160];

    flag_names(s->flags, flags, sizeof(flags));
    printf("\nGlobal section %s\n", s->name);
    printf("    %-28s  %s\n", "Flags", flags);
    if (s->flags & SEC$M_SYSGBL)
        printf("    %-28s  system\n", "Scope");
    else
        printf("    %-28s  group %o\n", "Scope", s->group);
    printf("    %-28s  %lu (%.0f MB), %lu valid\n", "Pages", (unsigned long)s->npages,
           megabytes(s->npages), (unsigned long)s->valid_pages);
    printf("    %-28s  %s\n", "Memory", memory_of(s->flags)->words);
    printf("    %-28s  %lu\n", "Shared page-table pages", (unsigned long)s->pt_pages);
    if (s->shpt_flags) {
        flag_names(s->shpt_flags, flags, sizeof(flags));
        printf("    %-28s  %s\n", "Flags of their section", flags);
    }
    printf("    %-28s  %lu mappings, %lu references\n", "In use by", (unsigned long)s->shares,
           (unsigned long)s->refs);
    printf("    %-28s  %lu\n", "Level-2 pages shared whole", (unsigned long)s->l1_ptes);
    printf("    %-28s  %lu global page table entries, %lu bytes nonpaged pool, %lu paged\n",
           "Costs beside its pages", (unsigned long)s->gptes, (unsigned long)s->npp_bytes,
           (unsigned long)s->pgd_bytes);
    by_domain(s->rad_pages);
    if (s->delete_pending)
        printf("    %-28s  with its last mapping\n", "To be deleted");
    hints("Level-3 PTEs, by hint", s->l3_ptes);
    hints("Level-2 PTEs, by hint", s->l2_ptes);
    printf("    %-28s  %lu\n", "PTEs with a wrong hint", (unsigned long)s->gh_errors);
    printf("    %-28s  made valid %lu, table picked up %lu, raced %lu, global valid %lu\n",
           "Faults", (unsigned long)s->made_valid, (unsigned long)s->l3_pickups,
           (unsigned long)s->raced, (unsigned long)s->global_valid);
}

int show_section(unsigned q, const char *name)
{
    struct mega_section s;
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
            printf("Global section                                Group       Pages       Valid  "
                   "Type   Page tables  Maps\n");
        if (!(s.flags & SEC$M_SYSGBL))
            snprintf(scope, sizeof(scope), "%o", s.group);
        printf("%-43s   %-6s%11lu%12lu  %-5s%13lu%6lu\n", s.name, scope, (unsigned long)s.npages,
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
