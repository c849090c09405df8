/*
 * Numbers from text, decimal, hexadecimal and octal: `count` characters, a sign first if there is
 * one. 1, or 0 if there is another character, or the magnitude has more than 32 (64) bits; *result
 * is as it was then.
 */
#ifndef RTL_NUMBERS_H
#define RTL_NUMBERS_H

#include <ints.h>

#ifdef __cplusplus
extern "C" {
#endif

int lib$cvt_dtb(int count, const char *text, int *result);
int lib$cvt_htb(int count, const char *text, int *result);
int lib$cvt_otb(int count, const char *text, int *result);
int lib$cvt_dtb_64(int count, const char *text, __int64 *result);
int lib$cvt_htb_64(int count, const char *text, __int64 *result);
int lib$cvt_otb_64(int count, const char *text, __int64 *result);

#ifdef __cplusplus
}
#endif

#endif
