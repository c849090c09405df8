/* The interrupts of a UART (serial.h). One lock covers the ring, the UART's receiver and the
 * register that enables its interrupts. */
#include "kernel/drivers/serial.h"

#include "arch/alpha/clipper/irq.h"
#include "kernel/base/printk.h"

uint64_t serial_received[2];

static void receive_locked(struct serial *s)
{
    while (s->count < SERIAL_RING) {
        uint32_t at = (s->head + s->count) % SERIAL_RING;
        size_t room = MIN(SERIAL_RING - s->count, SERIAL_RING - at);
        size_t n = uart_try_read(s->uart, s->ring + at, room);

        if (!n)
            return;
        s->count += (uint32_t)n;
        __atomic_store_n(s->received, *s->received + n, __ATOMIC_RELAXED);
    }
    if (!s->stopped) {
        s->stopped = true;
        s->stops++;
        uart_enable_rx(s->uart, false);
    }
}

static void serial_interrupt(void *arg)
{
    struct serial *s = arg;
    ipl_t ipl = spin_lock(&s->lock);
    unsigned pending, seen = 0;

    while ((pending = uart_pending(s->uart)) != 0) {
        seen |= pending;
        if (pending & UART_RX_READY)
            receive_locked(s);
        if (pending & UART_TX_READY)
            uart_enable_tx(s->uart, false);
    }
    spin_unlock(&s->lock, ipl);
    if (seen & UART_TX_READY)
        wake_all(&s->sent);
    if (seen & UART_RX_READY) {
        wake_all(&s->queue);
        s->arrived();
    }
}

void serial_boot(struct serial *s, struct uart *u, const char *name, void (*arrived)(void))
{
    int err;

    s->uart = u;
    s->arrived = arrived;
    s->received = &serial_received[u == &uart_com2];
    spin_init(&s->lock, name, RANK_DEVICE, IPL_DEVICE);
    wait_queue_init(&s->queue, "serial input"); /* not name: `show spinlock` would have it twice */
    wait_queue_init(&s->sent, "serial output");
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
void serial_wait_sent(struct serial *s)
{
    struct waiter w;
    ipl_t ipl;

    wait_enqueue(&s->sent, &w);
    ipl = spin_lock(&s->lock);
    uart_enable_tx(s->uart, true);
    spin_unlock(&s->lock, ipl);
    (void)wait_block(&w, WAIT_UNINTERRUPTIBLE, WAIT_FOREVER);
    wait_finish(&w);
}
