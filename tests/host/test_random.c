// SOURCES: kernel/io/random.c kernel/base/chacha.c
/*
 * Random bytes with a clock that stands still and a source of entropy that the test plays. Each
 * script runs in a child of its own, so it begins with the state of a machine that has booted just
 * now, and the words that it draws depend on nothing but what the source has sent.
 */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arch/alpha/hw/clock.h"
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/chacha.h"
#include "kernel/base/errno.h"
#include "kernel/drivers/virtio/entropy.h"
#include "kernel/io/open_flags.h"
#include "kernel/io/poll.h"
#include "kernel/io/random.h"
#include "kernel/sched/spinlock.h"

enum { AGAIN = -EAGAIN, NO_DEVICE = -ENODEV, BROKEN = -EIO, FAULT = -EFAULT };

#include "userland/lib/include/tap.h"

#define WORDS 8u

/* ---- what the sources call ---- */

uint32_t host_cycles;
static int boot_result;
static void (*sink)(const uint8_t bytes[ENTROPY_BYTES]);

uint64_t clock_wall_ns(void) { return 77; }
void poll_source_init(struct poll_source *s) { memset(s, 0, sizeof(*s)); }
void poll_register(struct poll_source *s, struct poll_entry *e) { (void)s, (void)e; }
void poll_wake_some(struct poll_source *s, uint32_t events) { (void)s, (void)events; }

int copyin(void *dst, vaddr_t usrc, size_t nbytes)
{
    if (usrc < 4096)
        return FAULT;
    memcpy(dst, (const void *)usrc, nbytes);
    return 0;
}

int copyout(vaddr_t udst, const void *src, size_t nbytes)
{
    if (udst < 4096)
        return FAULT;
    memcpy((void *)udst, src, nbytes);
    return 0;
}

/* A source that has its first bytes at hand, unless boot_result says that there is none. */
static const uint8_t *first;

int entropy_boot(void (*to)(const uint8_t bytes[ENTROPY_BYTES]))
{
    sink = to;
    if (!boot_result && first)
        sink(first);
    return boot_result;
}

/* ---- scripts ---- */

static const uint8_t zeroes[ENTROPY_BYTES], ones[ENTROPY_BYTES] = {1},
                                            last[ENTROPY_BYTES] = {[ENTROPY_BYTES - 1] = 1};
static const uint8_t *again; /* what the source sends at the time that the script chooses */

static void draw(uint64_t out[WORDS])
{
    for (unsigned k = 0; k < WORDS; k++)
        out[k] = random_next();
}

static void from_boot(uint64_t out[WORDS])
{
    random_boot();
    draw(out);
}

/* The bytes come between two words of one block. */
static void from_then_on(uint64_t out[WORDS])
{
    random_boot();
    (void)random_next();
    sink(again);
    draw(out);
}

static void send_once(const struct spinlock *l)
{
    (void)l;
    host_unlocked = NULL;
    sink(again);
}

/* The bytes come while a block is being made from the key before them: what that draw gives is of
 * the old key, and left out. */
static void meanwhile(uint64_t out[WORDS])
{
    random_boot();
    host_unlocked = send_once;
    (void)random_next();
    draw(out);
}

static void written(uint64_t out[WORDS], const uint8_t *bytes, size_t n)
{
    random_boot();
    if (n && random_from_user((vaddr_t)bytes, n) != (long)n)
        bail_out("random_from_user");
    draw(out);
}

static void written_zeroes(uint64_t out[WORDS]) { written(out, zeroes, ENTROPY_BYTES); }
static void written_ones(uint64_t out[WORDS]) { written(out, ones, ENTROPY_BYTES); }
static void written_last(uint64_t out[WORDS])
{
    static const uint8_t more[3 * ENTROPY_BYTES + 1] = {[3 * ENTROPY_BYTES] = 1};

    written(out, more, sizeof(more));
}
static void written_long(uint64_t out[WORDS])
{
    static const uint8_t more[3 * ENTROPY_BYTES + 1];

    written(out, more, sizeof(more));
}
static void written_twice(uint64_t out[WORDS])
{
    uint8_t two[2 * ENTROPY_BYTES];

    memset(two, 5, sizeof(two));
    written(out, two, sizeof(two));
}
static void written_other_twice(uint64_t out[WORDS])
{
    uint8_t two[2 * ENTROPY_BYTES];

    memset(two, 6, sizeof(two));
    written(out, two, sizeof(two));
}

