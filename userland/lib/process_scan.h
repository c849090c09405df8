/* Contexts of $PROCESS_SCAN, for the stubs of $GETJPI. */
#ifndef PROCESS_SCAN_H
#define PROCESS_SCAN_H

#include <starlet.h>
#include <stdbool.h>

/* Is there a context that *pidadr names? While there are none, pidadr is not looked at. */
bool mega$is_scan(const unsigned int *pidadr);
/* $GETJPI on the next process that the context selects. SS$_NOMOREPROC: there is none, and the
 * context is gone, or was deleted by another thread. */
int mega$scan(unsigned int efn, const unsigned int *pidadr, void *itmlst, struct _iosb *iosb,
              mega_ast_routine astadr, __int64 astprm);

#endif
