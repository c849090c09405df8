/* Channels, mailboxes, terminals: stubs of the services. */
#include <efndef.h>
#include <megalith/devices.h>
#include <rtl/qio.h>
#include <va_rangedef.h>

#include "service.h"

#undef sys$assign
#undef sys$crembx
#undef sys$qio
#undef sys$qiow
#undef sys$getdvi
#undef sys$getdviw

int sys$assign(void *devnam, unsigned short *chan, unsigned int acmode, void *mbxnam,
               unsigned int flags)
{
    return service(VMS_ASSIGN, (quad)devnam, (quad)chan, acmode, (quad)mbxnam, flags, 0);
}

int sys$dassgn(unsigned short chan) { return service(VMS_DASSGN, chan, 0, 0, 0, 0, 0); }
int sys$cancel(unsigned short chan) { return service(VMS_CANCEL, chan, 0, 0, 0, 0, 0); }

int sys$crembx(char prmflg, unsigned short *chan, unsigned int maxmsg, unsigned int bufquo,
               unsigned int promsk, unsigned int acmode, void *lognam, unsigned int flags,
               unsigned int nullarg)
{
    return BLOCK(VMS_CREMBX, (quad)prmflg, (quad)chan, maxmsg, bufquo, promsk, acmode, (quad)lognam,
                 flags, nullarg);
}

int sys$delmbx(unsigned short chan) { return service(VMS_DELMBX, chan, 0, 0, 0, 0, 0); }

/* The first parameter of IO$_SETMODE is an AST routine, whose return address the kernel must
 * know. */
static quad first_parameter(unsigned int func, void *p1)
{
    const unsigned int attention = IO$M_READATTN | IO$M_WRTATTN | IO$M_MB_ROOM_NOTIFY;

    return (func & IO$M_FCODE) == IO$_SETMODE && (func & attention)
               ? ast_routine((mega_ast_routine)(quad)p1)
               : (quad)p1;
}

int sys$qio(unsigned int efn, unsigned short chan, unsigned int func, struct _iosb *iosb,
            mega_ast_routine astadr, unsigned __int64 astprm, void *p1, __int64 p2, __int64 p3,
            __int64 p4, __int64 p5, __int64 p6)
{
    return BLOCK(VMS_QIO, efn, chan, func, (quad)iosb, ast_routine(astadr), astprm,
                 first_parameter(func, p1), (quad)p2, (quad)p3, (quad)p4, (quad)p5, (quad)p6);
}

int sys$qiow(unsigned int efn, unsigned short chan, unsigned int func, struct _iosb *iosb,
             mega_ast_routine astadr, unsigned __int64 astprm, void *p1, __int64 p2, __int64 p3,
             __int64 p4, __int64 p5, __int64 p6)
{
    struct _iosb own = {0};
    int status;

    if (!iosb && efn == EFN$C_ENF) /* there must be something to wait by */
        iosb = &own;
    status = sys$qio(efn, chan, func, iosb, astadr, astprm, p1, p2, p3, p4, p5, p6);
    if (status & 1)
        (void)sys$synch(efn, iosb);
    return status;
}

int sys$create_bufobj_64(void *start_va_64, unsigned __int64 length_64, unsigned int acmode,
                         unsigned int flags, void **return_va_64,
                         unsigned __int64 *return_length_64, void *buffer_handle_64)
{
    return BLOCK(VMS_CREATE_BUFOBJ_64, (quad)start_va_64, length_64, acmode, flags,
                 (quad)return_va_64, (quad)return_length_64, (quad)buffer_handle_64);
}

int sys$create_bufobj(void *inadr, void *retadr, unsigned int acmode, unsigned int flags,
                      void *buffer_handle)
{
    const VA_RANGE *in = inadr;
    VA_RANGE *out = retadr;
    quad a = (quad)in->va_range$ps_start_va, b = (quad)in->va_range$ps_end_va;
    quad first = a < b ? a : b, last = a < b ? b : a;
    unsigned __int64 length;
    void *va;
    int status = sys$create_bufobj_64((void *)first, last - first + 1, acmode, flags, &va, &length,
                                      buffer_handle);

    if (retadr && (status & 1))
        *out = (VA_RANGE){va, (char *)va + length - 1};
    return status;
}

int sys$delete_bufobj(void *buffer_handle)
{
    return service(VMS_DELETE_BUFOBJ, (quad)buffer_handle, 0, 0, 0, 0, 0);
}

int sys$io_setup(unsigned int func, void *bufobj, void *iosobj, void *astadr,
                 unsigned __int64 flags, unsigned __int64 *return_fandle)
{
    return service(VMS_IO_SETUP, func, (quad)bufobj, (quad)iosobj,
                   ast_routine((mega_ast_routine)(quad)astadr), flags, (quad)return_fandle);
}

int sys$io_perform(unsigned __int64 fandle, unsigned short chan, struct _iosa *iosadr, void *bufadr,
                   unsigned __int64 buflen, unsigned __int64 devdata)
{
    return service(VMS_IO_PERFORM, fandle, chan, (quad)iosadr, (quad)bufadr, buflen, devdata);
}

int sys$io_performw(unsigned __int64 fandle, unsigned short chan, struct _iosa *iosadr,
                    void *bufadr, unsigned __int64 buflen, unsigned __int64 devdata)
{
    int status = sys$io_perform(fandle, chan, iosadr, bufadr, buflen, devdata);

    if (status & 1)
        (void)sys$synch(EFN$C_ENF, (struct _iosb *)iosadr);
    return status;
}

int sys$io_cleanup(unsigned __int64 fandle)
{
    return service(VMS_IO_CLEANUP, fandle, 0, 0, 0, 0, 0);
}

int sys$getdvi(unsigned int efn, unsigned short chan, void *devnam, void *itmlst,
               struct _iosb *iosb, mega_ast_routine astadr, unsigned __int64 astprm,
               unsigned __int64 nullarg)
{
    return BLOCK(VMS_GETDVI, efn, chan, (quad)devnam, (quad)itmlst, (quad)iosb, ast_routine(astadr),
                 astprm, nullarg);
}

int sys$getdviw(unsigned int efn, unsigned short chan, void *devnam, void *itmlst,
                struct _iosb *iosb, mega_ast_routine astadr, unsigned __int64 astprm,
                unsigned __int64 nullarg)
{
    return BLOCK(VMS_GETDVI, efn, chan, (quad)devnam, (quad)itmlst, (quad)iosb, ast_routine(astadr),
                 astprm, nullarg);
}
