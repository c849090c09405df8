/*
 * Page protection codes (PRT$C_*) and the access that they give to user mode. OSF/1 page tables
 * distinguish kernel and user mode only. No code runs in executive or supervisor mode here, and the
 * kernel accesses user memory only on behalf of the user, so what a code gives to the inner modes
 * is ignored. Readable pages are executable on OpenVMS Alpha: a code has no bit for that. Depends
 * on nothing of the machine.
 */
#ifndef MM_SPACE_PROT_CODE_H
#define MM_SPACE_PROT_CODE_H

#include "kernel/base/types.h"

/* Store the access (MAP_*) that a code gives. False: there is no such code (1, or above 15). */
bool prot_of_code(uint32_t code, unsigned *prot);
/* The code for an access (MAP_*): PRT$C_NA, PRT$C_UR or PRT$C_UW. */
uint32_t prot_to_code(unsigned prot);

#endif
