/*
 * IEEE 754 arithmetic in integers, for the cases that the hardware leaves to software completion:
 * denormal, infinite and NaN operands, overflow, underflow and division by zero. The functions have
 * no state and use no floating-point registers. Operands and results are in Alpha's register
 * format: T (double) is the same as in memory, S (single) has a wider exponent (Alpha Architecture,
 * LDS).
 */
#ifndef KERNEL_BASE_IEEE_H
#define KERNEL_BASE_IEEE_H

#include "kernel/base/types.h"

/* Exceptions, in the order of FPCR's status bits (52-56) and of the control word's (17-21). */
#define IEEE_INV 0x01u
#define IEEE_DZE 0x02u
#define IEEE_OVF 0x04u
#define IEEE_UNF 0x08u
#define IEEE_INE 0x10u

enum ieee_round { IEEE_CHOPPED, IEEE_MINUS_INFINITY, IEEE_NEAREST, IEEE_PLUS_INFINITY };
enum ieee_format { IEEE_S, IEEE_T };
enum ieee_compare { IEEE_UNORDERED, IEEE_EQUAL, IEEE_LESS, IEEE_LESS_EQUAL };

/* Each returns the result in register format and ORs the exceptions that it raised into *flags. */
uint64_t ieee_add(uint64_t a, uint64_t b, enum ieee_format f, enum ieee_round r, unsigned *flags);
uint64_t ieee_sub(uint64_t a, uint64_t b, enum ieee_format f, enum ieee_round r, unsigned *flags);
uint64_t ieee_mul(uint64_t a, uint64_t b, enum ieee_format f, enum ieee_round r, unsigned *flags);
uint64_t ieee_div(uint64_t a, uint64_t b, enum ieee_format f, enum ieee_round r, unsigned *flags);
uint64_t ieee_sqrt(uint64_t a, enum ieee_format f, enum ieee_round r, unsigned *flags);
/* Compare two T operands. Returns 2.0 for true and 0 for false, like CMPTxx. */
uint64_t ieee_compare(uint64_t a, uint64_t b, enum ieee_compare c, unsigned *flags);
uint64_t ieee_convert(uint64_t a, enum ieee_format from, enum ieee_format to, enum ieee_round r,
                      unsigned *flags);
uint64_t ieee_from_int(int64_t v, enum ieee_format to, enum ieee_round r, unsigned *flags);
/* Convert a T to an integer. Returns the low 64 bits of the rounded value; IEEE_INV when the value
   does not fit, is infinite or is a NaN. */
uint64_t ieee_to_int(uint64_t a, enum ieee_round r, unsigned *flags);

/* Convert S between its formats in memory and in a register. */
uint64_t ieee_s_to_register(uint32_t memory);
uint32_t ieee_s_to_memory(uint64_t reg);

#endif
