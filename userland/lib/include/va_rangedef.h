/* Ranges of addresses, of $CREATE_BUFOBJ; pointers have 64 bits. */
#ifndef VA_RANGEDEF_H
#define VA_RANGEDEF_H

struct _va_range {
    void *va_range$ps_start_va; /* the first byte and the last, in either order */
    void *va_range$ps_end_va;
};
typedef struct _va_range VA_RANGE;

/* The name without __NEW_STARLET. */
#if defined(MEGALITH_DIALECT_H) && !defined(__NEW_STARLET)
#define va_range _va_range
#endif

#endif
