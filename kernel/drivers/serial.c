/*
 * The interrupts of a UART (serial.h). One lock covers the ring, the UART's receiver and the
 * register that enables its interrupts.
 *
 * Any number of threads may wait for input, so the interrupt wakes only a thread of this file, and
 * that thread wakes the others, at IPL 0. An interrupt takes no more than RECEIVE_MOST bytes: the
 * sender may be as fast as this CPU.
 */
#include "kernel/drivers/serial.h"

#include "arch/alpha/clipper/irq.h"
#include "kernel/base/panic.h"
#include "kernel/base/printk.h"
#include "kernel/sched/thread.h"

#define LINES        2u
#define RECEIVE_MOST 32u /* bytes, in up to 30 instructions each */

uint64_t serial_received[LINES];

static struct serial *lines[LINES]; /* constant after boot */
static bool arrived[LINES];         /* atomic: bytes came since the thread looked last */
static struct wait_queue arrivals = WAIT_QUEUE_INIT("serial arrivals", arrivals);

/* Take bytes from the UART. True: it may have more. */
static bool receive_locked(struct serial *s)
{
    uint32_t got = 0;

    while (s->count < SERIAL_RING) {
        uint32_t at = (s->head + s->count) % SERIAL_RING;
        size_t room = MIN(SERIAL_RING - s->count, SERIAL_RING - at);
        size_t n = uart_try_read(s->uart, s->ring + at, MIN(room, RECEIVE_MOST - got));

        if (!n)
            return false;
        s->count += (uint32_t)n;
        got += (uint32_t)n;
        __atomic_store_n(s->received, *s->received + n, __ATOMIC_RELAXED);
        if (got == RECEIVE_MOST)
            return true;
    }
    if (!s->stopped) {
        s->stopped = true;
        s->stops++;
        uart_enable_rx(s->uart, false);
    }
    return false;
}

static unsigned number_of(const struct serial *s) { return s->uart == &uart_com2; }

static void tell_thread(const struct serial *s)
{
    __atomic_store_n(&arrived[number_of(s)], true, __ATOMIC_RELEASE);
    wake_one(&arrivals);
}

/* The thread that wakes those who wait for input. */
static void tell_waiters(void *arg)
{
    (void)arg;
    for (;;) {
        struct waiter w;
        bool any = false;

        wait_enqueue(&arrivals, &w);
        for (unsigned i = 0; i < LINES; i++) {
            if (!__atomic_exchange_n(&arrived[i], false, __ATOMIC_ACQUIRE))
                continue;
            any = true;
            wake_all(&lines[i]->queue);
            if (lines[i]->arrived)
                lines[i]->arrived();
        }
        if (!any)
            wait_block(&w, WAIT_UNINTERRUPTIBLE, WAIT_FOREVER);
        wait_finish(&w);
    }
}

static void serial_interrupt(void *arg)
{
    struct serial *s = arg;
    ipl_t ipl = spin_lock(&s->lock);
    unsigned pending, seen = 0;
    bool more = false;

    while (!more && (pending = uart_pending(s->uart)) != 0) {
        seen |= pending;
        if (pending & UART_RX_READY)
            more = receive_locked(s);
        if (pending & UART_TX_READY)
            uart_enable_tx(s->uart, false);
    }
    if (more) { /* the interrupt is edge-triggered: make another edge for the rest */
        uart_enable_rx(s->uart, false);
        uart_enable_rx(s->uart, true);
    }
    spin_unlock(&s->lock, ipl);
    if (seen & UART_TX_READY)
        wake_one(&s->sent); /* one thread waits, under the mutex of its sender */
    if (seen & UART_RX_READY)
        tell_thread(s);
}

static void thread_boot(void)
{
    struct thread *t = thread_create("serial", tell_waiters, NULL, PRIO_NORMAL + 4);

    if (!t)
        panic("no memory for the thread of the serial lines");
    thread_start(t);
}

void serial_boot(struct serial *s, struct uart *u, const char *name, void (*arrived)(void))
{
    int err;

    s->uart = u;
    s->arrived = arrived;
    s->received = &serial_received[number_of(s)];
    spin_init(&s->lock, name, RANK_DEVICE, IPL_DEVICE);
    wait_queue_init(&s->queue, "serial input"); /* not name: `show spinlock` would have it twice */
    wait_queue_init(&s->sent, "serial output");
    if (!lines[0] && !lines[1])
        thread_boot();
    lines[number_of(s)] = s;
    err = irq_register(u->irq, serial_interrupt, s);
    if (err)
        printk("%s: cannot register the interrupt (error %d)\n", name, err);
    ipl_t ipl = spin_lock(&s->lock);
    uart_enable_rx(u, true);
    spin_unlock(&s->lock, ipl);
}

size_t serial_take(struct serial *s, void *buf, size_t n)
{
    uint8_t *out = buf;
    ipl_t ipl = spin_lock(&s->lock);

    n = MIN(n, s->count);
    for (size_t k = 0; k < n; k++) {
        out[k] = s->ring[s->head];
        s->head = (s->head + 1) % SERIAL_RING;
    }
    s->count -= (uint32_t)n;
    if (s->stopped && s->count <= SERIAL_RING / 2) {
        s->stopped = false;
        uart_enable_rx(s->uart, true); /* bytes that wait in the UART interrupt at once */
    }
    spin_unlock(&s->lock, ipl);
    return n;
}

bool serial_ready(struct serial *s)
{
    ipl_t ipl = spin_lock(&s->lock);
    bool ready = s->count != 0;

    spin_unlock(&s->lock, ipl);
    return ready;
}

/* A transmitter that is free already interrupts as soon as that is enabled, so the wake-up cannot
 * be missed. */
int serial_wait_sent(struct serial *s, unsigned flags)
{
    struct waiter w;
    ipl_t ipl;
    int err;

    wait_enqueue(&s->sent, &w);
    ipl = spin_lock(&s->lock);
    uart_enable_tx(s->uart, true);
    spin_unlock(&s->lock, ipl);
    err = wait_block(&w, flags, WAIT_FOREVER);
    wait_finish(&w);
    return err;
}
