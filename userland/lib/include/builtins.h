/* Instructions of the Alpha as functions. Each is a full memory barrier, as far as it accesses
   memory. */
#ifndef BUILTINS_H
#define BUILTINS_H

#include <megalith/missing.h>
#include <stdint.h>

#define __MB()    __sync_synchronize()
#define __TRAPB() __asm__ volatile("trapb" : : : "memory")
#define __RPCC()  __builtin_alpha_rpcc()

#define __UMULH(a, b) __builtin_alpha_umulh(a, b)

/* These return what was there before. */
#define __ATOMIC_ADD_LONG(at, n)    __sync_fetch_and_add((volatile int *)(at), (int)(n))
#define __ATOMIC_ADD_QUAD(at, n)    __sync_fetch_and_add((volatile int64_t *)(at), (int64_t)(n))
#define __ATOMIC_INCREMENT_LONG(at) __ATOMIC_ADD_LONG(at, 1)
#define __ATOMIC_INCREMENT_QUAD(at) __ATOMIC_ADD_QUAD(at, 1)
#define __ATOMIC_DECREMENT_LONG(at) __ATOMIC_ADD_LONG(at, -1)
#define __ATOMIC_DECREMENT_QUAD(at) __ATOMIC_ADD_QUAD(at, -1)
#define __ATOMIC_AND_LONG(at, mask) __sync_fetch_and_and((volatile int *)(at), (int)(mask))
#define __ATOMIC_AND_QUAD(at, mask) __sync_fetch_and_and((volatile int64_t *)(at), (int64_t)(mask))
#define __ATOMIC_OR_LONG(at, mask)  __sync_fetch_and_or((volatile int *)(at), (int)(mask))
#define __ATOMIC_OR_QUAD(at, mask)  __sync_fetch_and_or((volatile int64_t *)(at), (int64_t)(mask))
#define __ATOMIC_EXCH_LONG(at, value) \
    __atomic_exchange_n((volatile int *)(at), (int)(value), __ATOMIC_SEQ_CST)
#define __ATOMIC_EXCH_QUAD(at, value) \
    __atomic_exchange_n((volatile int64_t *)(at), (int64_t)(value), __ATOMIC_SEQ_CST)

/* Store `to` if `from` is there. Returns 1 if it was, else 0. */
#define __CMP_SWAP_LONG(at, from, to) \
    __sync_bool_compare_and_swap((volatile int *)(at), (int)(from), (int)(to))
#define __CMP_SWAP_QUAD(at, from, to) \
    __sync_bool_compare_and_swap((volatile int64_t *)(at), (int64_t)(from), (int64_t)(to))

/* Set or clear a bit of the longword. They return what the bit was. */
#define __TESTBITSSI(at, bit) ((__sync_fetch_and_or((volatile int *)(at), 1 << (bit)) >> (bit)) & 1)
#define __TESTBITCCI(at, bit) \
    ((__sync_fetch_and_and((volatile int *)(at), ~(1 << (bit))) >> (bit)) & 1)

/* Those that compare one place and store to another, and instructions of OpenVMS's PALcode. */
/* clang-format off */
MEGA_MISSING(__CMP_STORE_LONG)
MEGA_MISSING(__CMP_STORE_QUAD)
MEGA_MISSING(__PAL_INSQHIL)
MEGA_MISSING(__PAL_INSQHIQ)
MEGA_MISSING(__PAL_INSQTIL)
MEGA_MISSING(__PAL_INSQTIQ)
MEGA_MISSING(__PAL_INSQUEL)
MEGA_MISSING(__PAL_INSQUEQ)
MEGA_MISSING(__PAL_PROBER)
MEGA_MISSING(__PAL_PROBEW)
MEGA_MISSING(__PAL_REMQHIL)
MEGA_MISSING(__PAL_REMQHIQ)
MEGA_MISSING(__PAL_REMQTIL)
MEGA_MISSING(__PAL_REMQTIQ)
MEGA_MISSING(__PAL_REMQUEL)
MEGA_MISSING(__PAL_REMQUEQ)
MEGA_MISSING(__PAL_SWASTEN)
/* clang-format on */

#endif
