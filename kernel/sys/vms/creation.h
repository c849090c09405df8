/* $CREPRC: what its caller has given the new process to begin with. */
#ifndef KERNEL_SYS_VMS_CREATION_H
#define KERNEL_SYS_VMS_CREATION_H

#include "kernel/base/abi/megalith/creds.h"
#include "kernel/proc/create.h"
#include "kernel/proc/exec.h"

#define CREATION_NAME_MAX 255u /* bytes of the name of an image or file */

enum { CREATION_INPUT, CREATION_OUTPUT, CREATION_ERROR, CREATION_FILES };

struct creation { /* nonpaged pool */
    char image[CREATION_NAME_MAX + 1];
    char file[CREATION_FILES][CREATION_NAME_MAX + 1]; /* "": none given */
    struct exec_args args;
    struct mega_creds creds; /* of a detached process of another UIC */
    bool change_creds, keep_files, hibernate;
    bool abandoned; /* the service has failed: end at once */
};

/* A new structure, NULL: no memory. */
struct creation *creation_alloc(void);
void creation_free(struct creation *x);
/* The entry of the process's thread; arg is a struct creation, which it frees. */
void creation_start(void *arg);

#endif
