/*
 * The interrupts of a UART. Receive side: the interrupt puts bytes into a ring, and threads take
 * them out. When the ring is full, the receive interrupt is disabled and bytes stay in the UART;
 * QEMU then holds the sender back. Transmit side: a thread whose bytes the transmitter does not
 * accept waits for its interrupt, which is enabled only as long as a thread waits.
 */
#ifndef KERNEL_DRIVERS_SERIAL_H
#define KERNEL_DRIVERS_SERIAL_H

#include "arch/alpha/clipper/uart.h"
#include "kernel/sched/wait.h"

#define SERIAL_RING 2048 /* bytes; 128 times the UART's FIFO */

struct serial {
    struct uart *uart;     /* constant */
    void (*arrived)(void); /* constant; called when bytes were received, or NULL */
    struct spinlock lock;  /* RANK_DEVICE, IPL_DEVICE; the fields below and the UART's receiver */
    uint32_t head, count;
    bool stopped;              /* the receive interrupt is disabled: the ring was full */
    uint64_t *received, stops; /* statistics */
    struct wait_queue queue;   /* woken when bytes were received */
    struct wait_queue sent;    /* woken when the transmitter accepts bytes again */
    uint8_t ring[SERIAL_RING];
};

/* Number of bytes that the interrupt took from COM1 and COM2. scripts/run reads it in the memory of
 * a machine that makes a recording: there QEMU sends without regard to a full UART
 * (scripts/megalith/run/serial_lines.py). */
extern uint64_t serial_received[2];

/* Initialise s for u's receiver and enable its interrupt. After bytes were received and s->queue
 * was woken, arrived is called, by a thread at IPL 0. Boot only. */
void serial_boot(struct serial *s, struct uart *u, const char *name, void (*arrived)(void));
/* Take up to n bytes out of the ring. Their number; 0: the ring is empty. IPL up to IPL_DEVICE. */
size_t serial_take(struct serial *s, void *buf, size_t n);
/* Does the ring hold a byte? A hint, for a thread that has enqueued itself on s->queue. */
bool serial_ready(struct serial *s);
/* Wait until the transmitter accepts bytes. Returns at once if it does. flags: how, as for
 * wait_block(), whose result it returns: 0 or -EINTR. IPL 0. */
int serial_wait_sent(struct serial *s, unsigned flags);

#endif
