/* The names of 64-bit pointer types in OpenVMS C sources. Every pointer has 64 bits here. */
#ifndef FAR_POINTERS_H
#define FAR_POINTERS_H

#include <ints.h>

typedef void *VOID_PQ;
typedef void **VOID_PPQ;
typedef char *CHAR_PQ;
typedef char **CHAR_PPQ;
typedef short *SHORT_PQ;
typedef unsigned short *USHORT_PQ;
typedef int *INT_PQ;
typedef unsigned int *UINT_PQ;
typedef uint32 *UINT32_PQ;
typedef __int64 *INT64_PQ;
typedef unsigned __int64 *UINT64_PQ;
typedef unsigned __int64 **UINT64_PPQ;

#endif
