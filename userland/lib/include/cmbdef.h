/* Flags of $CREMBX (STARLET; docs/openvms.md). */
#ifndef CMBDEF_H
#define CMBDEF_H

#include <megalith/devices.h>

#endif
