/* The ChaCha20 block function (RFC 8439, 2.3). Independent of the machine: also built for the
 * host. */
#ifndef KERNEL_BASE_CHACHA_H
#define KERNEL_BASE_CHACHA_H

#include "kernel/base/types.h"

#define CHACHA_KEY   8  /* words of 32 bits */
#define CHACHA_TAIL  4  /* of counter and nonce */
#define CHACHA_WORDS 16 /* of a block */

/* Compute the block of this key, counter and nonce. out may not overlap them. Any context. */
void chacha_block(uint32_t out[CHACHA_WORDS], const uint32_t key[CHACHA_KEY],
                  const uint32_t tail[CHACHA_TAIL]);

#endif
