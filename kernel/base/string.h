/*
 * Memory and strings. The standard functions have their standard meaning. They are for kernel
 * memory only (user memory: arch/alpha/hw/usercopy.h). In host-built tests the host's C library
 * provides the standard functions.
 */
#ifndef KERNEL_BASE_STRING_H
#define KERNEL_BASE_STRING_H

#include "kernel/base/types.h"

void *memcpy(void *dst, const void *src, size_t n);
void *memmove(void *dst, const void *src, size_t n);
void *memset(void *dst, int c, size_t n);
int memcmp(const void *a, const void *b, size_t n);
void *memchr(const void *p, int c, size_t n);
size_t strlen(const char *s);
size_t strnlen(const char *s, size_t max);
int strcmp(const char *a, const char *b);
int strncmp(const char *a, const char *b, size_t n);
char *strchr(const char *s, int c);
char *strrchr(const char *s, int c);
char *strstr(const char *s, const char *needle);

/* Copy at most size - 1 characters to dst, which has size bytes, and terminate. Returns
   strlen(src); the copy is truncated if that is not below size. */
size_t str_copy(char *dst, const char *src, size_t size);
/* Append src to the string in dst in the same way. Returns the length that an untruncated result
   would have. */
size_t str_append(char *dst, const char *src, size_t size);
/* Convert the whole string, a decimal or, with the prefix 0x, hexadecimal number. Returns false
   when it is no number or does not fit. */
bool str_to_u64(const char *s, uint64_t *v);

/* Zero or copy one page; pointers are page aligned. Zeroing takes about 1,050 instructions. */
void mem_zero_page(void *page);
void mem_copy_page(void *dst, const void *src);
/* Are all n bytes at p zero? n and p are multiples of 8. */
bool mem_is_zero(const void *p, size_t n);

#if !__STDC_HOSTED__
/* Short copies of constant length become inline code. */
#define memcpy(d, s, n) __builtin_memcpy(d, s, n)
#define memset(d, c, n) __builtin_memset(d, c, n)
#define memcmp(a, b, n) __builtin_memcmp(a, b, n)
#define strlen(s)       __builtin_strlen(s)
#endif

#endif
