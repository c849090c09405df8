/* The record management services, which are not implemented: files are those of POSIX. */
#ifndef RMS_H
#define RMS_H

#include <fabdef.h>
#include <namdef.h>
#include <rabdef.h>
#include <rmsdef.h>
#include <xabdef.h>

#endif
