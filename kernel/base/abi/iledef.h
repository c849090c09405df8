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

/* Entries without a return length, of lists that are read only. The services here take the two
 * forms above. */
typedef struct _ile2 { /* 16 bytes */
    unsigned short ile2$w_length;
    unsigned short ile2$w_code;
    void *ile2$ps_bufaddr;
} ILE2;

typedef struct _ilea_64 {         /* 24 bytes */
    unsigned short ilea_64$w_mbo; /* must be 1 */
    unsigned short ilea_64$w_code;
    int ilea_64$l_mbmo; /* must be -1 */
    uint64_t ilea_64$q_length;
    void *ilea_64$pq_bufaddr;
} ILEA_64;

#define ILE3$K_LENGTH    sizeof(struct _ile3)
#define ILE3$C_LENGTH    sizeof(struct _ile3)
#define ILEB_64$K_LENGTH sizeof(struct _ileb_64)
#define ILEB_64$C_LENGTH sizeof(struct _ileb_64)
#define ILE2$K_LENGTH    sizeof(struct _ile2)
#define ILE2$C_LENGTH    sizeof(struct _ile2)
#define ILEA_64$K_LENGTH sizeof(struct _ilea_64)
#define ILEA_64$C_LENGTH sizeof(struct _ilea_64)

/* Their names without __NEW_STARLET. */
#if defined(MEGALITH_DIALECT_H) && !defined(__NEW_STARLET)
#define ile2    _ile2
#define ile3    _ile3
#define ilea_64 _ilea_64
#define ileb_64 _ileb_64
#endif

#endif
