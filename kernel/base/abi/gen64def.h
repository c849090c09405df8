/* A quadword that services access by reference. */
#ifndef GEN64DEF_H
#define GEN64DEF_H

#include <stdint.h>

typedef struct _generic_64 {
    union {
        uint64_t gen64$q_quadword;
        uint32_t gen64$l_longword[2];
    };
} GENERIC_64;

/* The name without __NEW_STARLET. */
#if defined(MEGALITH_DIALECT_H) && !defined(__NEW_STARLET)
#define generic_64 _generic_64
#endif

#endif
