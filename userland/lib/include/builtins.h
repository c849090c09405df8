/*
 * Instructions of the Alpha, and operations made of them, as functions. Each is a full memory
 * barrier, as far as it accesses memory. Retry counts are not looked at: an operation is done, and
 * its status is 1.
 */
#ifndef BUILTINS_H
#define BUILTINS_H

#include <megalith/missing.h>
#include <stdint.h>

#define __MB()      __sync_synchronize()
#define __TRAPB()   __asm__ volatile("trapb" : : : "memory")
#define __RPCC()    __builtin_alpha_rpcc()
#define __ALLOCA(n) __builtin_alloca(n)

#define __UMULH(a, b)         __builtin_alpha_umulh(a, b)
#define _int_mult_upper(a, b) __UMULH(a, b)
/* Bits that are set, their parity, zeros before the first and behind the last one. */
#define _popcnt(n) ((long)__builtin_popcountl(n))
#define _poppar(n) ((long)__builtin_parityl(n))
static inline long mega_leading(uint64_t n) { return n ? (long)__builtin_clzl(n) : 64L; }
static inline long mega_trailing(uint64_t n) { return n ? (long)__builtin_ctzl(n) : 64L; }
/* Of a constant they are constants. */
#define _leadz(n) \
    (__builtin_constant_p(n) ? (n) ? (long)__builtin_clzl(n) : 64L : mega_leading((uint64_t)(n)))
#define _trailz(n) \
    (__builtin_constant_p(n) ? (n) ? (long)__builtin_ctzl(n) : 64L : mega_trailing((uint64_t)(n)))

#define MEGA_LONG(at) ((volatile int *)(at))
#define MEGA_QUAD(at) ((volatile int64_t *)(at))

/* These return what was there before. */
#define __ATOMIC_ADD_LONG(at, n)    __sync_fetch_and_add(MEGA_LONG(at), (int)(n))
#define __ATOMIC_ADD_QUAD(at, n)    __sync_fetch_and_add(MEGA_QUAD(at), (int64_t)(n))
#define __ATOMIC_INCREMENT_LONG(at) __ATOMIC_ADD_LONG(at, 1)
#define __ATOMIC_INCREMENT_QUAD(at) __ATOMIC_ADD_QUAD(at, 1)
#define __ATOMIC_DECREMENT_LONG(at) __ATOMIC_ADD_LONG(at, -1)
#define __ATOMIC_DECREMENT_QUAD(at) __ATOMIC_ADD_QUAD(at, -1)
#define __ATOMIC_AND_LONG(at, mask) __sync_fetch_and_and(MEGA_LONG(at), (int)(mask))
#define __ATOMIC_AND_QUAD(at, mask) __sync_fetch_and_and(MEGA_QUAD(at), (int64_t)(mask))
#define __ATOMIC_OR_LONG(at, mask)  __sync_fetch_and_or(MEGA_LONG(at), (int)(mask))
#define __ATOMIC_OR_QUAD(at, mask)  __sync_fetch_and_or(MEGA_QUAD(at), (int64_t)(mask))
#define __ATOMIC_EXCH_LONG(at, value) \
    __atomic_exchange_n(MEGA_LONG(at), (int)(value), __ATOMIC_SEQ_CST)
#define __ATOMIC_EXCH_QUAD(at, value) \
    __atomic_exchange_n(MEGA_QUAD(at), (int64_t)(value), __ATOMIC_SEQ_CST)

#define MEGA_RETRY(retry, status, operation) ((void)(retry), *(status) = 1, operation)
#define __ATOMIC_ADD_LONG_RETRY(at, n, retry, status) \
    MEGA_RETRY(retry, status, __ATOMIC_ADD_LONG(at, n))
#define __ATOMIC_ADD_QUAD_RETRY(at, n, retry, status) \
    MEGA_RETRY(retry, status, __ATOMIC_ADD_QUAD(at, n))
#define __ATOMIC_AND_LONG_RETRY(at, mask, retry, status) \
    MEGA_RETRY(retry, status, __ATOMIC_AND_LONG(at, mask))
#define __ATOMIC_AND_QUAD_RETRY(at, mask, retry, status) \
    MEGA_RETRY(retry, status, __ATOMIC_AND_QUAD(at, mask))
#define __ATOMIC_OR_LONG_RETRY(at, mask, retry, status) \
    MEGA_RETRY(retry, status, __ATOMIC_OR_LONG(at, mask))
