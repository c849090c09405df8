/* Words of the kernel command line. Independent of the machine: also built for the host. */
#ifndef KERNEL_BOOT_WORD_H
#define KERNEL_BOOT_WORD_H

#include "kernel/base/types.h"

/* Is the word "name" or "name=..." on the line (words are separated by blanks; the first match
   counts)? If value is not NULL, it receives the text after the equals sign, or the empty string,
   NUL-terminated; `size` is the size of the buffer in bytes. Returns false, with nothing written,
   if the word is missing or its value does not fit. Any IPL. */
bool boot_word(const char *line, const char *name, char *value, size_t size);

#endif
