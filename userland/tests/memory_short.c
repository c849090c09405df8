// TAP
// RUN: -m 96M --set NPAGEDYN=1048576
/*
 * The services when memory is short: pages are locked until none is left above the minimum, then
 * address space is made in single pages until nonpaged pool is used up. Every service that needs an
 * entry of the map then says SS$_INSFMEM and changes nothing; what only gives back works, and
 * afterwards everything does.
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

/* Lock as many pages from p on as there are: how many, and what the last refusal was. */
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

/* Every second page from p on: how many, and what ended it. */
static uint64_t scatter(GENERIC_64 id, char *p, int *refusal)
{
    uint64_t n = 0;

    for (;; n++) {
        *refusal = sys$cretva_64(&id, p + 2 * n * PAGE, PAGE, 3, 0, &va, &length);
        if (*refusal != SS$_NORMAL)
            return n;
    }
}

/* What may still be touched, without memory for a page, is touched now. */
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

    /* What the lines below touch is touched before memory is short. */
    touch_stack();
    ok(pages == 0, "%lu pages are locked", (unsigned long)pages);
    is(self().locked, 0, "none");
    is_status(sys$lckpag_64(0, PAGE, 3, &va, &length), SS$_ACCVIO, "nor can page 0 be");
    split = big + 512 * PAGE; /* a page in the middle */
    if (sys$cretva_64(&a, big, 256 * MIB, 3, 0, &va, &length) != SS$_NORMAL)
        bail_out("no address space");
    pages = lock_all(big, &status);
    ok(pages > 500, "%lu pages were locked", (unsigned long)pages);
    is_status(sys$lckpag_64(big + pages * PAGE, PAGE, 3, &va, &length), SS$_LCKPAGFUL,
              "then none was left");
    entries = scatter(b, small, &status);
    ok(entries > 10, "%lu single pages of address space were made", (unsigned long)entries);
    before = self();
    is_status(sys$cretva_64(&b, small + 2 * entries * PAGE, PAGE, 3, 0, &va, &length), SS$_INSFMEM,
              "$CRETVA_64 without memory");
    is_status(sys$expreg_64(&b, PAGE, 3, 0, &va, &length), SS$_INSFMEM, "$EXPREG_64");
    is_status(sys$setprt_64(split, PAGE, 3, PRT$C_UR, &va, &length, &old), SS$_INSFMEM,
              "$SETPRT_64, where it has to split");
    is_status(sys$ulkpag_64(split, PAGE, 3, &va, &length), SS$_INSFMEM, "$ULKPAG_64, likewise");
    is_status(sys$deltva_64(&a, split, PAGE, 3, &va, &length), SS$_INSFMEM, "$DELTVA_64, likewise");
    is_status(sys$lckpag_64(small, PAGE, 3, &va, &length), SS$_LCKPAGFUL,
              "$LCKPAG_64 of a page that is not there");
    is(mprotect(split, PAGE, PROT_READ) ? errno : 0, ENOMEM, "mprotect");
    is(mmap(0, PAGE, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? errno : 0,
       ENOMEM, "mmap");
    after = self();
    ok(after.vsize == before.vsize && after.locked == before.locked && after.rss == before.rss,
       "none of them changed anything");
    is_status(sys$deltva_64(&b, small, PAGE, 3, &va, &length), SS$_NORMAL,
              "a page that is given back needs no memory");
    is_status(sys$delete_region_64(&b, 0, &va, &length), SS$_NORMAL, "nor does a region");
    is(self().locked, pages, "what was locked is");
    is_status(sys$setprt_64(split, PAGE, 3, PRT$C_UR, &va, &length, &old), SS$_NORMAL,
              "with memory all works again");
    is_status(sys$ulkpag_64(split, PAGE, 3, &va, &length), SS$_WASSET, "so does this");
    is_status(sys$delete_region_64(&a, 0, &va, &length), SS$_NORMAL, "and the end");
    is(self().locked, 0, "no page is locked any more");
    return tap_done();
}
