/* Lines that somebody types at a prompt, by the keys of OpenVMS. */
#pragma once

#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

/* Reads a line of standard input as getline does, into *line of *size bytes (malloc'ed, or NULL and
 * 0), without its end. prompt: printed if standard input is a terminal. There ^Z means the end of
 * input, as on OpenVMS, and does not suspend the program; so does ^D, where the line is empty.
 * Returns the number of bytes, or -1 at the end of input and on errors. */
ssize_t mega$prompt_line(const char *prompt, char **line, size_t *size);
