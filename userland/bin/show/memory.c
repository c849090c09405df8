/* show memory [/physical] [/reserved] [/pool [/full]] [/global] [/files] [/all] [/validate] */
#include "show.h"

#include <filled.h>
#include <megalith/registry.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static void heading(void)
{
    char now[64] = "";
    time_t t = time(NULL);
    struct tm *tm = gmtime(&t);

    if (tm)
        strftime(now, sizeof(now), "%d-%b-%Y %H:%M:%S", tm);
    printf("              System Memory Resources on %s\n", now);
}

/* Print each memory domain, if there is more than one. */
static void domains(void)
{
    struct mega_rad r;

    if (!ask(MEGA_INFO_RAD, 1, &r, sizeof(r)))
        return;
    printf("\nMemory domains (pages):  CPUs       Total        Free    Reserved      Active\n");
    for (int64_t i = 0; ask(MEGA_INFO_RAD, i, &r, sizeof(r)); i++) {
        char cpus[16] = "";
        size_t n = 0;

        for (unsigned c = 0; c < 4; c++)
            if ((r.cpus >> c) & 1)
                n += (size_t)snprintf(cpus + n, sizeof(cpus) - n, "%s%u", n ? "," : "", c);
        printf("  RAD %-2ld %20s%12lu%12lu%12lu%12lu\n", (long)i, cpus[0] ? cpus : "none",
               (unsigned long)r.total, (unsigned long)r.free, (unsigned long)r.reserved,
               (unsigned long)r.active);
    }
}

static void physical(void)
{
    struct mega_memory m;

    if (!ask(MEGA_INFO_MEMORY, 0, &m, sizeof(m)))
        return;
    printf("\nPhysical Memory Usage (pages):     Total        Free      In Use    Modified\n");
    printf("  Main Memory (%.2f GB)%*s %12lu%12lu%12lu%12lu\n", megabytes(m.total) / 1024.0,
           megabytes(m.total) >= 1024000.0  ? 1
           : megabytes(m.total) >= 102400.0 ? 2
           : megabytes(m.total) >= 10240.0  ? 3
                                            : 4,
           "", (unsigned long)m.total, (unsigned long)m.free,
           (unsigned long)(m.total - m.free - m.modified), (unsigned long)m.modified);
    printf("\nOf the free pages:        Zeroed  Never used  CPU caches\n");
    printf("                    %12lu%12lu%12lu\n", (unsigned long)m.zeroed,
           (unsigned long)m.never_used, (unsigned long)m.cached);
    printf("\nOf the pages in use:    Reserved      Active Page tables      Kernel         Bad\n");
    printf("                    %12lu%12lu%12lu%12lu%12lu\n", (unsigned long)m.reserved,
           (unsigned long)m.active, (unsigned long)m.pt_pages, (unsigned long)m.kernel_pages,
           (unsigned long)m.bad);
    if (m.vhpt_pages)
        printf("  %lu of the kernel's are hashed page tables (VHPT_SIZE).\n",
               (unsigned long)m.vhpt_pages);
    domains();
    printf("\nFluid pages:                     Count     Minimum  Promised and not yet used\n");
    printf("                          %12lu%12lu%12lu\n", (unsigned long)m.fluid,
           (unsigned long)m.fluid_minimum, (unsigned long)m.promised_unused);
    printf("\nUp for ");
    print_duration(m.uptime_ns);
    printf(". A page has %lu bytes.\n", (unsigned long)m.page_size);
}

/* Columns for the names of reservations; the others take 52. */
static unsigned name_columns(void)
{
    struct mega_reserved r;

    return mega$columns() >= sizeof(r.name) + 52 ? sizeof(r.name) : 28;
}

