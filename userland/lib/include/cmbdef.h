/* Flags of $CREMBX (STARLET; docs/openvms.md). */
#ifndef CMBDEF_H
#define CMBDEF_H

#include <megalith/missing.h>

enum {
    MEGA_MISSING_CODE(CMB$M_READONLY, 0x1),
    MEGA_MISSING_CODE(CMB$M_WRITEONLY, 0x2),
};

#endif
