/* Replacing instructions of the kernel's text (patch.h). */
#include "arch/alpha/hw/patch.h"

#include "arch/alpha/hw/pal.h"
#include "kernel/base/panic.h"

#define BSR          0xD0000000u
#define LINK_SHIFT   21
#define DISPLACEMENT 0x1FFFFFu
#define BRANCH_REACH (1L << 22) /* bytes, either way */
#define INSTRUCTION  4

static uint32_t branch_of(const struct patch_site *s, const struct patch_kind *k)
{
    long distance = (long)((uint64_t)k->target - (s->address + INSTRUCTION));

    KASSERT(distance >= -BRANCH_REACH && distance < BRANCH_REACH, "the kernel's text is small");
    return BSR | k->link << LINK_SHIFT | ((uint32_t)(distance / INSTRUCTION) & DISPLACEMENT);
}

void patch_sites(const struct patch_site *first, const struct patch_site *end,
                 const struct patch_kind *kinds, bool on)
{
    for (const struct patch_site *s = first; s < end; s++) {
        const struct patch_kind *k = &kinds[s->kind];
        uint32_t *at = (uint32_t *)s->address, now = __atomic_load_n(at, __ATOMIC_RELAXED);
        uint32_t branch = branch_of(s, k);

        KASSERT(now == k->instruction || now == branch, "a site has the instruction of its kind");
        __atomic_store_n(at, on ? branch : k->instruction, __ATOMIC_RELEASE);
    }
    pal_imb();
}