static void reserved_line(const struct mega_reserved *r, uint64_t pages, uint64_t used,
                          const char *type)
{
    char group[16] = "SYSGBL";

    if (r->flags & RMD_GROUP)
        snprintf(group, sizeof(group), "%o", r->group);
    if (r->flags & RMD_NOGLOBAL)
        strcpy(group, "none");
    printf("  ");
    mega$print_first(r->name, name_columns());
    printf("  %-8s%11lu%11lu  %s\n", group, (unsigned long)pages, (unsigned long)used, type);
}

static void reserved(void)
{
    struct mega_reserved r;
    uint64_t total = 0;
    int64_t i;

    for (i = 0; ask(MEGA_INFO_RESERVED, i, &r, sizeof(r)); i++) {
        bool alloc = (r.flags & RMD_ALLOC) && !(r.flags & RMD_NO_CONTIG);

        if (i == 0)
            printf("\n%-*s  Group      Reserved     In Use  Type\n", (int)name_columns() + 2,
                   "Memory Reservations (pages):");
        /* FREED: the unused part has been freed; the rest stays reserved while it is in use. */
        reserved_line(&r, r.npages, r.used,
                      r.flags & RMD_FREED ? "Rest freed"
                      : alloc             ? "Allocated"
                                          : "Fluid");
        if (r.npt_pages)
            reserved_line(&r, r.npt_pages, r.pt_used, alloc ? "Page Table" : "Fluid Page Table");
        total += r.npages + r.npt_pages;
    }
    if (i == 0)
        printf("\nThere are no memory reservations.\n");
    else {
        char label[48];

        snprintf(label, sizeof(label), "Total (%.2f MB reserved)", megabytes(total));
        printf("\n%-*s%11lu\n", (int)name_columns() + 12, label, (unsigned long)total);
    }
}

static void pair(const char *l1, double v1, int d1, const char *l2, double v2, int d2)
{
    char a[32], b[32];

    snprintf(a, sizeof(a), "%.*f", d1, v1);
    snprintf(b, sizeof(b), "%.*f", d2, v2);
    printf("    %-23s%12s   %-26s%12s\n", l1, a, l2, b);
}

#define MB(bytes) ((double)(bytes) / 1048576.0)

/* Print each lookaside list that had requests or has packets. */
static void lists(bool paged)
{
    struct mega_pool_list l;
    bool any = false;

    for (int64_t i = 0; ask(MEGA_INFO_POOL_LIST, (int64_t)paged << 32 | i, &l, sizeof(l)); i++) {
        if (!l.requests && !l.count)
            continue;
        if (!any)
            printf("    Lookaside list (bytes)  Packets     Requests         Hits  Hit %%\n");
        any = true;
        printf("    %22lu%9lu%13lu%13lu%7.1f\n", (unsigned long)l.size, (unsigned long)l.count,
               (unsigned long)l.requests, (unsigned long)l.hits,
               l.requests ? 100.0 * (double)l.hits / (double)l.requests : 0.0);
    }
}

static void pool_full(const struct mega_pool *p, bool paged)
{
    printf("\n%s Dynamic Memory\n", paged ? "Paged" : "Nonpaged");
    pair("Current Size (MB)", MB(p->size), 2, "Current Size (Pagelets)", (double)(p->size / 512),
         0);
    pair("Free Space (MB)", MB(p->free), 2, "Space in Use (MB)", MB(p->in_use), 2);
    pair("Largest Var Block (MB)", MB(p->largest), 2, "Smallest Var Block (bytes)",
         (double)p->smallest, 0);
    pair("Number of Free Blocks", (double)p->free_blocks, 0, "Free Blocks LEQU 64 bytes",
         (double)p->free_blocks_le64, 0);
    pair("Lookaside Limit (bytes)", (double)p->lal_size, 0, "Lookaside Space (MB)",
         MB(p->lookaside_bytes), 2);
    pair("Requests", (double)(p->requests + p->direct), 0, "Of Sizes without a List",
         (double)p->direct, 0);
    pair("Lookaside Requests", (double)p->requests, 0, "Lookaside Hits", (double)p->hits, 0);
    lists(paged);
}