#define __ATOMIC_OR_QUAD_RETRY(at, mask, retry, status) \
    MEGA_RETRY(retry, status, __ATOMIC_OR_QUAD(at, mask))
#define __ATOMIC_EXCH_LONG_RETRY(at, value, retry, status) \
    MEGA_RETRY(retry, status, __ATOMIC_EXCH_LONG(at, value))
#define __ATOMIC_EXCH_QUAD_RETRY(at, value, retry, status) \
    MEGA_RETRY(retry, status, __ATOMIC_EXCH_QUAD(at, value))

/* The older forms return the status; a retry count may follow. */
#define __ADD_ATOMIC_LONG(at, n, ...)    ((void)__ATOMIC_ADD_LONG(at, n), 1)
#define __ADD_ATOMIC_QUAD(at, n, ...)    ((void)__ATOMIC_ADD_QUAD(at, n), 1)
#define __AND_ATOMIC_LONG(at, mask, ...) ((void)__ATOMIC_AND_LONG(at, mask), 1)
#define __AND_ATOMIC_QUAD(at, mask, ...) ((void)__ATOMIC_AND_QUAD(at, mask), 1)
#define __OR_ATOMIC_LONG(at, mask, ...)  ((void)__ATOMIC_OR_LONG(at, mask), 1)
#define __OR_ATOMIC_QUAD(at, mask, ...)  ((void)__ATOMIC_OR_QUAD(at, mask), 1)

/* Store `to` if `from` is there. Returns 1 if it was, else 0. */
#define __CMP_SWAP_LONG(at, from, to) \
    __sync_bool_compare_and_swap(MEGA_LONG(at), (int)(from), (int)(to))
#define __CMP_SWAP_QUAD(at, from, to) \
    __sync_bool_compare_and_swap(MEGA_QUAD(at), (int64_t)(from), (int64_t)(to))
#define __CMP_SWAP_LONG_ACQ(at, from, to) __CMP_SWAP_LONG(at, from, to)
#define __CMP_SWAP_LONG_REL(at, from, to) __CMP_SWAP_LONG(at, from, to)
#define __CMP_SWAP_QUAD_ACQ(at, from, to) __CMP_SWAP_QUAD(at, from, to)
#define __CMP_SWAP_QUAD_REL(at, from, to) __CMP_SWAP_QUAD(at, from, to)
/* The same, returning what was there before. */
#define _InterlockedCompareExchange_acq(at, to, from)                                   \
    ((uint64_t)__sync_val_compare_and_swap((volatile uint32_t *)(at), (uint32_t)(from), \
                                           (uint32_t)(to)))
#define _InterlockedCompareExchange64_acq(at, to, from)                                 \
    ((uint64_t)__sync_val_compare_and_swap((volatile uint64_t *)(at), (uint64_t)(from), \
                                           (uint64_t)(to)))
#define _InterlockedCompareExchange_rel(at, to, from) _InterlockedCompareExchange_acq(at, to, from)
#define _InterlockedCompareExchange64_rel(at, to, from) \
    _InterlockedCompareExchange64_acq(at, to, from)

/* Set a bit of a longword, and tell whether it was set already; clear it, and tell whether it was
 * clear already. The bit may be one of the longwords before or behind; a retry count may follow. */
static inline int mega_set_bit(volatile int *at, int bit)
{
    return (int)((unsigned)__ATOMIC_OR_LONG(at + (bit >> 5), 1u << (bit & 31)) >> (bit & 31) & 1);
}
static inline int mega_clear_bit(volatile int *at, int bit)
{
    unsigned mask = 1u << (bit & 31);

    return !((unsigned)__ATOMIC_AND_LONG(at + (bit >> 5), ~mask) & mask);
}
#define __TESTBITSSI(at, bit, ...) mega_set_bit(MEGA_LONG(at), (int)(bit))
#define __TESTBITCCI(at, bit, ...) mega_clear_bit(MEGA_LONG(at), (int)(bit))
/* The names of the instructions of the VAX. */
#define _BBSSI(bit, at) __TESTBITSSI(at, bit)
#define _BBCCI(bit, at) __TESTBITCCI(at, bit)
/* The same of a quadword. */
static inline int mega_set_bit_64(volatile int64_t *at, unsigned bit)
{
    return (int)((uint64_t)__ATOMIC_OR_QUAD(at, 1ul << bit % 64) >> bit % 64 & 1);
}
static inline int mega_clear_bit_64(volatile int64_t *at, unsigned bit)
{
    return (int)(~(uint64_t)__ATOMIC_AND_QUAD(at, ~(1ul << bit % 64)) >> bit % 64 & 1);
}
#define __INTERLOCKED_TESTBITSS_QUAD(at, bit) mega_set_bit_64(MEGA_QUAD(at), (unsigned)(bit))
#define __INTERLOCKED_TESTBITCC_QUAD(at, bit) mega_clear_bit_64(MEGA_QUAD(at), (unsigned)(bit))
#define __INTERLOCKED_TESTBITSS_QUAD_RETRY(at, bit, retry, status) \
    MEGA_RETRY(retry, status, __INTERLOCKED_TESTBITSS_QUAD(at, bit))
