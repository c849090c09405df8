/* Extended attribute blocks of RMS, which is not implemented. */
#ifndef XAB_H
#define XAB_H

#include <xabdef.h>

#endif
