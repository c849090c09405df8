/* show region [PID]: the default regions, and those that the process has created. */
#include "show.h"

#include <condition.h>
#include <filled.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <vadef.h>

#define DEFAULTS 3

static void line(const struct mega_region *r)
{
    static const char *const names[DEFAULTS] = {"P0", "P1", "P2"};
    char number[24];

    snprintf(number, sizeof(number), "%lu", (unsigned long)r->id);
    mega$print_filled(
        8, "%6s  %014lX %014lX %014lX%s%s%s", r->id < DEFAULTS ? names[r->id] : number,
        (unsigned long)r->start, (unsigned long)r->length, (unsigned long)r->first_free,
        r->flags & VA$M_SHARED_PTS ? " SHARED_PTS" : "", r->flags & VA$M_DESCEND ? " DESCEND" : "",
        r->flags & VA$M_PERMANENT ? " PERMANENT" : "");
}

/* Get the next region of a process, or its default region. Prints why there is none at all. */
static bool get(uint32_t pid, uint64_t id, struct mega_region *r)
{
    int status = mega$info(MEGA_INFO_REGION, (int64_t)((uint64_t)pid << MEGA_REGION_PID | id), r,
                           sizeof(*r));

    if (status & 1)
        return true;
    if (id == MEGA_REGION_DEFAULT)
        fprintf(stderr,
                status == SS$_NONEXPR ? "%%SHOW-W-NONEXPR, no such process: %u\n"
                                      : "%%SHOW-W-NOPRIV, not yours to look into: %u\n",
                pid);
    return false;
}

int show_region(unsigned q, const char *name)
{
    /* Without a PID: as `show process`, of the shell that has started this. */
    uint32_t pid = name ? (uint32_t)strtoul(name, NULL, 0)
                        : (uint32_t)(getppid() ? getppid() : getpid());
    struct mega_region r;

    (void)q;
    if (!get(pid, MEGA_REGION_DEFAULT, &r))
        return 1;
    printf("Regions of process %u\n", pid);
    printf("Region  Start          Length         First free     Flags\n");
    line(&r);
    for (unsigned i = 1; i < DEFAULTS && get(pid, MEGA_REGION_DEFAULT | i, &r); i++)
        line(&r);
    for (r.id = 0; get(pid, r.id, &r);)
        line(&r);
    return 0;
}