static void pool(bool full)
{
    struct mega_pool p;

    if (!full)
        printf(
            "\nDynamic Memory Usage:             Total      Free    In Use Lookaside   Largest\n");
    for (int64_t i = 0; ask(MEGA_INFO_POOL, i, &p, sizeof(p)); i++)
        if (full)
            pool_full(&p, i == 1);
        else
            printf("  %-15s Memory (MB)%10.2f%10.2f%10.2f%10.2f%10.2f\n",
                   i ? "Paged Dynamic" : "Nonpaged Dyn.", MB(p.size), MB(p.free), MB(p.in_use),
                   MB(p.lookaside_bytes), MB(p.largest));
}

static void use_line(const char *what, const char *parameter, const struct mega_use *u)
{
    printf("  %-26s %-12s%13lu%12lu%12lu\n", what, parameter, (unsigned long)u->limit,
           (unsigned long)u->use, (unsigned long)u->peak);
}

static void global(void)
{
    struct mega_global g;

    if (!ask(MEGA_INFO_GLOBAL, 0, &g, sizeof(g)))
        return;
    printf("\nGlobal Section Usage:        Parameter            Size      In Use        Peak\n");
    use_line("Sections", "GBLSECTIONS", &g.sections);
    use_line("Page table entries", "GBLPAGES", &g.gptes);
    use_line("Page-file-backed pages", "GBLPAGFIL", &g.pagfil_pages);
}

/* Is this the page file of the system disk, which the boot has put to use? */
static bool of_system_disk(const char *name)
{
    struct mega_disk d;

    for (int64_t i = 0; ask(MEGA_INFO_DISK, i, &d, sizeof(d)); i++)
        if (strcmp(d.name, name) == 0)
            return d.flags & MEGA_DISK_PAGING;
    return false;
}

/* Print the page files. given: they were asked for, so that none are named too. */
static void files(bool given)
{
    struct mega_page_file f;
    int64_t i;

    for (i = 0; ask(MEGA_INFO_PAGE_FILE, i, &f, sizeof(f)); i++) {
        if (i == 0)
            printf("\n%-20s%10s%10s%10s%10s%10s%10s\n", "Page Files (pages):", "Size", "Free",
                   "In Use", "Read", "Written", "Errors");
        printf("  /dev/%-13s%10lu%10lu%10lu%10lu%10lu%10lu\n", f.name,
               (unsigned long)(f.slots - f.bad), (unsigned long)(f.slots - f.bad - f.used),
               (unsigned long)f.used, (unsigned long)f.reads, (unsigned long)f.writes,
               (unsigned long)f.errors);
        if (of_system_disk(f.name))
            printf("  It is on the system disk.\n");
        if (f.closing)
            printf("  It is being closed.\n");
        if (f.bad)
            printf("  %lu of its pages cannot be used.\n", (unsigned long)f.bad);
    }
    if (i == 0 && given)
        printf("\nThere are no page files.\n");
}

int show_memory(unsigned q, const char *name)
{
    struct mega_memory m;
    bool given = (q & Q_FILES) != 0;

    (void)name;
    if (q & Q_VALIDATE)
        return show_validate();
    if (ask(MEGA_INFO_MEMORY, 0, &m, sizeof(m)))
        page_size = m.page_size;
    if (q & Q_ALL || !(q & (Q_PHYSICAL | Q_RESERVED | Q_POOL | Q_GLOBAL | Q_FILES)))
        q |= Q_PHYSICAL | Q_RESERVED | Q_POOL | Q_GLOBAL | Q_FILES;
    heading();
    if (q & Q_PHYSICAL)
        physical();
    if (q & Q_POOL)
        pool(q & Q_FULL);
    if (q & Q_GLOBAL)
        global();
    if (q & Q_FILES)
        files(given);
    if (q & Q_RESERVED)
        reserved();
    return 0;
}
