/* Input and output of the C library, which OpenVMS C declares here. */
#ifndef UNIXIO_H
#define UNIXIO_H

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#endif
