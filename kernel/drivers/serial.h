/*
 * Bytes received by a UART: the interrupt puts them into a ring, threads take them out. A full ring
 * turns the receive interrupt off and leaves bytes in the UART; QEMU then holds the sender back.
 */
#ifndef KERNEL_DRIVERS_SERIAL_H
#define KERNEL_DRIVERS_SERIAL_H

#include "arch/alpha/clipper/uart.h"
#include "kernel/sched/wait.h"

#define SERIAL_RING 2048 /* bytes; 128 times the UART's FIFO */

struct serial {
    struct uart *uart;     /* constant */
    void (*arrived)(void); /* constant; who else is told that bytes have come */
    struct spinlock lock;  /* RANK_DEVICE; the fields below, and the UART's receiver */
    uint32_t head, count;
    bool stopped;              /* receive interrupt off: the ring was full */
    uint64_t *received, stops; /* statistics */
    struct wait_queue queue;   /* woken when bytes have come */
    uint8_t ring[SERIAL_RING];
};

/* Bytes that the interrupt took from COM1 and COM2. scripts/run reads it in the memory of a machine
   that records: there QEMU sends on without regard to a full UART
   (scripts/megalith/run/serial_lines.py). */
extern uint64_t serial_received[2];

/* Take over u's receiver. arrived is called at IPL_DEVICE, with no lock held, when bytes have come
 * and s->queue was woken. Boot. */
void serial_boot(struct serial *s, struct uart *u, const char *name, void (*arrived)(void));
/* Take up to n bytes; 0: none there. IPL up to IPL_DEVICE. */
size_t serial_take(struct serial *s, void *buf, size_t n);
/* Is a byte there? A hint; pairs with s->queue. */
bool serial_ready(struct serial *s);

#endif
