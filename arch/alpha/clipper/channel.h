/*
 * Frames between the kernel and scripts/run on COM2. A frame is the byte 0xA5, a type, the length
 * of the payload (16 bits, little-endian) and the payload. A frame may be sent in several parts, as
 * the UART accepts them. How much of it is still to be sent is recorded, so that a panic can
 * complete it with zeros and send its own frame after it. Callers serialise their calls, except in
 * a panic.
 */
#ifndef ARCH_ALPHA_CLIPPER_CHANNEL_H
#define ARCH_ALPHA_CLIPPER_CHANNEL_H

#include "kernel/base/types.h"

#define CHANNEL_MAGIC       0xA5
#define CHANNEL_PAYLOAD_MAX 4096

enum channel_type {
    CHANNEL_READY = 'S', /* both UARTs are initialised: the host may send input from now on */
    CHANNEL_STDOUT = 'O',
    CHANNEL_STDERR = 'E',
    CHANNEL_RESULT = 'R',
    CHANNEL_PANIC = 'P',
    CHANNEL_INPUT = 'I', /* from the host */
    CHANNEL_INPUT_END = 'X',
};

/* Begin a frame of n payload bytes, at most CHANNEL_PAYLOAD_MAX. The frame before it has been sent
   in full. */
void channel_begin(enum channel_type type, size_t n);
/* Send as much of the frame as the UART accepts at once: the rest of its header, then bytes of its
   payload, of which the next n are at p. Never waits. Returns how many of the n bytes were sent; if
   not all were, the UART is busy. */
size_t channel_try_write(const void *p, size_t n);
/* Send a whole frame, waiting for the UART; gives up after a second without progress. Any IPL. */
void channel_write_polled(enum channel_type type, const void *p, size_t n);
/* The same for a panic, which may interrupt the sending of another frame: that frame is first
   completed with zeros. */
void channel_write_panic(enum channel_type type, const void *p, size_t n);

#endif
