/* 16550 UARTs. Registers and bits: National Semiconductor PC16550D. */
#include "arch/alpha/clipper/uart.h"

#include "arch/alpha/hw/io.h"
#include "arch/alpha/hw/pal.h"

/* Register offsets. */
#define DATA 0 /* with DLAB set: low byte of the divisor */
#define IER  1 /* with DLAB set: high byte of the divisor */
#define IIR  2 /* when read; FCR when written */
#define FCR  2
#define LCR  3
#define MCR  4
#define LSR  5

#define IER_RX     0x01
#define IER_TX     0x02
#define FCR_ENABLE 0x01
#define FCR_CLEAR  0x06
/* Interrupt at 14 received bytes, or when no byte has come for the time of four characters. */
#define FCR_TRIGGER_14   0xC0
#define LCR_8N1          0x03
#define LCR_DLAB         0x80
#define MCR_DTR_RTS_OUT2 0x0B /* OUT2 lets the interrupt line through */
#define LSR_DATA         0x01
#define LSR_THRE         0x20
#define LSR_EMPTY        0x40 /* the shift register is empty too */

#define FIFO_SIZE       16
#define DIVISOR_115200  1
#define GIVE_UP_NS      1000000000UL
#define CSERVE_GET_TIME 7

struct uart uart_com1 = {.port = 0x3F8, .irq = 4};
struct uart uart_com2 = {.port = 0x2F8, .irq = 3};

void uart_boot(struct uart *u)
{
    io_out8(u->port + IER, 0);
    io_out8(u->port + LCR, LCR_DLAB);
    io_out8(u->port + DATA, DIVISOR_115200);
    io_out8(u->port + IER, 0);
    io_out8(u->port + LCR, LCR_8N1);
    io_out8(u->port + FCR, FCR_ENABLE | FCR_CLEAR | FCR_TRIGGER_14);
    io_out8(u->port + MCR, MCR_DTR_RTS_OUT2);
    u->enabled = 0;
}

size_t uart_try_write(struct uart *u, const void *p, size_t n)
{
    const uint8_t *bytes = p;

    if (n == 0 || !(io_in8(u->port + LSR) & LSR_THRE))
        return 0;
    /* With FIFOs enabled THRE means that the whole transmit FIFO is empty. */
    n = MIN(n, (size_t)FIFO_SIZE);
    for (size_t i = 0; i < n; i++)
        io_out8(u->port + DATA, bytes[i]);
    return n;
}

size_t uart_try_read(struct uart *u, void *p, size_t n)
{
    uint8_t *bytes = p;
    size_t got = 0;

    while (got < n && io_in8(u->port + LSR) & LSR_DATA)
        bytes[got++] = io_in8(u->port + DATA);
    return got;
}

size_t uart_write_polled(struct uart *u, const void *p, size_t n)
{
    const uint8_t *bytes = p;
    size_t sent = 0;
    uint64_t give_up = 0;

    while (sent < n) {
        size_t now = uart_try_write(u, bytes + sent, n - sent);

        sent += now;
        if (now) {
            give_up = 0;
        } else if (give_up == 0) {
            give_up = pal_cserve(CSERVE_GET_TIME, 0) + GIVE_UP_NS;
        } else if (pal_cserve(CSERVE_GET_TIME, 0) > give_up) {
            break;
        }
    }
    return sent;
}

void uart_drain(struct uart *u)
{
    uint64_t give_up = pal_cserve(CSERVE_GET_TIME, 0) + GIVE_UP_NS;

    while (!(io_in8(u->port + LSR) & LSR_EMPTY) && pal_cserve(CSERVE_GET_TIME, 0) < give_up)
        ;
}

static void enable(struct uart *u, uint8_t bit, bool on)
{
    uint8_t wanted = on ? u->enabled | bit : u->enabled & (uint8_t)~bit;

    if (wanted == u->enabled)
        return;
    u->enabled = wanted;
    io_out8(u->port + IER, wanted);
}

void uart_enable_rx(struct uart *u, bool on) { enable(u, IER_RX, on); }
void uart_enable_tx(struct uart *u, bool on) { enable(u, IER_TX, on); }

unsigned uart_pending(struct uart *u)
{
    uint8_t state = io_in8(u->port + LSR);
    unsigned todo = 0;

    /* Reading the interrupt identification clears a pending transmitter interrupt. What there is to
       do is derived from the line status. */
    (void)io_in8(u->port + IIR);
    if (u->enabled & IER_RX && state & LSR_DATA)
        todo |= UART_RX_READY;
    if (u->enabled & IER_TX && state & LSR_THRE)
        todo |= UART_TX_READY;
    return todo;
}
