/*
 * Console messages. All output to COM1 goes through a ring: a message is first formatted into a
 * buffer on the stack, then put into the ring as a whole, and then sent from there, by polling, as
 * many bytes at a time as the transmitter takes at once. Each step takes a raw lock, at the highest
 * IPL (ranked locks belong to a higher layer), and drops it: so nobody holds it while the
 * transmitter is busy, which can take a millisecond for each 16 bytes.
 *
 * A message is sent when printk() returns. Whoever waits sends whatever is first in the ring, so a
 * message is not held up by one whose sender was interrupted, and messages of several CPUs do not
 * mix, unless one is longer than the buffer. A newline is sent as carriage return and newline.
 *
 * In a panic messages are printed without ring and lock, after what the ring still holds; a message
 * that another CPU was putting into it when it stopped remains incomplete.
 */
#include "kernel/base/printk.h"

#include "arch/alpha/clipper/uart.h"
#include "arch/alpha/hw/pal.h"
#include "arch/alpha/hw/rawlock.h"
#include "kernel/base/format.h"
#include "kernel/base/string.h"

#define RING   4096u /* bytes; a power of two */
#define BUFFER 256u  /* bytes of a message that stay together */
#define SPARE  256u  /* bytes of the ring for printk_queue() only */
/* Nanoseconds without progress, after which a message is not waited for any more: the host does not
   read. What of it has room in the ring is sent later, as is what was there before. */
#define GIVE_UP         1000000000UL
#define CSERVE_GET_TIME 7

static struct rawlock printk_lock;
static uint32_t printk_unlocked;   /* atomic: set in a panic, when messages take no lock */
static char ring[RING];            /* printk_lock, and so are the counts */
static uint64_t ring_in, ring_out; /* bytes put and sent so far */
static char kept[PRINTK_KEPT];     /* messages for printk_kept(); printk_lock, like the next */
static uint64_t kept_in;           /* bytes kept so far */

/* Put up to n bytes into the ring, but leave `spare` free. Returns how many had room. Lock held. */
static size_t put_locked(const char *text, size_t n, size_t spare)
{
    uint64_t used = ring_in - ring_out, at = ring_in % RING, room = RING - spare;
    size_t first;

    n = used < room ? MIN(n, room - used) : 0;
    first = MIN(n, RING - at);
    memcpy(ring + at, text, first);
    memcpy(ring, text + first, n - first);
    ring_in += n;
    return n;
}

/* Send what the transmitter takes at once. Lock held. */
static size_t send_locked(void)
{
    uint64_t at = ring_out % RING;
    size_t n = uart_try_write(&uart_com1, ring + at, MIN(ring_in - ring_out, RING - at));

    ring_out += n;
    return n;
}

/* Send until the first `end` bytes ever put are out. False: they are not, but over() says that the
   caller need not wait; without it, nothing was sent for GIVE_UP. */
static bool send_until(uint64_t end, bool (*over)(void))
{
    uint64_t give_up = 0;

    for (;;) {
        uint64_t ipl = rawlock_acquire(&printk_lock);
        bool sent = ring_out >= end || send_locked() != 0, done = ring_out >= end;

        rawlock_release(&printk_lock, ipl);
        if (done)
            return true;
        if (sent)
            give_up = 0;
        else if (over ? over() : give_up && pal_cserve(CSERVE_GET_TIME, 0) > give_up)
            return false;
        else if (!give_up)
            give_up = pal_cserve(CSERVE_GET_TIME, 0) + GIVE_UP;
    }
}

/* Put all n bytes into the ring, and send what it has no room for; if that is over, or given up,
 * the rest is lost. Returns the count of bytes put so far, for send_until(). */
