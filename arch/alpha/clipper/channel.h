/*
 * Frames to scripts/run on COM2: 0xA5, type, length (16 bits, little-endian), payload. A frame may
 * go out in pieces as the UART takes them; how much of it is still missing is kept here, so that a
 * panic can fill it up and send its own frame behind it. The caller serialises (a panic does not).
 */
#ifndef ARCH_ALPHA_CLIPPER_CHANNEL_H
#define ARCH_ALPHA_CLIPPER_CHANNEL_H

#include "kernel/base/types.h"

#define CHANNEL_MAGIC       0xA5
#define CHANNEL_PAYLOAD_MAX 4096

enum channel_type {
    CHANNEL_READY = 'S', /* both serial lines are set up: from now on input is not lost */
    CHANNEL_STDOUT = 'O',
    CHANNEL_STDERR = 'E',
    CHANNEL_RESULT = 'R',
    CHANNEL_PANIC = 'P',
    CHANNEL_INPUT = 'I', /* from the host */
    CHANNEL_INPUT_END = 'X',
};

/* Begin a frame of n payload bytes (at most CHANNEL_PAYLOAD_MAX); the last one has been sent in
 * full. */
void channel_begin(enum channel_type type, size_t n);
/* Send of the frame what the UART takes at once: its header, then n bytes from p. Returns how many
   of the n went, which may be 0 (busy). */
size_t channel_try_write(const void *p, size_t n);
/* A whole frame, waiting for the UART; any IPL. */
void channel_write_polled(enum channel_type type, const void *p, size_t n);
/* The same in a panic, whatever state the channel is in: a frame under way is filled up with zeros.
 */
void channel_write_panic(enum channel_type type, const void *p, size_t n);

#endif
