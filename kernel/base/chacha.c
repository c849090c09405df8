/* ChaCha20: chacha.h. */
#include "kernel/base/chacha.h"

#define DOUBLE_ROUNDS 10

static inline uint32_t rotate(uint32_t v, unsigned n) { return v << n | v >> (32 - n); }

static inline void quarter(uint32_t *a, uint32_t *b, uint32_t *c, uint32_t *d)
{
    *a += *b;
    *d = rotate(*d ^ *a, 16);
    *c += *d;
    *b = rotate(*b ^ *c, 12);
    *a += *b;
    *d = rotate(*d ^ *a, 8);
    *c += *d;
    *b = rotate(*b ^ *c, 7);
}

void chacha_block(uint32_t out[CHACHA_WORDS], const uint32_t key[CHACHA_KEY],
                  const uint32_t tail[CHACHA_TAIL])
{
    uint32_t start[CHACHA_WORDS] = {0x61707865, 0x3320646E, 0x79622D32, 0x6B206574, key[0], key[1],
                                    key[2],     key[3],     key[4],     key[5],     key[6], key[7],
                                    tail[0],    tail[1],    tail[2],    tail[3]};

    uint32_t x[CHACHA_WORDS];

    for (unsigned k = 0; k < CHACHA_WORDS; k++)
        x[k] = start[k];
    for (unsigned n = 0; n < DOUBLE_ROUNDS; n++) { /* unrolled, the words stay in registers */
#pragma GCC unroll 4
        for (unsigned k = 0; k < 4; k++) /* columns */
            quarter(&x[k], &x[4 + k], &x[8 + k], &x[12 + k]);
#pragma GCC unroll 4
        for (unsigned k = 0; k < 4; k++) /* diagonals */
            quarter(&x[k], &x[4 + (k + 1) % 4], &x[8 + (k + 2) % 4], &x[12 + (k + 3) % 4]);
    }
    for (unsigned k = 0; k < CHACHA_WORDS; k++) {
        out[k] = x[k] + start[k];
        /* No key stays behind on the stack. */
        *(volatile uint32_t *)&x[k] = 0;
        *(volatile uint32_t *)&start[k] = 0;
    }
}
