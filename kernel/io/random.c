/*
 * Random bytes: random.h.
 *
 * A key makes DRAWN blocks of ChaCha20 at once. Half of the first block is the next key and the
 * rest is given out, so nobody who reads the memory later finds what was given out before. A
 * request for more than a key has bytes gets a key of its own.
 *
 * Blocks are made without the lock, from a copy of the key. Of several CPUs that make some from the
 * same key, the first puts the new key and words into the pool, and each takes its first word from
 * its own blocks: the blocks differ by their number.
 *
 * The key begins as nothing; the clock goes into each block that makes a new one.
 */
#include "kernel/io/random.h"

#include "arch/alpha/hw/clock.h"
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/chacha.h"
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/sched/freeze.h"
#include "kernel/sched/spinlock.h"
#include "kernel/sched/timer.h"

/* A block takes 2,300 instructions, so a quadword that is given out takes 570 if there is one,
 * 380 with two, 325 with four, 285 at best; and some call takes the time of all blocks. */
#define DRAWN  4u
#define WORDS  (DRAWN * CHACHA_WORDS)
#define REFILL ((WORDS - CHACHA_KEY) * sizeof(uint32_t))

enum { TO_REFILL, TO_USER }; /* the last word of a block's tail: no two uses have equal blocks */

static struct {
    struct spinlock lock; /* all that follows */
    uint32_t key[CHACHA_KEY];
    uint64_t ready[REFILL / sizeof(uint64_t)]; /* the first nready have not been given out */
    unsigned nready;
    uint32_t draws; /* blocks begun; no key makes so many that a number comes again */
    uint64_t keys;  /* keys put in so far */
} pool = {.lock = SPINLOCK_INIT("random bytes", RANK_DEVICE, IPL_DEVICE)};

/* Clear n words of secrets; the compiler must not leave that out. */
static void forget(volatile uint32_t *p, size_t n)
{
    while (n--)
        *p++ = 0;
}

/* Make blocks, refill the pool if no other CPU has done so, and return a word of them. Lock held on
 * entry, dropped on return. */
static uint64_t draw_unlock(ipl_t ipl)
{
    uint64_t now = clock_wall_ns(), keys = pool.keys, v;
    uint32_t tail[CHACHA_TAIL] = {(uint32_t)now, clock_cycles(), pool.draws, TO_REFILL};
    uint32_t key[CHACHA_KEY], words[WORDS];

    pool.draws += DRAWN;
    memcpy(key, pool.key, sizeof(key));
    spin_unlock(&pool.lock, ipl);
    for (unsigned k = 0; k < DRAWN; k++) {
        tail[2]++;
        chacha_block(words + k * CHACHA_WORDS, key, tail);
    }
    memcpy(&v, words + CHACHA_KEY, sizeof(v));
    ipl = spin_lock(&pool.lock);
    if (pool.keys == keys) {
        memcpy(pool.key, words, sizeof(pool.key));
        memcpy(pool.ready, words + CHACHA_KEY, sizeof(pool.ready));
        pool.ready[0] = 0; /* v */
        pool.nready = ARRAY_SIZE(pool.ready) - 1;
        pool.keys++;
    }
    spin_unlock(&pool.lock, ipl);
    forget(key, ARRAY_SIZE(key));
    forget(words, ARRAY_SIZE(words));
    return v;
}

uint64_t random_next(void)
{
    ipl_t ipl = spin_lock(&pool.lock);
    uint64_t v;

    if (!pool.nready)
        return draw_unlock(ipl);
    pool.nready--;
    v = pool.ready[ARRAY_SIZE(pool.ready) - 1 - pool.nready];
    pool.ready[ARRAY_SIZE(pool.ready) - 1 - pool.nready] = 0;
    spin_unlock(&pool.lock, ipl);
    return v;
}

/* Fill n bytes with the blocks of a key, as random_to_user(). */
static long stream_to_user(vaddr_t to, size_t n, const uint32_t key[CHACHA_KEY])
{
    uint32_t tail[CHACHA_TAIL] = {[3] = TO_USER}, block[CHACHA_WORDS];
    size_t done = 0;
    long err = 0;

    for (; done < n && !err; tail[0]++) { /* RANDOM_MAX has fewer blocks than a word counts */
        size_t part = MIN(n - done, sizeof(block));

        if (sched_loop_point()) {
            err = -EINTR;
            break;
        }
        chacha_block(block, key, tail);
        err = copyout(to + done, block, part);
        if (!err)
            done += part;
    }
    forget(block, ARRAY_SIZE(block));
    return done ? (long)done : err;
}

long random_to_user(vaddr_t to, size_t n)
{
    uint32_t key[CHACHA_KEY] = {0};
    long r;

    for (size_t k = 0; k < CHACHA_KEY && k * sizeof(key[0]) < n; k += 2) {
        uint64_t v = random_next();

        memcpy(&key[k], &v, sizeof(v));
    }
    if (n <= sizeof(key))
        r = n && copyout(to, key, n) != 0 ? -EFAULT : (long)n;
    else
        r = stream_to_user(to, MIN(n, (size_t)RANDOM_MAX), key);
    forget(key, ARRAY_SIZE(key));
    return r;
}
