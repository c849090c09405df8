/*
 * The kernel and the programs of a run, as ELF files: which function an address is in.
 */
#ifndef IMAGES_H
#define IMAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct image;

struct function {
    uint64_t address;
    const char *name;
    const struct image *image;
};

extern const struct function function_pal, function_unknown;

/* Add the file at `path`, whose functions are shown below `label`; the kernel's comes first. False:
 * there are too many. Ends QEMU where the file cannot be read. Keeps label. */
bool image_add(const char *label, const char *path);
bool image_added(void);

/* The function of n instructions at an address; programs lie at the same addresses, so the
 * instructions decide. Where two programs have the same ones (both have the same C library there)
 * that of `before`, the code before, is preferred; NULL: unknown. */
const struct function *function_find(uint64_t address, const uint32_t *code, size_t n,
                                     const struct function *before);

/* The label of the program that a function belongs to. */
const char *function_label(const struct function *f);
bool function_of_kernel(const struct function *f);

/* Is it an address of the kernel, or of PALcode? */
static inline bool is_kernel(uint64_t address) { return address >> 63; }

/* The memory, or the end of QEMU where there was none. */
void *need(void *memory);

#endif
