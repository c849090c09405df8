/* Processes of the C library, which OpenVMS C declares here. */
#ifndef PROCESSES_H
#define PROCESSES_H

#include <stdlib.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#endif
