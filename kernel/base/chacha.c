/* ChaCha20: chacha.h. */
#include "kernel/base/chacha.h"

#define DOUBLE_ROUNDS 10

/* The words are kept in 64 bits, of which the upper half is of no meaning, as addition and
 * exclusive or do not carry into the lower one: the machine has no rotation, and to clear the upper
 * half after each operation would take a third of all instructions. Two of the rotations find the
 * bits that come in below as a whole byte or word, the others clear the upper half first. */
static inline uint64_t rotate16(uint64_t v) { return v << 16 | (v >> 16 & 0xFFFF); }
static inline uint64_t rotate12(uint64_t v) { return v << 12 | (v & UINT32_MAX) >> 20; }
static inline uint64_t rotate8(uint64_t v) { return v << 8 | (v >> 24 & 0xFF); }
static inline uint64_t rotate7(uint64_t v) { return v << 7 | (v & UINT32_MAX) >> 25; }

static inline void quarter(uint64_t *a, uint64_t *b, uint64_t *c, uint64_t *d)
{
    *a += *b;
    *d = rotate16(*d ^ *a);
    *c += *d;
    *b = rotate12(*b ^ *c);
    *a += *b;
    *d = rotate8(*d ^ *a);
    *c += *d;
    *b = rotate7(*b ^ *c);
}

void chacha_block(uint32_t out[CHACHA_WORDS], const uint32_t key[CHACHA_KEY],
                  const uint32_t tail[CHACHA_TAIL])
{
    uint32_t start[CHACHA_WORDS] = {0x61707865, 0x3320646E, 0x79622D32, 0x6B206574, key[0], key[1],
                                    key[2],     key[3],     key[4],     key[5],     key[6], key[7],
                                    tail[0],    tail[1],    tail[2],    tail[3]};
    uint64_t x[CHACHA_WORDS];

#pragma GCC unroll 16
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
#pragma GCC unroll 16
    for (unsigned k = 0; k < CHACHA_WORDS; k++) {
        out[k] = (uint32_t)x[k] + start[k];
        /* No key stays behind on the stack. */
        *(volatile uint64_t *)&x[k] = 0;
        *(volatile uint32_t *)&start[k] = 0;
    }
}
