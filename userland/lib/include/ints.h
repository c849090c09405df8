/* Integer types of OpenVMS C sources. long and __int64 have 64 bits here. */
#ifndef INTS_H
#define INTS_H

#ifndef __int64
#define __int64 long
#endif

typedef unsigned long uint64;
typedef long int64;
typedef unsigned int uint32;
typedef int int32;
typedef unsigned short uint16;
typedef short int16;
typedef unsigned char uint8;
typedef signed char int8;

#endif
