/*
 * Some stress programs are also run beside each other (userland/tests/soak.c). Then what the whole
 * system has in use is not one program's doing: it compares only what is its own.
 */
#ifndef COMPANY_H
#define COMPANY_H

#include <stdbool.h>
#include <stdlib.h>

static inline bool in_company(void) { return getenv("IN_COMPANY") != 0; }

#endif
