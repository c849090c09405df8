/* Control of processes: stubs of the services. */
#include "service.h"

#include <rtl/process.h>

#undef sys$delprc
#undef sys$forcex
#undef sys$suspnd
#undef sys$resume
#undef sys$setprn

int sys$delprc(unsigned int *pidadr, void *prcnam, unsigned int flags)
{
    (void)flags; /* no exit handler is called */
    return service(VMS_DELPRC, (quad)pidadr, (quad)prcnam, 0, 0, 0, 0);
}

int sys$forcex(unsigned int *pidadr, void *prcnam, unsigned int code)
{
    return service(VMS_FORCEX, (quad)pidadr, (quad)prcnam, code, 0, 0, 0);
}

int sys$suspnd(unsigned int *pidadr, void *prcnam, unsigned int flags)
{
    (void)flags;
    return service(VMS_SUSPND, (quad)pidadr, (quad)prcnam, 0, 0, 0, 0);
}

int sys$resume(unsigned int *pidadr, void *prcnam)
{
    return service(VMS_RESUME, (quad)pidadr, (quad)prcnam, 0, 0, 0, 0);
}

int sys$setprn(void *prcnam) { return service(VMS_SETPRN, (quad)prcnam, 0, 0, 0, 0, 0); }
