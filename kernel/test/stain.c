/*
 * MEGA_CTL_STAIN and MEGA_CTL_DISCLOSE: for the test that nothing of the kernel's memory reaches
 * programs. The first fills with one byte what the next calls will allocate: free blocks of both
 * pools, and free pages. (Call MEGA_TEST_STAIN_CALL fills the kernel stack below its own entry:
 * stack_stain in arch/alpha/entry/entry.S.) The second is a planted leak that the test must find.
 */
#include "arch/alpha/hw/kseg.h"
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/abi/ssdef.h"
#include "kernel/base/string.h"
#include "kernel/test/test_private.h"
#include "mm/phys/page.h"
#include "mm/pool/pool.h"

#define BLOCKS   4u  /* of each size */
#define PAGES    48u /* more than a call allocates */
#define SMALL    2560u
#define GRAIN    16u
#define LEAK_MAX 64u

static void stain_blocks(uint8_t byte, size_t size, void *(*alloc)(size_t),
                         void (*release)(void *, size_t))
{
    void *p[BLOCKS];

    for (unsigned i = 0; i < BLOCKS; i++) {
        p[i] = alloc(size);
        if (p[i])
            memset(p[i], byte, size);
    }
    for (unsigned i = 0; i < BLOCKS; i++)
        if (p[i])
            release(p[i], size);
}

static void stain_pages(uint8_t byte)
{
    pfn_t page[PAGES];
    unsigned n = 0;

    while (n < PAGES && page_alloc(0, PAGE_T_SYSTEM, RAD_ANY, &page[n]) == 0)
        memset(kseg_page(page[n++]), byte, PAGE_SIZE);
    while (n)
        page_free(page[--n]);
}

cond_t test_stain(const uint64_t a[CONTROL_ARGS])
{
    uint8_t byte = (uint8_t)a[0];

    for (size_t size = GRAIN; size <= SMALL; size += GRAIN) {
        stain_blocks(byte, size, npp_alloc, npp_free);
        stain_blocks(byte, size, pgd_alloc, pgd_free);
    }
    for (size_t size = 2 * SMALL; size <= 4 * PAGE_SIZE; size *= 2) {
        stain_blocks(byte, size, npp_alloc, npp_free);
        stain_blocks(byte, size, pgd_alloc, pgd_free);
    }
    stain_pages(byte);
    return SS$_NORMAL;
}

static __attribute__((noinline)) cond_t disclose_stack(vaddr_t to)
{
    uint8_t never_written[LEAK_MAX];
    uint8_t *volatile at = never_written; /* hides from the compiler what is read */

    return copyout(to, at, sizeof(never_written)) ? SS$_ACCVIO : SS$_NORMAL;
}

/* One hole of a structure, as the compiler leaves it. */
static __attribute__((noinline)) cond_t disclose_padding(vaddr_t to)
{
    struct {
        uint8_t narrow;
        uint64_t wide;     /* seven bytes of padding before it */
        uint64_t after[6]; /* puts the padding below what the callers have written */
    } s;

    void *volatile at = &s;

    memset(s.after, 0, sizeof(s.after));
    *(volatile uint8_t *)&s.narrow = 1; /* not widened to the word */
    s.wide = 2;
    return copyout(to, at, sizeof(s)) ? SS$_ACCVIO : SS$_NORMAL;
}

static cond_t disclose_pool(vaddr_t to, void *(*alloc)(size_t), void (*release)(void *, size_t))
{
    void *p = alloc(LEAK_MAX);
    cond_t status = SS$_NORMAL;

    if (!p)
        return SS$_INSFMEM;
    if (copyout(to, p, LEAK_MAX))
        status = SS$_ACCVIO;
    release(p, LEAK_MAX);
    return status;
}

cond_t test_disclose(const uint64_t a[CONTROL_ARGS])
{
    switch (a[0]) {
    case MEGA_DISCLOSE_STACK:
        return disclose_stack(a[1]);
    case MEGA_DISCLOSE_PADDING:
        return disclose_padding(a[1]);
    case MEGA_DISCLOSE_NONPAGED:
        return disclose_pool(a[1], npp_alloc, npp_free);
    case MEGA_DISCLOSE_PAGED:
        return disclose_pool(a[1], pgd_alloc, pgd_free);
    default:
        return SS$_BADPARAM;
    }
}
