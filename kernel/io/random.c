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
 * The key begins as nothing; the clock goes into each block that makes a new one. What the source
 * of entropy sends (kernel/drivers/virtio/entropy.h) is added to the key, at boot and once a
 * minute: who knows one of the two does not know the sum. The next word comes from a new block, so
 * that nothing of it depends on the old key alone.
 */
#include "kernel/io/random.h"

#include "arch/alpha/hw/clock.h"
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/chacha.h"
#include "kernel/base/errno.h"
#include "kernel/base/printk.h"
#include "kernel/base/string.h"
#include "kernel/drivers/virtio/entropy.h"
#include "kernel/io/open_flags.h"
#include "kernel/io/poll.h"
#include "kernel/sched/freeze.h"
#include "kernel/sched/spinlock.h"
#include "kernel/sched/timer.h"
#include "kernel/sched/wait.h"

#define NS_PER_S UINT64_C(1000000000)
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

/* What the bytes are made of: the clock alone; the same, while a source of entropy is there that
 * has not answered yet; bytes of that source too. Atomic: after boot only the second changes, to
 * the third. */
enum { FROM_CLOCK, AWAITED, SEEDED };
static uint32_t made_of = FROM_CLOCK;
static struct wait_queue seeded;
static struct poll_source polled;

/* Clear n words of secrets; the compiler must not leave that out. */
static void forget(volatile uint32_t *p, size_t n)
{
    while (n--)
        *p++ = 0;
}

/* Add 256 bits to the key, and forget what was made from the old one. A block that another CPU is
 * making from that does not replace the sum: the number of keys has changed. */
static void add(const uint32_t bits[CHACHA_KEY])
{
    ipl_t ipl = spin_lock(&pool.lock);

    for (unsigned k = 0; k < CHACHA_KEY; k++)
        pool.key[k] ^= bits[k];
    memset(pool.ready, 0, sizeof(pool.ready));
    pool.nready = 0;
    pool.keys++;
    spin_unlock(&pool.lock, ipl);
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

void random_words(uint64_t *to, unsigned n)
{
    ipl_t ipl = spin_lock(&pool.lock);
    unsigned at = ARRAY_SIZE(pool.ready) - pool.nready;

    if (unlikely(pool.nready < n)) {
        spin_unlock(&pool.lock, ipl);
        while (n--)
            *to++ = random_next();
        return;
    }
    pool.nready -= n;
    for (; n--; at++) {
        *to++ = pool.ready[at];
        pool.ready[at] = 0;
    }
    spin_unlock(&pool.lock, ipl);
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

long random_from_user(vaddr_t from, size_t n)
{
    uint32_t part[CHACHA_KEY];
    size_t done = 0;
    long err = 0;

    for (; done < n && !err; done += err ? 0 : MIN(n - done, sizeof(part))) {
        memset(part, 0, sizeof(part));
        err = sched_loop_point() ? -EINTR : copyin(part, from + done, MIN(n - done, sizeof(part)));
        if (err)
            continue;
        add(part);
        (void)random_next(); /* a new key, or two equal parts would cancel each other */
    }
    forget(part, ARRAY_SIZE(part));
    return done ? (long)done : err;
}

unsigned random_entropy(void)
{
    return __atomic_load_n(&made_of, __ATOMIC_ACQUIRE) == SEEDED ? RANDOM_BITS : 0;
}

static bool awaited(void) { return __atomic_load_n(&made_of, __ATOMIC_ACQUIRE) == AWAITED; }

static void fresh(const uint8_t bytes[ENTROPY_BYTES])
{
    uint32_t bits[CHACHA_KEY];

    memcpy(bits, bytes, sizeof(bits));
    add(bits);
    forget(bits, ARRAY_SIZE(bits));
    if (awaited()) {
        __atomic_store_n(&made_of, SEEDED, __ATOMIC_RELEASE);
        wake_all(&seeded);
        __atomic_thread_fence(__ATOMIC_SEQ_CST); /* as that of random_poll() */
        poll_notify(&polled, POLLIN | POLLRDNORM);
    }
}
_Static_assert(ENTROPY_BYTES == CHACHA_KEY * sizeof(uint32_t), "a portion is as long as a key");

/* Wait until it is seeded. 0, -EINTR, -ETIMEDOUT. */
static int wait_seeded(unsigned how, uint64_t deadline_ns)
{
    struct waiter w;
    int err = 0;

    while (!err) {
        wait_enqueue(&seeded, &w);
        if (!awaited())
            break;
        err = wait_block(&w, how, deadline_ns);
    }
    wait_finish(&w);
    return err;
}

int random_wait(bool nonblock)
{
    if (likely(!awaited()))
        return 0;
    if (nonblock)
        return -EAGAIN;
    return wait_seeded(WAIT_INTERRUPTIBLE, WAIT_FOREVER) ? -ERESTARTSYS : 0;
}

unsigned random_poll(struct poll_entry *e)
{
    poll_register(&polled, e);
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* either the change finds e, or the look the change */
    return awaited() ? POLLOUT | POLLWRNORM : POLLIN | POLLRDNORM;
}

void random_boot(void)
{
    int err;

    wait_queue_init(&seeded, "random seeded");
    poll_source_init(&polled);
    made_of = AWAITED; /* before the first answer */
    err = entropy_boot(fresh);
    if (err) {
        made_of = FROM_CLOCK;
        if (err != -ENODEV)
            printk("the source of entropy cannot be used (error %d)\n", err);
    } else if (wait_seeded(WAIT_UNINTERRUPTIBLE, clock_ns() + RANDOM_BOOT_S * NS_PER_S)) {
        printk("the source of entropy is silent; getrandom waits for it\n");
    }
}
