/* Flags of $ASSIGN (STARLET; docs/openvms.md). */
#ifndef AGNDEF_H
#define AGNDEF_H

#include <megalith/devices.h>

#endif
