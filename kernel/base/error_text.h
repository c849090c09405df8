/* Error numbers in words, for messages on the console. */
#ifndef KERNEL_BASE_ERROR_TEXT_H
#define KERNEL_BASE_ERROR_TEXT_H

/* What a (positive) error number means; NULL for one that starting a program does not give. */
const char *error_text(int error);

#endif
