/* The status block of services that may complete later (STARLET; docs/openvms.md). */
#ifndef IOSBDEF_H
#define IOSBDEF_H

#include "megalith/iosb.h"

#define IOSB$K_LENGTH 8
#define IOSB$C_LENGTH 8

typedef struct _iosb IOSB;
typedef struct _iosb *IOSB_PQ;
typedef struct _iosb **IOSB_PPQ;

/* The name without __NEW_STARLET. */
#if defined(MEGALITH_DIALECT_H) && !defined(__NEW_STARLET)
#define iosb _iosb
#endif

#endif
