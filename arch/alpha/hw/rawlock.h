/*
 * A spinlock without rank and checks, for this layer and printk, which lie below the ranked
 * spinlocks. It is held at the highest IPL, for a few device accesses or the printing of a message,
 * never nested, and never across a call into a higher layer.
 */
#ifndef ARCH_ALPHA_HW_RAWLOCK_H
#define ARCH_ALPHA_HW_RAWLOCK_H

#include "arch/alpha/hw/pal.h"

#define RAWLOCK_IPL 7

struct rawlock {
    uint32_t taken; /* atomic */
};

/* Take the lock. Returns the caller's IPL, for rawlock_release. Any IPL. */
static inline uint64_t rawlock_acquire(struct rawlock *l)
{
    for (;;) {
        uint64_t ipl = pal_swpipl(RAWLOCK_IPL);

        if (!__atomic_exchange_n(&l->taken, 1, __ATOMIC_ACQUIRE))
            return ipl;
        /* Wait at the caller's own IPL, so that this CPU still serves interprocessor interrupts
           whose acknowledgement another CPU awaits. */
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
