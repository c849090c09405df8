/* The arguments of a new program, collected in kernel pages, and exec itself. Used inside
 * kernel/proc only. */
#ifndef KERNEL_PROC_EXEC_H
#define KERNEL_PROC_EXEC_H

#include "kernel/base/types.h"

/* 256 KiB: twice the 128 KiB that programs may rely on from old versions of Linux. */
#define EXEC_ARG_PAGES 32

struct exec_args {
    unsigned argc, envc;
    size_t bytes;                  /* of all strings, argv's and then envp's, with their NULs */
    size_t path_at;                /* offset of the path among the strings; set by exec_program */
    size_t env_at;                 /* offset of the first string of envp; set by exec_program */
    vaddr_t strings;               /* their address on the new stack; set by exec_program */
    uint8_t *page[EXEC_ARG_PAGES]; /* KSEG addresses; allocated as needed */
};

void exec_args_init(struct exec_args *a);
void exec_args_free(struct exec_args *a);
/* Append a copy of a kernel string; the caller increments argc or envc. 0, -E2BIG, -ENOMEM. On
 * error the caller still calls exec_args_free. */
int exec_args_add(struct exec_args *a, const char *text);
/* Replace the program of the current process, which has one thread, by the one at path. The
 * caller frees a in any case. 0, or a negative errno with the process unchanged. IPL 0, no
 * locks; waits. */
int exec_program(const char *path, struct exec_args *a);

#endif
