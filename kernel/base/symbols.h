/*
 * The kernel's symbol table, made by the build from the linked image: functions in address order.
 * Constant, so it may be read in a panic.
 */
#ifndef KERNEL_BASE_SYMBOLS_H
#define KERNEL_BASE_SYMBOLS_H

#include "kernel/base/types.h"

struct ksym {
    uint64_t addr;
    uint32_t name_offset; /* into ksym_names */
    uint32_t pad;
};

extern const struct ksym ksym_table[];
extern const uint64_t ksym_count;
extern const char ksym_names[];
/* Where the text of each source file begins, in address order. */
extern const struct ksym kmodule_table[];
extern const uint64_t kmodule_count;

/* Name of the function that address lies in, with the offset from its start; NULL outside the
 * kernel's text. */
const char *symbol_find(uint64_t address, uint64_t *offset);
/* The source file that the code at that address was compiled from, by its path from the top of the
 * sources ("mm/pool/pool_var.c"; a file of the compiler's library by its name); NULL outside the
 * kernel's text. */
const char *symbol_module(uint64_t address);

#endif
