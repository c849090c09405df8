/* Status areas and flags of Fast I/O (STARLET; docs/openvms.md). */
#ifndef IOSADEF_H
#define IOSADEF_H

#include <ints.h>
#include <megalith/fast_io.h>

typedef struct _iosa IOSA;
typedef unsigned __int64 FANDLE;

#endif
