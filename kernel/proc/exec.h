/* Arguments of a new program, collected in kernel pages, and the start itself. Inside kernel/proc.
 */
#ifndef KERNEL_PROC_EXEC_H
#define KERNEL_PROC_EXEC_H

#include "kernel/base/types.h"

#define EXEC_ARG_PAGES \
    32 /* 256 KiB: twice what POSIX programs may count on from Linux's old limit */

struct exec_args {
    unsigned argc, envc;
    size_t bytes;                  /* of all strings, argv's then envp's, with their NULs */
    size_t path_at;                /* set by exec_program */
    uint8_t *page[EXEC_ARG_PAGES]; /* in KSEG; taken as needed */
};

void exec_args_init(struct exec_args *a);
void exec_args_free(struct exec_args *a);
/* Append a kernel string; the caller counts it in argc or envc. 0, -E2BIG, -ENOMEM. */
int exec_args_add(struct exec_args *a, const char *text);
/* Make the current process run the program at path. 0, or negative errno and nothing has changed.
 */
int exec_program(const char *path, struct exec_args *a);

#endif
