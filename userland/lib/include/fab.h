/* File access blocks of RMS, which is not implemented. */
#ifndef FAB_H
#define FAB_H

#include <fabdef.h>

#endif
