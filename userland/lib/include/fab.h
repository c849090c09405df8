/* File access blocks (fabdef.h). */
#ifndef FAB_H
#define FAB_H

#include <fabdef.h>

#endif
