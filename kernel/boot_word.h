/* Words of the command line that the console passes on. Pure: builds for the host. */
#ifndef KERNEL_BOOT_WORD_H
#define KERNEL_BOOT_WORD_H

#include "kernel/base/types.h"

/* Is the word "name" or "name=..." on the line (words are separated by blanks; the first one
   counts)? With value not NULL, what is behind the equals sign, or nothing, goes there with a NUL,
   `size` bytes in all. False, and nothing written: the word is not there, or the value is too long.
   Any IPL. */
bool boot_word(const char *line, const char *name, char *value, size_t size);

#endif
