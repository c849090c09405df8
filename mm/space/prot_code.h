/*
 * Page protection codes (PRT$C_*) and the access that they give to user mode. OSF/1 page tables
 * know kernel and user mode; here no code runs in executive or supervisor mode, and the kernel
 * touches user memory only on behalf of the user, so that what a code gives to the inner modes is
 * folded away. On Alpha readable pages are executable: a code has no bit for that. Pure; builds for
 * the host.
 */
#ifndef MM_SPACE_PROT_CODE_H
#define MM_SPACE_PROT_CODE_H

#include "kernel/base/types.h"

/* Access (MAP_*) for a code; false: no code has this number (1, or above 15). */
bool prot_of_code(uint32_t code, unsigned *prot);
/* The code for an access: PRT$C_NA, PRT$C_UR or PRT$C_UW. */
uint32_t prot_to_code(unsigned prot);

#endif
