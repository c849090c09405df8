/* Name blocks of RMS, which is not implemented: files are those of POSIX. */
#ifndef NAMDEF_H
#define NAMDEF_H

#include <megalith/missing.h>

struct NAM {
    int mega$missing;
} MEGA_NOT_HERE;
struct NAML {
    int mega$missing;
} MEGA_NOT_HERE;

extern const int cc$rms_nam MEGA_NOT_HERE;
extern const int cc$rms_naml MEGA_NOT_HERE;

#endif
