/* Constants of the command language interpreter, and flags of LIB$SPAWN (STARLET). */
#ifndef CLIDEF_H
#define CLIDEF_H

#include <megalith/missing.h>

enum {
    CLI$M_NOWAIT = 0x1,
    CLI$M_NOCLISYM = 0x2,
    CLI$M_NOLOGNAM = 0x4,
    CLI$M_NOKEYPAD = 0x8,
    CLI$M_NOTIFY = 0x10,
    CLI$M_NOCONTROL = 0x20,
    CLI$M_TRUSTED = 0x40,
    CLI$M_AUTHPRIV = 0x80,
    CLI$M_SUBSYSTEM = 0x100,
};

enum {
    MEGA_MISSING_CODE(CLI$K_PRESENT, 80),
    MEGA_MISSING_CODE(CLI$K_GETVALUE, 81),
    MEGA_MISSING_CODE(CLI$K_ENDPARSE, 82),
    MEGA_MISSING_CODE(CLI$K_DCLPARSE, 83),
    MEGA_MISSING_CODE(CLI$K_DISPATCH, 84),
    MEGA_MISSING_CODE(CLI$K_NEXTQUAL, 85),
};

#endif
