/*
 * The two 16550 UARTs: COM1, console and terminal; COM2, the framed channel to scripts/run.
 * Primitives only; nothing here waits, except uart_write_polled. The caller serialises the use of
 * one UART and direction, at IPL_DEVICE or above when its interrupt is enabled. Interrupts:
 * register for uart->irq (arch/alpha/clipper/irq.h) and call uart_pending from the handler.
 */
#ifndef ARCH_ALPHA_CLIPPER_UART_H
#define ARCH_ALPHA_CLIPPER_UART_H

#include "kernel/base/types.h"

struct uart {
    uint16_t port; /* constant */
    uint16_t irq;  /* constant */
    uint8_t
        enabled; /* interrupts wanted, a copy of the enable register; serialised by the caller */
};

extern struct uart uart_com1, uart_com2;

/* FIFOs on, interrupts off, 115200 8N1. Boot. */
void uart_boot(struct uart *u);

/* Hand over up to n bytes, as many as the transmitter takes at once. Returns how many: 0 when it is
 * busy. */
size_t uart_try_write(struct uart *u, const void *p, size_t n);
/* Take up to n received bytes; 0 when there are none. A reader without room leaves them in the UART
   and turns the receive interrupt off: QEMU then holds the sender back, and no byte is lost. */
size_t uart_try_read(struct uart *u, void *p, size_t n);
/* All n bytes, waiting for the transmitter; gives up after a second without progress and returns
   what was sent. Any IPL. */
size_t uart_write_polled(struct uart *u, const void *p, size_t n);

/* Wait until everything written has left; gives up after a second without progress. Any IPL. */
void uart_drain(struct uart *u);

/* Want an interrupt when bytes have come, or when the transmitter is free. */
void uart_enable_rx(struct uart *u, bool on);
void uart_enable_tx(struct uart *u, bool on);

#define UART_RX_READY 1u
#define UART_TX_READY 2u
/* Interrupt handler: what is to be done (of the enabled ones); 0 when nothing is left. Call until
 * 0. */
unsigned uart_pending(struct uart *u);

#endif