/* Run a script in a machine that has just booted. */
static void play(void (*script)(uint64_t out[WORDS]), uint64_t out[WORDS])
{
    int p[2], status;
    pid_t pid;

    if (pipe(p) != 0 || (pid = fork()) < 0)
        bail_out("fork");
    if (pid == 0) {
        uint64_t words[WORDS];

        script(words);
        _exit(write(p[1], words, sizeof(words)) != sizeof(words));
    }
    close(p[1]);
    if (read(p[0], out, WORDS * 8) != WORDS * 8)
        bail_out("a script ended early");
    close(p[0]);
    waitpid(pid, &status, 0);
}

/* Are the words of two scripts the same; and if not, is any of them? */
static bool same(const uint64_t a[WORDS], const uint64_t b[WORDS])
{
    return memcmp(a, b, WORDS * 8) == 0;
}

static unsigned common(const uint64_t a[WORDS], const uint64_t b[WORDS])
{
    unsigned n = 0;

    for (unsigned k = 0; k < WORDS; k++)
        n += a[k] == b[k];
    return n;
}

/* ---- tests ---- */

static void test_boot(void)
{
    uint64_t a[WORDS], b[WORDS];

    boot_result = NO_DEVICE;
    play(from_boot, a);
    play(from_boot, b);
    ok(same(a, b), "without a source, equal clocks make equal bytes");
    boot_result = 0;
    first = ones;
    play(from_boot, b);
    is(common(a, b), 0, "the first bytes change each word");
    first = last;
    play(from_boot, a);
    is(common(a, b), 0, "the last of them matters as the first does");
    play(from_boot, b);
    ok(same(a, b), "equal bytes and clocks make equal words");
}

static void test_again(void (*script)(uint64_t out[WORDS]), const char *when)
{
    uint64_t a[WORDS], b[WORDS];

    again = ones;
    play(script, a);
    again = last;
    play(script, b);
    is(common(a, b), 0, "bytes that come %s change each word from then on", when);
    /* Who knows what the source sends knows nothing, because the key was there before. */
    first = zeroes;
    play(script, a);
    first = last;
    is(common(a, b), 0, "and each still depends on what was there before");
}

static void test_written(void)
{
    uint64_t a[WORDS], b[WORDS];

    play(written_zeroes, a);
    play(written_ones, b);
    is(common(a, b), 0, "what is written changes each word");
    play(written_long, a);
    play(written_last, b);
    is(common(a, b), 0, "so does the last byte of what is written");
    play(written_twice, a);
    play(written_other_twice, b);
    is(common(a, b), 0, "two equal parts do not cancel each other");
    is(random_from_user(0, 8), FAULT, "a bad address");
    is(random_from_user(0, 0), 0, "nothing at a bad address");
}

/* This process itself has not booted yet. */
static void test_waiting(void)
{
    boot_result = NO_DEVICE;
    random_boot();
    is(random_wait(true), 0, "without a source there is nothing to wait for");
    is(random_entropy(), 0, "and no entropy");
    is(random_poll(NULL), POLLIN | POLLRDNORM, "/dev/random can be read");
    boot_result = BROKEN;
    random_boot();
    is(random_wait(true), 0, "nor with one that does not work");
    boot_result = 0;
    first = ones;
    random_boot();
    is(random_wait(true), 0, "with one that answers at boot there is nothing to wait for either");
    is(random_entropy(), RANDOM_BITS, "and all entropy");
    is(random_poll(NULL), POLLIN | POLLRDNORM, "/dev/random can be read");
}

int main(void)
{
    test_boot();
    test_again(from_then_on, "between two words");
    test_again(meanwhile, "while a block is made");
    test_written();
    test_waiting();
    return tap_done();
}
