/*
 * Channels, mailboxes, terminals. As on OpenVMS, the parameters p1 to p6 are addresses or numbers,
 * whatever the function needs, and a status block may be any quadword; so these macros convert
 * them.
 */
#ifndef RTL_QIO_H
#define RTL_QIO_H

#include <ints.h>
#include <iosadef.h>
#include <megalith/iosb.h>
#include <rtl/event.h>
#include <rtl/optional.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A channel to the device that a name leads to. flags: AGN$M_READONLY or AGN$M_WRITEONLY. */
int sys$assign(void *devnam, unsigned short *chan, unsigned int acmode, void *mbxnam,
               unsigned int flags);
int sys$dassgn(unsigned short chan);
/* Ends the requests of a channel, with SS$_CANCEL. */
int sys$cancel(unsigned short chan);
/* Makes a mailbox, or finds the one that a logical name leads to. flags: CMB$M_READONLY or
 * CMB$M_WRITEONLY. */
int sys$crembx(char prmflg, unsigned short *chan, unsigned int maxmsg, unsigned int bufquo,
               unsigned int promsk, unsigned int acmode, void *lognam, unsigned int flags,
               unsigned int nullarg);
int sys$delmbx(unsigned short chan);
int sys$qio(unsigned int efn, unsigned short chan, unsigned int func, struct _iosb *iosb,
            mega_ast_routine astadr, unsigned __int64 astprm, void *p1, __int64 p2, __int64 p3,
            __int64 p4, __int64 p5, __int64 p6);
/* The same, and waits until the request is complete. */
int sys$qiow(unsigned int efn, unsigned short chan, unsigned int func, struct _iosb *iosb,
             mega_ast_routine astadr, unsigned __int64 astprm, void *p1, __int64 p2, __int64 p3,
             __int64 p4, __int64 p5, __int64 p6);
int sys$getdvi(unsigned int efn, unsigned short chan, void *devnam, void *itmlst,
               struct _iosb *iosb, mega_ast_routine astadr, unsigned __int64 astprm,
               unsigned __int64 nullarg);
int sys$getdviw(unsigned int efn, unsigned short chan, void *devnam, void *itmlst,
                struct _iosb *iosb, mega_ast_routine astadr, unsigned __int64 astprm,
                unsigned __int64 nullarg);

/* Buffer objects and Fast I/O. */
int sys$create_bufobj_64(void *start_va_64, unsigned __int64 length_64, unsigned int acmode,
                         unsigned int flags, void **return_va_64,
                         unsigned __int64 *return_length_64, void *buffer_handle_64);
/* The same for a pair of pointers, to the first and the last byte. */
int sys$create_bufobj(void *inadr, void *retadr, unsigned int acmode, unsigned int flags,
                      void *buffer_handle);
int sys$delete_bufobj(void *buffer_handle);
/* astadr gets the address of the status area. */
int sys$io_setup(unsigned int func, void *bufobj, void *iosobj, void *astadr,
                 unsigned __int64 flags, unsigned __int64 *return_fandle);
int sys$io_perform(unsigned __int64 fandle, unsigned short chan, struct _iosa *iosadr, void *bufadr,
                   unsigned __int64 buflen, unsigned __int64 devdata);
int sys$io_performw(unsigned __int64 fandle, unsigned short chan, struct _iosa *iosadr,
                    void *bufadr, unsigned __int64 buflen, unsigned __int64 devdata);
int sys$io_cleanup(unsigned __int64 fandle);

#define MEGA_QIO(f, rest, efn, chan, func, iosb, astadr, astprm, p1, p2, p3, p4, p5, p6, ...) \
    (f)(efn, chan, func, (struct _iosb *)(unsigned __int64)(iosb),                            \
        (mega_ast_routine)(unsigned __int64)(astadr), (unsigned __int64)(astprm),             \
        (void *)(unsigned __int64)(p1), (__int64)(p2), (__int64)(p3), (__int64)(p4),          \
        (__int64)(p5), (__int64)(p6)MEGA_AND rest)

#define sys$assign(...) MEGA_UP_TO(5, sys$assign, (0, 0, 0), __VA_ARGS__)
#define sys$crembx(...) MEGA_UP_TO(9, sys$crembx, (0, 0, 0, 0, 0, 0, 0), __VA_ARGS__)
#define sys$qio(...)                                                                              \
    MEGA_PASS(MEGA_QIO, sys$qio, (MEGA_BEHIND_12(__VA_ARGS__)), __VA_ARGS__, 0, 0, 0, 0, 0, 0, 0, \
              0, 0, 0)
#define sys$qiow(...)                                                                              \
    MEGA_PASS(MEGA_QIO, sys$qiow, (MEGA_BEHIND_12(__VA_ARGS__)), __VA_ARGS__, 0, 0, 0, 0, 0, 0, 0, \
              0, 0, 0)
#define sys$getdvi(...)  MEGA_UP_TO(8, sys$getdvi, (0, 0, 0, 0), __VA_ARGS__)
#define sys$getdviw(...) MEGA_UP_TO(8, sys$getdviw, (0, 0, 0, 0), __VA_ARGS__)

#ifdef __cplusplus
}
#endif

#endif