static uint64_t put_all(const char *text, size_t n, bool (*over)(void))
{
    for (;;) {
        uint64_t ipl = rawlock_acquire(&printk_lock), end;
        size_t k = put_locked(text, n, SPARE);

        end = ring_in;
        rawlock_release(&printk_lock, ipl);
        text += k;
        n -= k;
        if (!n || !send_until(end - RING / 2, over))
            return end;
    }
}

static void keep(const char *text, size_t n)
{
    uint64_t ipl = rawlock_acquire(&printk_lock);
    size_t at = kept_in % PRINTK_KEPT, first = MIN(n, PRINTK_KEPT - at);

    memcpy(kept + at, text, first);
    memcpy(kept, text + first, n - first);
    kept_in += n;
    rawlock_release(&printk_lock, ipl);
}

size_t printk_kept(uint64_t *from, char *to, size_t n)
{
    uint64_t ipl = rawlock_acquire(&printk_lock);
    uint64_t oldest = kept_in > PRINTK_KEPT ? kept_in - PRINTK_KEPT : 0;
    uint64_t start = MIN(MAX(*from, oldest), kept_in);
    size_t at = start % PRINTK_KEPT, first;

    n = MIN(MIN(n, (size_t)PRINTK_KEPT_STEP), (size_t)(kept_in - start));
    first = MIN(n, PRINTK_KEPT - at);
    memcpy(to, kept + at, first);
    memcpy(to + first, kept, n - first);
    *from = start + n;
    rawlock_release(&printk_lock, ipl);
    return n;
}

uint64_t printk_kept_end(void)
{
    uint64_t ipl = rawlock_acquire(&printk_lock), end = kept_in;

    rawlock_release(&printk_lock, ipl);
    return end;
}

struct message {
    size_t n;
    char text[BUFFER];
};

static void flush(struct message *m)
{
    if (m->n) {
        keep(m->text, m->n);
        put_all(m->text, m->n, NULL);
    }
    m->n = 0;
}

static void add_byte(struct message *m, char c)
{
    if (m->n == BUFFER)
        flush(m);
    m->text[m->n++] = c;
}

static void add(void *arg, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '\n')
            add_byte(arg, '\r');
        add_byte(arg, text[i]);
    }
}

static void put_unlocked(void *arg, const char *text, size_t n)
{
    (void)arg;
    while (n) {
        const char *newline = memchr(text, '\n', n);
        size_t plain = newline ? (size_t)(newline - text) : n;

        uart_write_polled(&uart_com1, text, plain);
        if (!newline)
            break;
        uart_write_polled(&uart_com1, "\r\n", 2);
        text += plain + 1;
        n -= plain + 1;
    }
}

void vprintk(const char *fmt, va_list ap)
{
    struct message m;

    if (__atomic_load_n(&printk_unlocked, __ATOMIC_ACQUIRE)) {
        format_to(put_unlocked, NULL, fmt, ap);
        return;
    }
    m.n = 0;
    format_to(add, &m, fmt, ap);
    keep(m.text, m.n);
    send_until(put_all(m.text, m.n, NULL), NULL);
}

void printk(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vprintk(fmt, ap);
    va_end(ap);
}

void printk_bytes(const char *text, size_t n, bool (*over)(void))
{
    while (n) {
        size_t part = MIN(n, (size_t)BUFFER);

        if (!send_until(put_all(text, part, over), over))
            return;
        text += part;
        n -= part;
    }
}

void printk_queue(const char *text, size_t n)
{
    uint64_t ipl = rawlock_acquire(&printk_lock);

    put_locked(text, n, 0);
    rawlock_release(&printk_lock, ipl);
}

void printk_send(void) { send_until(put_all("", 0, NULL), NULL); }

void printk_panic_begin(void)
{
    __atomic_store_n(&printk_unlocked, 1, __ATOMIC_RELEASE);
    while (ring_out != ring_in) {
        size_t n = MIN(ring_in - ring_out, RING - ring_out % RING);

        uart_write_polled(&uart_com1, ring + ring_out % RING, n);
        ring_out += n;
    }
}
