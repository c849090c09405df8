/* Pseudo-random bytes: random.h. */
#include "kernel/io/random.h"

#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/sched/freeze.h"
#include "kernel/sched/timer.h"

/* One step of splitmix64: there is no source of entropy: good for hash seeds, not for keys. */
uint64_t random_next(void)
{
    static uint64_t state; /* atomic */
    uint64_t x = __atomic_add_fetch(&state, 0x9E3779B97F4A7C15ul, __ATOMIC_RELAXED) +
                 clock_wall_ns();

    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ul;
    x = (x ^ x >> 27) * 0x94D049BB133111EBul;
    return x ^ x >> 31;
}

long random_to_user(vaddr_t to, size_t n)
{
    size_t done = 0;

    n = MIN(n, (size_t)RANDOM_MAX);
    while (done < n) {
        uint64_t v = random_next();
        size_t part = MIN(n - done, sizeof(v));

        if (sched_loop_point())
            return done ? (long)done : -EINTR;
        if (copyout(to + done, &v, part) != 0)
            return done ? (long)done : -EFAULT;
        done += part;
    }
    return (long)done;
}
