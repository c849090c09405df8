/*
 * The two 16550 UARTs: COM1 is the console and terminal, COM2 carries the framed channel to
 * scripts/run. Only uart_write_polled and uart_drain wait. The caller serialises the use of each
 * direction of a UART, at IPL_DEVICE or above while its interrupt is enabled. A driver registers a
 * handler for uart->irq (arch/alpha/clipper/irq.h) and calls uart_pending from it.
 */
#ifndef ARCH_ALPHA_CLIPPER_UART_H
#define ARCH_ALPHA_CLIPPER_UART_H

#include "kernel/base/types.h"

struct uart {
    uint16_t port;   /* constant */
    uint16_t irq;    /* constant */
    uint8_t enabled; /* copy of the interrupt enable register; serialised by the caller */
};

extern struct uart uart_com1, uart_com2;

/* Initialise the UART: FIFOs on, interrupts off, 115,200 baud, 8N1. Boot. */
void uart_boot(struct uart *u);

/* Write up to n bytes, as many as fit into the transmit FIFO. Returns their number, 0 while the
   transmitter is busy. */
size_t uart_try_write(struct uart *u, const void *p, size_t n);
/* Read up to n received bytes. Returns their number, 0 when there are none. A reader without room
   leaves bytes in the UART and disables the receive interrupt: QEMU then stops the sender, and no
   byte is lost. */
size_t uart_try_read(struct uart *u, void *p, size_t n);
/* Write all n bytes, waiting for the transmitter. Gives up after a second without progress. Returns
   how many bytes were sent. Any IPL. */
size_t uart_write_polled(struct uart *u, const void *p, size_t n);

/* Wait until everything written has been sent, at most a second. Any IPL. */
void uart_drain(struct uart *u);

/* Enable or disable the interrupt for received bytes, or for a free transmitter. */
void uart_enable_rx(struct uart *u, bool on);
void uart_enable_tx(struct uart *u, bool on);

#define UART_RX_READY 1u
#define UART_TX_READY 2u
/* For the interrupt handler: which of the enabled interrupts are pending, a mask of UART_RX_READY
   and UART_TX_READY. The handler calls it until it returns 0. */
unsigned uart_pending(struct uart *u);

#endif
