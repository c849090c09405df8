/*
 * A bare lock for the ground floor and printk, which lie below the ranked spinlocks: taken at the
 * highest IPL, held for a few device accesses, never nested, never held over a call upward.
 */
#ifndef ARCH_ALPHA_HW_RAWLOCK_H
#define ARCH_ALPHA_HW_RAWLOCK_H

#include "arch/alpha/hw/pal.h"

#define RAWLOCK_IPL 7

struct rawlock {
    uint32_t taken; /* atomic */
};

/* Returns the IPL before, for rawlock_release. */
static inline uint64_t rawlock_acquire(struct rawlock *l)
{
    for (;;) {
        uint64_t ipl = pal_swpipl(RAWLOCK_IPL);

        if (!__atomic_exchange_n(&l->taken, 1, __ATOMIC_ACQUIRE))
            return ipl;
        /* Wait at the caller's own IPL, so that a CPU that waits for this one's answer gets it. */
        pal_swpipl(ipl);
        while (__atomic_load_n(&l->taken, __ATOMIC_RELAXED))
            ;
    }
}

static inline void rawlock_release(struct rawlock *l, uint64_t ipl)
{
    __atomic_store_n(&l->taken, 0, __ATOMIC_RELEASE);
    pal_swpipl(ipl);
}

#endif
