/* Extended attribute blocks of RMS, which is not implemented: files are those of POSIX. */
#ifndef XABDEF_H
#define XABDEF_H

#include <megalith/missing.h>

struct XABALL {
    int mega$missing;
} MEGA_NOT_HERE;
struct XABDAT {
    int mega$missing;
} MEGA_NOT_HERE;
struct XABFHC {
    int mega$missing;
} MEGA_NOT_HERE;
struct XABKEY {
    int mega$missing;
} MEGA_NOT_HERE;
struct XABPRO {
    int mega$missing;
} MEGA_NOT_HERE;
struct XABRDT {
    int mega$missing;
} MEGA_NOT_HERE;
struct XABSUM {
    int mega$missing;
} MEGA_NOT_HERE;
struct XABTRM {
    int mega$missing;
} MEGA_NOT_HERE;

extern const int cc$rms_xaball MEGA_NOT_HERE;
extern const int cc$rms_xabdat MEGA_NOT_HERE;
extern const int cc$rms_xabfhc MEGA_NOT_HERE;
extern const int cc$rms_xabkey MEGA_NOT_HERE;
extern const int cc$rms_xabpro MEGA_NOT_HERE;
extern const int cc$rms_xabrdt MEGA_NOT_HERE;
extern const int cc$rms_xabsum MEGA_NOT_HERE;
extern const int cc$rms_xabtrm MEGA_NOT_HERE;

#endif
