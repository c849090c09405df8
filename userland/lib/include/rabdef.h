/* Record access blocks of RMS, which is not implemented: files are those of POSIX. */
#ifndef RABDEF_H
#define RABDEF_H

#include <megalith/missing.h>

struct RAB {
    int mega$missing;
} MEGA_NOT_HERE;

extern const int cc$rms_rab MEGA_NOT_HERE;

#endif
