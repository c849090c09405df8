/* Error numbers in words, for messages on the console. */
#ifndef KERNEL_BASE_ERROR_TEXT_H
#define KERNEL_BASE_ERROR_TEXT_H

/* The text of a (positive) error number, or NULL for one that the start of a program never returns.
   The text is constant. */
const char *error_text(int error);

#endif
