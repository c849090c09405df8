/* Flags of $CREATE_BUFOBJ_64. */
#ifndef CBODEF_H
#define CBODEF_H

#include <megalith/fast_io.h>

#endif
