/*
 * The kernel's symbol table, which the build generates from the linked image: functions in address
 * order. It is constant, so it may be read in a panic.
 */
#ifndef KERNEL_BASE_SYMBOLS_H
#define KERNEL_BASE_SYMBOLS_H

#include "kernel/base/types.h"

struct ksym {
    uint64_t addr;
    uint32_t name_offset; /* into ksym_names */
    uint32_t pad;
};

/* The counts are small, but not in the small data near GP: the compiler must know. */
#define KSYMS_SECTION __attribute__((section(".ksyms")))

extern const struct ksym ksym_table[];
extern const uint64_t ksym_count KSYMS_SECTION;
extern const char ksym_names[];
/* Where the text of each source file begins, in address order. */
extern const struct ksym kmodule_table[];
extern const uint64_t kmodule_count KSYMS_SECTION;

/* The name of the function that contains address and, in *offset, the offset from its start. NULL
   for an address outside the kernel's text. */
const char *symbol_find(uint64_t address, uint64_t *offset);
/* The source file of the code at address, as a path relative to the top of the source tree
   ("mm/pool/pool_var.c"), or the name of a file of the compiler's library. NULL for an address
   outside the kernel's text. */
const char *symbol_module(uint64_t address);

#endif
