// TAP
// RUN: -m 96M --set NPAGEDYN=1048576
/*
 * The services when memory is short. Pages are locked until none is left above the minimum; then
 * address space is created in single pages until nonpaged pool is used up. Every service that needs
 * a map entry must then return SS$_INSFMEM and change nothing; services that only free resources
 * must work; and afterwards all services must work again.
 */
#include <prtdef.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdint.h>
#include <sys/mman.h>
#include <tap.h>
#include <vadef.h>

#define PAGE 8192ul
#define MIB  (1ul << 20)

static void *va;
static unsigned __int64 length;
static unsigned old;

static struct mega_process self(void)
{
    struct mega_process p = {0};

    mega$info(MEGA_INFO_PROCESS, -1, &p, sizeof(p));
    return p;
}

static GENERIC_64 region(uint64_t bytes, char **start)
{
    GENERIC_64 id;

    if (sys$create_region_64(bytes, 0, 0, &id, (void **)start, &length) != SS$_NORMAL)
        bail_out("no region");
    return id;
}

/* Lock as many pages from p on as possible. Returns their number, and sets the status of the last
 * refusal. */
static uint64_t lock_all(char *p, int *refusal)
{
    uint64_t done = 0;

    for (uint64_t n = 4096; n; n /= 2) {
        int status;

        do {
            status = sys$lckpag_64(p + done * PAGE, n * PAGE, 3, &va, &length);
            done += status & 1 ? n : 0;
        } while (status & 1);
        *refusal = status;
    }
    return done;
}

/* Create every second page from p on. Returns their number, and sets the status of the refusal. */
static uint64_t scatter(GENERIC_64 id, char *p, int *refusal)
{
    uint64_t n = 0;

    for (;; n++) {
        *refusal = sys$cretva_64(&id, p + 2 * n * PAGE, PAGE, 3, 0, &va, &length);
        if (*refusal != SS$_NORMAL)
            return n;
    }
}

/* Touches memory that the test may use later, so that no page has to be allocated then. */
static void touch_stack(void)
{
    volatile char room[64 * 1024];

    for (unsigned i = 0; i < sizeof(room); i += 1024)
        room[i] = 1;
}

int main(void)
{
    char *big, *small, *split;
    GENERIC_64 a = region(256 * MIB, &big), b = region(16384 * MIB, &small);
    struct mega_process before, after;
    uint64_t pages = 0, entries;
    int status;

    /* Touch what the lines below touch, before memory is short. */
    touch_stack();
    ok(pages == 0, "%lu pages are locked before", (unsigned long)pages);
    is(self().locked, 0, "no page is locked");
    is_status(sys$lckpag_64(0, PAGE, 3, &va, &length), SS$_ACCVIO, "page 0 cannot be locked");
    split = big + 512 * PAGE; /* a page in the middle, which splits the map entry */
    if (sys$cretva_64(&a, big, 256 * MIB, 3, 0, &va, &length) != SS$_NORMAL)
        bail_out("no address space");
    pages = lock_all(big, &status);
    ok(pages > 500, "%lu pages were locked", (unsigned long)pages);
    is_status(sys$lckpag_64(big + pages * PAGE, PAGE, 3, &va, &length), SS$_LCKPAGFUL,
              "locking ends when no memory is left");
    entries = scatter(b, small, &status);
    ok(entries > 10, "%lu single pages of address space were created", (unsigned long)entries);
    before = self();
    is_status(sys$cretva_64(&b, small + 2 * entries * PAGE, PAGE, 3, 0, &va, &length), SS$_INSFMEM,
              "$CRETVA_64 fails without memory");
    is_status(sys$expreg_64(&b, PAGE, 3, 0, &va, &length), SS$_INSFMEM, "$EXPREG_64");
    is_status(sys$setprt_64(split, PAGE, 3, PRT$C_UR, &va, &length, &old), SS$_INSFMEM,
              "$SETPRT_64 that has to split a map entry fails");
    is_status(sys$ulkpag_64(split, PAGE, 3, &va, &length), SS$_INSFMEM,
              "$ULKPAG_64 that has to split a map entry fails");
    is_status(sys$deltva_64(&a, split, PAGE, 3, &va, &length), SS$_INSFMEM,
              "$DELTVA_64 that has to split a map entry fails");
    is_status(sys$lckpag_64(small, PAGE, 3, &va, &length), SS$_LCKPAGFUL,
              "$LCKPAG_64 of a page that is not present fails");
    is(mprotect(split, PAGE, PROT_READ) ? errno : 0, ENOMEM,
       "mprotect that has to split a map entry fails");
    is(mmap(0, PAGE, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? errno : 0,
       ENOMEM, "mmap fails");
    after = self();
    ok(after.vsize == before.vsize && after.locked == before.locked && after.rss == before.rss,
       "the failed calls have changed nothing");
    is_status(sys$deltva_64(&b, small, PAGE, 3, &va, &length), SS$_NORMAL,
              "a page can be deleted without memory");
    is_status(sys$delete_region_64(&b, 0, &va, &length), SS$_NORMAL,
              "a region can be deleted without memory");
    is(self().locked, pages, "locked pages are still locked");
    is_status(sys$setprt_64(split, PAGE, 3, PRT$C_UR, &va, &length, &old), SS$_NORMAL,
              "$SETPRT_64 works when there is memory again");
    is_status(sys$ulkpag_64(split, PAGE, 3, &va, &length), SS$_WASSET, "$ULKPAG_64 works, too");
    is_status(sys$delete_region_64(&a, 0, &va, &length), SS$_NORMAL, "the other region is deleted");
    is(self().locked, 0, "no page is locked any more");
    return tap_done();
}
