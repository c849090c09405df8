/*
 * What all fuzzers share: an input read as numbers, complaints, static data set back before each
 * input, and pools that know what they gave out.
 *
 * A fuzzer defines LLVMFuzzerTestOneInput, whose first act is fuzz_begin(): then the kernel's and
 * its own static data are as they were at the start of the program, or at fuzz_keep(). So an
 * input does the same whatever ran before it. What is wrong ends the program by abort(); libFuzzer
 * keeps the input.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerInitialize(int *argc, char ***argv);

/* Static data go back to where fuzz_keep(), or else the program's start, left them. */
void fuzz_begin(void);
/* What they are now is what they go back to: for what is booted once. */
void fuzz_keep(void);

/* An input; behind its end there are zeroes. */
struct fuzz_in {
    const uint8_t *p, *end;
};

static inline struct fuzz_in fuzz_in(const uint8_t *data, size_t n)
{
    return (struct fuzz_in){data, data + n};
}
static inline bool in_more(const struct fuzz_in *in) { return in->p < in->end; }
static inline uint8_t in_u8(struct fuzz_in *in) { return in->p < in->end ? *in->p++ : 0; }
static inline uint64_t in_bytes(struct fuzz_in *in, unsigned n)
{
    uint64_t v = 0;

    for (unsigned i = 0; i < n; i++)
        v |= (uint64_t)in_u8(in) << 8 * i;
    return v;
}
static inline uint16_t in_u16(struct fuzz_in *in) { return (uint16_t)in_bytes(in, 2); }
static inline uint32_t in_u32(struct fuzz_in *in) { return (uint32_t)in_bytes(in, 4); }
static inline uint64_t in_u64(struct fuzz_in *in) { return in_bytes(in, 8); }
/* A number below n (at most 65536). */
static inline unsigned in_below(struct fuzz_in *in, unsigned n)
{
    return (n > 256 ? in_u16(in) : in_u8(in)) % n;
}

/* Something is not as it must be: say so and abort. */
__attribute__((noreturn, format(printf, 1, 2))) void fuzz_fail(const char *fmt, ...);
#define fuzz_check(cond, ...)       \
    do {                            \
        if (!(cond))                \
            fuzz_fail(__VA_ARGS__); \
    } while (0)

/*
 * Pools of malloc, so that AddressSanitizer watches, which check the size given back and can be
 * made to fail. A fuzzer that links no pool of the kernel's calls fuzz_pool_begin() first.
 */
extern long fuzz_pool_bytes;  /* that are given out */
extern long fuzz_pool_fail;   /* the n-th allocation from now fails, once; 0: none */
extern bool fuzz_pool_failed; /* it has happened */
void fuzz_pool_begin(void);   /* forgets and frees what an input before left */

#endif
