/* Name blocks of RMS, which is not implemented. */
#ifndef NAM_H
#define NAM_H

#include <namdef.h>

#endif
