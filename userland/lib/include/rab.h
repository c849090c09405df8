/* Record access blocks of RMS, which is not implemented. */
#ifndef RAB_H
#define RAB_H

#include <rabdef.h>

#endif