#define __INTERLOCKED_TESTBITCC_QUAD_RETRY(at, bit, retry, status) \
    MEGA_RETRY(retry, status, __INTERLOCKED_TESTBITCC_QUAD(at, bit))

/* A lock, bit 0 of a longword; a semaphore, a longword with the number that is left. Those that
 * try a number of times return 1 if they succeeded, else 0. */
static inline int __LOCK_LONG_RETRY(volatile void *at, int retry)
{
    do {
        if (!(__ATOMIC_OR_LONG(at, 1) & 1))
            return 1;
    } while (retry-- > 0);
    return 0;
}
static inline void __LOCK_LONG(volatile void *at)
{
    while (!__LOCK_LONG_RETRY(at, 0))
        ;
}
#define __UNLOCK_LONG(at) ((void)__ATOMIC_AND_LONG(at, ~1))

static inline int __ACQUIRE_SEM_LONG_RETRY(volatile void *at, int retry)
{
    do {
        int left = *MEGA_LONG(at);

        if (left > 0 && __CMP_SWAP_LONG(at, left, left - 1))
            return 1;
    } while (retry-- > 0);
    return 0;
}
static inline void __ACQUIRE_SEM_LONG(volatile void *at)
{
    while (!__ACQUIRE_SEM_LONG_RETRY(at, 0))
        ;
}
#define __RELEASE_SEM_LONG(at) ((void)__ATOMIC_ADD_LONG(at, 1))

/* Those that compare one place and store to another, floating-point operations that round towards
 * zero or copy signs, and instructions of OpenVMS's PALcode. */
/* clang-format off */
MEGA_MISSING(__ADAWI) MEGA_MISSING(__CMP_STORE_LONG) MEGA_MISSING(__CMP_STORE_QUAD)
MEGA_MISSING(__ADDS_C) MEGA_MISSING(__ADDT_C) MEGA_MISSING(__CPYS) MEGA_MISSING(__CPYSE)
MEGA_MISSING(__CPYSEF) MEGA_MISSING(__CPYSF) MEGA_MISSING(__CPYSN) MEGA_MISSING(__CPYSNF)
MEGA_MISSING(__CVTTQ) MEGA_MISSING(__CVTTS_C) MEGA_MISSING(__DIVS_C) MEGA_MISSING(__DIVT_C)
MEGA_MISSING(__MULS_C) MEGA_MISSING(__MULT_C) MEGA_MISSING(__SUBS_C) MEGA_MISSING(__SUBT_C)
MEGA_MISSING(__PAL_BPT) MEGA_MISSING(__PAL_BUGCHK) MEGA_MISSING(__PAL_GENTRAP)
MEGA_MISSING(__PAL_HALT) MEGA_MISSING(__PAL_IMB) MEGA_MISSING(__PAL_INSQHIL)
MEGA_MISSING(__PAL_INSQHIQ) MEGA_MISSING(__PAL_INSQTIL) MEGA_MISSING(__PAL_INSQTIQ)
MEGA_MISSING(__PAL_INSQUEL) MEGA_MISSING(__PAL_INSQUEQ) MEGA_MISSING(__PAL_PROBER)
MEGA_MISSING(__PAL_PROBEW) MEGA_MISSING(__PAL_REMQHIL) MEGA_MISSING(__PAL_REMQHIQ)
MEGA_MISSING(__PAL_REMQTIL) MEGA_MISSING(__PAL_REMQTIQ) MEGA_MISSING(__PAL_REMQUEL)
MEGA_MISSING(__PAL_REMQUEQ) MEGA_MISSING(__PAL_SWASTEN) MEGA_MISSING(__PAL_SWPCTX)
/* clang-format on */

#endif
