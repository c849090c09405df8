/*
 * Memory and strings. The standard functions have their standard meaning; kernel memory only (user
 * memory: arch/alpha/hw/usercopy.h). Copies and fills move quadwords wherever alignment allows.
 * The host's C library supplies the standard ones in host-built tests.
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

/* Copy at most size - 1 characters and terminate. Returns strlen(src): not below size when cut. */
size_t str_copy(char *dst, const char *src, size_t size);
/* Append likewise to the string in dst. Returns the length that it tried to make. */
size_t str_append(char *dst, const char *src, size_t size);
/* Decimal or, with 0x in front, hexadecimal number; the whole string. False when it is none or does
 * not fit. */
bool str_to_u64(const char *s, uint64_t *v);

/* One page, page aligned: 1,410 instructions for the first, unrolled eightfold. */
void mem_zero_page(void *page);
void mem_copy_page(void *dst, const void *src);
/* n bytes, n and p multiples of 8: is every one of them zero? Only reads. */
bool mem_is_zero(const void *p, size_t n);

#if !__STDC_HOSTED__
/* Short copies of constant length become inline code. */
#define memcpy(d, s, n) __builtin_memcpy(d, s, n)
#define memset(d, c, n) __builtin_memset(d, c, n)
#define memcmp(a, b, n) __builtin_memcmp(a, b, n)
#define strlen(s)       __builtin_strlen(s)
#endif

#endif
