/*
 * Bit fields: `size` bits, at most 32, from bit number *position of the memory at base on, which
 * may be negative. SS$_ROPRAND is signalled for a larger size. Numbers of several longwords have
 * the lowest one first.
 */
#ifndef RTL_BITS_H
#define RTL_BITS_H

#include <rtl/optional.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The value of a field, extended by its sign or by zeros; lib$insv stores one. */
int lib$extv(const int *position, const unsigned char *size, const void *base);
unsigned int lib$extzv(const int *position, const unsigned char *size, const void *base);
void lib$insv(const int *source, const int *position, const unsigned char *size, void *base);
/* Find the first bit of a field that is set, or clear: SS$_NORMAL; LIB$_NOTFOU, and *found is the
 * bit behind the field. */
int lib$ffs(const int *position, const unsigned char *size, const void *base, int *found);
int lib$ffc(const int *position, const unsigned char *size, const void *base, int *found);
/* Set a bit, clear a bit: was it set? Atomic. */
int lib$bbssi(const int *position, void *base);
int lib$bbcci(const int *position, void *base);
/* Add to a word, atomically; *sign is -1, 0 or 1 as the sum. LIB$_NORMAL; LIB$_INTOVF;
 * SS$_ROPRAND: it is not aligned. */
int lib$adawi(const short *add, short *sum, short *sign);
/* Add, subtract numbers of *length longwords, by default 2: SS$_NORMAL, SS$_INTOVF; LIB$_INVARG:
 * less than none. */
int lib$addx(const int *addend, const int *augend, int *sum, const int *length);
int lib$subx(const int *minuend, const int *subtrahend, int *difference, const int *length);

#define lib$addx(...) MEGA_UP_TO(4, lib$addx, (0), __VA_ARGS__)
#define lib$subx(...) MEGA_UP_TO(4, lib$subx, (0), __VA_ARGS__)

#ifdef __cplusplus
}
#endif

#endif
