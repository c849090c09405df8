/*
 * Words of the OpenVMS C compiler. scripts/cc includes this file before each source; it contains
 * macros only, so that assembly sources stay possible.
 */
#ifndef MEGALITH_DIALECT_H
#define MEGALITH_DIALECT_H

#ifndef __int64
#define __int64 long
#endif
#define __int32 int
#define __int16 short
#define __int8  char

/* Which format float and double have: of the three, that of IEEE. */
#define __IEEE_FLOAT 1
#define __D_FLOAT    0
#define __G_FLOAT    0

/* The kernel completes unaligned accesses. */
#define __unaligned

#define globalref extern
#define globaldef
/* The value of such a symbol is an address that the linker of OpenVMS finds in another object; the
 * constants of the system are macros in its headers here. */
#define globalvalue _Pragma("GCC error \"globalvalue is not supported: use a header\"") extern

#endif
