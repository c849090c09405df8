/* show memory /validate: makes the kernel stop all CPUs and check that every page is counted
 * once. */
#include "show.h"

#include <condition.h>
#include <filled.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdio.h>

static const char *const kinds[MEGA_PAGES_KINDS] = {
    [MEGA_PAGES_FREE] = "Free list",
    [MEGA_PAGES_ZEROED] = "Zeroed list",
    [MEGA_PAGES_MODIFIED] = "Modified list",
    [MEGA_PAGES_BAD] = "Bad list",
    [MEGA_PAGES_CACHED] = "CPU caches",
    [MEGA_PAGES_NEVER_USED] = "Never used",
    [MEGA_PAGES_RESERVED] = "Reserved",
    [MEGA_PAGES_PRIVATE] = "Private memory",
    [MEGA_PAGES_OBJECT] = "Objects and files",
    [MEGA_PAGES_SECTION] = "Sections",
    [MEGA_PAGES_TABLE] = "Page tables",
    [MEGA_PAGES_SHARED_TABLE] = "Shared page tables",
    [MEGA_PAGES_PAGED_POOL] = "Paged pool",
    [MEGA_PAGES_KSTACK] = "Kernel stacks",
    [MEGA_PAGES_NONPAGED_POOL] = "Nonpaged pool",
    [MEGA_PAGES_CHECK] = "Marks of this check",
    [MEGA_PAGES_PIPE] = "Pipes",
    [MEGA_PAGES_LINKS] = "Stack links and zero page",
};

static void counts(const struct mega_validate *m)
{
    uint64_t sum = 0;

    printf("\nPages by where they were found:\n");
    for (int i = 0; i < MEGA_PAGES_KINDS; i++) {
        printf("  %-24s%12lu\n", kinds[i], (unsigned long)m->pages[i]);
        sum += m->pages[i];
    }
    printf("  %-24s%12lu of %lu\n", "Total", (unsigned long)sum, (unsigned long)m->total);
    mega$print_filled(4,
                      "\nAddress spaces %lu, map entries %lu, objects %lu, page-table entries %lu",
                      (unsigned long)m->spaces, (unsigned long)m->entries,
                      (unsigned long)m->objects, (unsigned long)m->ptes);
    mega$print_filled(4, "Sections %lu, mappings of sections %lu, reservations %lu\n",
                      (unsigned long)m->sections, (unsigned long)m->mappings,
                      (unsigned long)m->reservations);
}

int show_validate(void)
{
    struct mega_validate m;
    int status = mega$info(MEGA_INFO_VALIDATE, 0, &m, sizeof(m));

    if (!(status & 1)) {
        fprintf(stderr, "%%SHOW-F-NOVALIDATE, the kernel answered %s\n",
                mega$condition_message(status, 0));
        return 2;
    }
    if (m.timed_out) {
        fprintf(stderr, "%%SHOW-F-NOSTOP, the system did not stop: %s\n", m.text);
        return 2;
    }
    printf("              System Memory Validation\n");
    counts(&m);
    if (m.errors) {
        printf("%%SHOW-E-INCONSISTENT, %lu inconsistencies; the first:\n", (unsigned long)m.errors);
        mega$print_filled(4, "%s", m.text);
        return 1;
    }
    printf("%%SHOW-S-CONSISTENT, every page is counted exactly once\n");
    return 0;
}
