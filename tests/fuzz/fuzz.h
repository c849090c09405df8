/*
 * Shared by all fuzzers: reading an input as numbers, checks, resetting static data before each
 * input, and pools that account for their blocks.
 *
 * A fuzzer defines LLVMFuzzerTestOneInput, which calls fuzz_begin() first. That resets the static
 * data of the kernel and of the fuzzer to their state at the start of the program, or at the last
 * fuzz_keep(), so that the effect of an input does not depend on earlier inputs. A check that fails
 * ends the program by abort(), and libFuzzer saves the input.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerInitialize(int *argc, char ***argv);

/* Reset static data to their state at fuzz_keep(), or else at the start of the program. */
void fuzz_begin(void);
/* Save the state of static data for fuzz_begin(), after initialisation that is done only once. */
void fuzz_keep(void);

/* An input; reading beyond its end gives zeros. */
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
/* Read a number below n, which is at most 65536. */
static inline unsigned in_below(struct fuzz_in *in, unsigned n)
{
    return (n > 256 ? in_u16(in) : in_u8(in)) % n;
}

/* Report a failed check and abort. */
__attribute__((noreturn, format(printf, 1, 2))) void fuzz_fail(const char *fmt, ...);
#define fuzz_check(cond, ...)       \
    do {                            \
        if (!(cond))                \
            fuzz_fail(__VA_ARGS__); \
    } while (0)

/*
 * Pools made of malloc, so that AddressSanitizer checks accesses. They check the size of a freed
 * block, and allocations can be made to fail. A fuzzer that does not link the kernel's pools calls
 * fuzz_pool_begin() first.
 */
extern long fuzz_pool_bytes;  /* allocated bytes */
extern long fuzz_pool_fail;   /* the n-th allocation from now fails, once; 0: none */
extern bool fuzz_pool_failed; /* an allocation was made to fail */
void fuzz_pool_begin(void);   /* free what an earlier input has left */

#endif
