/* Status areas and flags of Fast I/O (STARLET; docs/openvms.md). */
#ifndef IOSADEF_H
#define IOSADEF_H

#include <ints.h>
#include <megalith/fast_io.h>

typedef struct _iosa IOSA;
typedef unsigned __int64 FANDLE;

/* The name without __NEW_STARLET. */
#if defined(MEGALITH_DIALECT_H) && !defined(__NEW_STARLET)
#define iosa _iosa
typedef struct _iosa _iosa;
typedef FANDLE fandle;
#endif

#endif
