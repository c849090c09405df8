/*
 * Item lists. The 32-bit form has 64-bit pointers here, at their natural offsets in C; the 64-bit
 * form is recognised by its MBO and MBMO fields. A list ends with a longword of 0.
 */
#ifndef ILEDEF_H
#define ILEDEF_H

#include <stdint.h>

typedef struct _ile3 { /* 24 bytes */
    unsigned short ile3$w_length;
    unsigned short ile3$w_code;
    void *ile3$ps_bufaddr;
    unsigned short *ile3$ps_retlen_addr; /* 0: not wanted */
} ILE3;

typedef struct _ileb_64 {         /* 32 bytes */
    unsigned short ileb_64$w_mbo; /* must be 1 */
    unsigned short ileb_64$w_code;
    int ileb_64$l_mbmo; /* must be -1 */
    uint64_t ileb_64$q_length;
    void *ileb_64$pq_bufaddr;
    uint64_t *ileb_64$pq_retlen_addr; /* 0: not wanted */
} ILEB_64;

#endif
