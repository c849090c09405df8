// TAP
// RUN: -m 256M
/*
 * SS$_EXQUOTA of the services that map a section, which means that its 4,294,967,295 shares are in
 * use. No test can take so many, so taking the share is made to fail (mm/phys/failure.h). The
 * result is the same as for a full count, because section_try_share() has no other error. After
 * that the state must be as before: what the call created is gone, and what existed can be mapped.
 */
#include <descrip.h>
#include <megalith/failure.h>
#include <megalith/info.h>
#include <secdef.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <tap.h>
#include <vadef.h>

#define PAGE        8192UL
#define BUS_PAGE    0x40000000UL /* the first page of PCI memory */
#define ALLOCATIONS 100u         /* more allocations than a call makes */
#define NOWHERE     ((void *)-1)

static void *va;
static unsigned __int64 length;
static GENERIC_64 p2 = {{VA$C_P2}};
static $DESCRIPTOR64(name, "SHARES");

static int crmpsc_gdzro(void)
{
    return sys$crmpsc_gdzro_64(&name, 0, 0, 4 * PAGE, &p2, 0, 0, SEC$M_EXPREG, &va, &length);
}

static int mgblsc(void)
{
    return sys$mgblsc_64(&name, 0, &p2, 0, 0, 0, SEC$M_EXPREG, &va, &length);
}

static int crmpsc_gpfile(void)
{
    return sys$crmpsc_gpfile_64(&name, 0, 0, 4 * PAGE, &p2, 0, 0, SEC$M_EXPREG, &va, &length);
}

static int crmpsc_gpfn(void)
{
    return sys$crmpsc_gpfn_64(&name, 0, 0, BUS_PAGE, 4, &p2, 0, 0, SEC$M_EXPREG | SEC$M_WRT, &va,
                              &length);
}

static int mgblsc_gpfn(void)
{
    return sys$mgblsc_gpfn_64(&name, 0, &p2, 0, 0, 0, SEC$M_EXPREG | SEC$M_WRT, &va, &length);
}

static int create_gdzro(void) { return sys$create_gdzro(&name, 0, 0, 4 * PAGE, 0, 0); }

static int create_gpfile(void) { return sys$create_gpfile(&name, 0, 0, 4 * PAGE, 0, 0); }

static int create_gpfn(void) { return sys$create_gpfn(&name, 0, 0, BUS_PAGE, 4, 0, SEC$M_WRT); }

static const struct service {
    const char *name;
    int (*call)(void);
    int (*maker)(void); /* creates the section that the call maps */
} services[] = {
    {"$crmpsc_gdzro_64", crmpsc_gdzro, create_gdzro},
    {"$mgblsc_64", mgblsc, create_gdzro},
    {"$crmpsc_gpfile_64", crmpsc_gpfile, create_gpfile},
    {"$crmpsc_gpfn_64", crmpsc_gpfn, create_gpfn},
    {"$mgblsc_gpfn_64", mgblsc_gpfn, create_gpfn},
};

static struct mega_failure report;

/* Make the call, with its n-th allocation failing. */
static int fails(const struct service *s, uint64_t n)
{
    int status;

    if (mega$control(MEGA_CTL_FAIL_ARM, n, 0, 0, 0, 0) != SS$_NORMAL)
        bail_out("cannot arm");
    status = s->call();
    if (mega$control(MEGA_CTL_FAIL_REPORT, (uint64_t)&report, 0, 0, 0, 0) != SS$_NORMAL)
        bail_out("no report");
    return status;
}

static void unmap(void)
{
    if (!(sys$deltva_64(&p2, va, length, 0, &va, &length) & 1))
        bail_out("cannot unmap");
}

/* Make allocations fail up to the one that takes a share. Returns false if there is none. */
static bool find_share(const struct service *s, int *status)
{
    for (uint64_t n = 1; n < ALLOCATIONS; n++) {
        va = NOWHERE;
        length = 4711;
        *status = fails(s, n);
        if (report.fired && report.kind == MEGA_ALLOC_SHARE)
            return true;
        if (*status & 1)
            unmap(); /* succeeded without the allocation, or made fewer than n */
        if (!report.fired)
            return false;
    }
    return false;
}

static void share_fails(const struct service *s)
{
    int status;

    if (!(s->maker() & 1))
        bail_out("nothing to map");
    ok(find_share(s, &status), "%s takes a share", s->name);
    is_status(status, SS$_EXQUOTA, "%s fails without a share", s->name);
    ok(va == NOWHERE && length == 4711, "%s has written no output", s->name);
    is_status(s->call(), SS$_NORMAL, "%s maps the section when there is a share", s->name);
    unmap();
    is_status(sys$dgblsc(0, &name, 0), SS$_NORMAL, "the section is deleted");
    is_status(mgblsc(), SS$_NOSUCHSEC, "the section has no shares left");
}

int main(void)
{
    for (unsigned i = 0; i < sizeof(services) / sizeof(services[0]); i++)
        share_fails(&services[i]);
    return tap_done();
}
