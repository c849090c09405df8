/* File access blocks of RMS, which is not implemented: files are those of POSIX. */
#ifndef FABDEF_H
#define FABDEF_H

#include <megalith/missing.h>

struct FAB {
    int mega$missing;
} MEGA_NOT_HERE;

extern const int cc$rms_fab MEGA_NOT_HERE;

#endif
