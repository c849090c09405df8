/* Control of processes: stubs of the services. */
#include "service.h"

#include <rtl/process.h>

#undef sys$delprc
#undef sys$forcex
#undef sys$suspnd
#undef sys$resume
#undef sys$setprn
#undef sys$setpri
#undef sys$creprc

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

int sys$setpri(unsigned int *pidadr, void *prcnam, unsigned int pri, unsigned int *prvpri,
               unsigned int *pol, unsigned int *prvpol)
{
    return service(VMS_SETPRI, (quad)pidadr, (quad)prcnam, pri, (quad)prvpri, (quad)pol,
                   (quad)prvpol);
}

int sys$creprc(unsigned int *pidadr, void *image, void *input, void *output, void *error,
               struct _generic_64 *prvadr, void *quota, void *prcnam, unsigned int baspri,
               unsigned int uic, unsigned short mbxunt, unsigned int stsflg, void *itmlst,
               void *node, unsigned int home_rad)
{
    return BLOCK(VMS_CREPRC, (quad)pidadr, (quad)image, (quad)input, (quad)output, (quad)error,
                 (quad)prvadr, (quad)quota, (quad)prcnam, baspri, uic, mbxunt, stsflg, (quad)itmlst,
                 (quad)node, home_rad);
}
