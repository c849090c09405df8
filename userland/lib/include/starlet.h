/*
 * Prototypes of the system services. Each is a function that takes all arguments. A macro of the
 * same name lets callers omit optional arguments at the end, for which it passes 0. A call with too
 * few or too many arguments does not compile.
 */
#ifndef STARLET_H
#define STARLET_H

#include <gen64def.h>
#include <ints.h>
#include <megalith/info.h>
#include <megalith/iosb.h>
#include <megalith/missing_services.h>
#include <prvdef.h>
#include <rtl/event.h>
#include <rtl/fao.h>
#include <rtl/handler.h>
#include <rtl/message.h>
#include <rtl/optional.h>
#include <rtl/process.h>
#include <rtl/qio.h>
#include <rtl/time.h>
#include <secdef.h>
#include <seciddef.h>

#ifdef __cplusplus
extern "C" {
#endif

int sys$create_region_64(unsigned __int64 length_64, unsigned int region_prot, unsigned int flags,
                         struct _generic_64 *return_region_id_64, void **return_va_64,
                         unsigned __int64 *return_length_64, void *start_va_64);
int sys$delete_region_64(struct _generic_64 *region_id_64, unsigned int acmode, void **return_va_64,
                         unsigned __int64 *return_length_64);
int sys$get_region_info(unsigned int function_code, struct _generic_64 *region_id_64,
                        void *start_va_64, void *reserved, unsigned __int64 buffer_length,
                        void *buffer_address_64, unsigned __int64 *return_length_64);
int sys$create_gdzro(void *gs_name_64, struct _secid *ident_64, unsigned int prot,
                     unsigned __int64 length_64, unsigned int acmode, unsigned int flags,
                     unsigned __int64 *reserved_length_64, unsigned __int64 rad_mask);
int sys$crmpsc_gdzro_64(void *gs_name_64, struct _secid *ident_64, unsigned int prot,
                        unsigned __int64 length_64, struct _generic_64 *region_id_64,
                        unsigned __int64 section_offset_64, unsigned int acmode, unsigned int flags,
                        void **return_va_64, unsigned __int64 *return_length_64, void *start_va_64,
                        unsigned __int64 map_length_64, unsigned __int64 *reserved_length_64,
                        unsigned __int64 rad_mask);
int sys$mgblsc_64(void *gs_name_64, struct _secid *ident_64, struct _generic_64 *region_id_64,
                  unsigned __int64 section_offset_64, unsigned __int64 length_64,
                  unsigned int acmode, unsigned int flags, void **return_va_64,
                  unsigned __int64 *return_length_64, void *start_va_64);
int sys$deltva_64(struct _generic_64 *region_id_64, void *start_va_64, unsigned __int64 length_64,
                  unsigned int acmode, void **return_va_64, unsigned __int64 *return_length_64);
int sys$cretva_64(struct _generic_64 *region_id_64, void *start_va_64, unsigned __int64 length_64,
                  unsigned int acmode, unsigned int flags, void **return_va_64,
                  unsigned __int64 *return_length_64);
int sys$expreg_64(struct _generic_64 *region_id_64, unsigned __int64 length_64, unsigned int acmode,
                  unsigned int flags, void **return_va_64, unsigned __int64 *return_length_64);
int sys$setprt_64(void *start_va_64, unsigned __int64 length_64, unsigned int acmode,
                  unsigned int prot, void **return_va_64, unsigned __int64 *return_length_64,
                  unsigned int *return_prot_64);
int sys$lckpag_64(void *start_va_64, unsigned __int64 length_64, unsigned int acmode,
                  void **return_va_64, unsigned __int64 *return_length_64);
int sys$ulkpag_64(void *start_va_64, unsigned __int64 length_64, unsigned int acmode,
                  void **return_va_64, unsigned __int64 *return_length_64);
int sys$dgblsc(unsigned int flags, void *gsdnam, struct _secid *ident);
int sys$getjpi(unsigned int efn, unsigned int *pidadr, void *prcnam, void *itmlst,
               struct _iosb *iosb, mega_ast_routine astadr, __int64 astprm);
int sys$getjpiw(unsigned int efn, unsigned int *pidadr, void *prcnam, void *itmlst,
                struct _iosb *iosb, mega_ast_routine astadr, __int64 astprm);
int sys$getsyi(unsigned int efn, unsigned int *csidadr, void *nodename, void *itmlst,
               struct _iosb *iosb, mega_ast_routine astadr, __int64 astprm);
int sys$getsyiw(unsigned int efn, unsigned int *csidadr, void *nodename, void *itmlst,
                struct _iosb *iosb, mega_ast_routine astadr, __int64 astprm);
int sys$setprv(char enbflg, void *prvadr, char prmflg, void *prvprv);
int sys$create_gpfn(void *gs_name_64, struct _secid *ident_64, unsigned int prot,
                    unsigned __int64 start_pfn, unsigned __int64 page_count, unsigned int acmode,
                    unsigned int flags);
int sys$crmpsc_gpfn_64(void *gs_name_64, struct _secid *ident_64, unsigned int prot,
                       unsigned __int64 start_pfn, unsigned __int64 page_count,
                       struct _generic_64 *region_id_64, unsigned __int64 relative_page,
                       unsigned int acmode, unsigned int flags, void **return_va_64,
                       unsigned __int64 *return_length_64, void *start_va_64,
                       unsigned __int64 map_page_count);
int sys$mgblsc_gpfn_64(void *gs_name_64, struct _secid *ident_64, struct _generic_64 *region_id_64,
                       unsigned __int64 relative_page, unsigned __int64 page_count,
                       unsigned int acmode, unsigned int flags, void **return_va_64,
                       unsigned __int64 *return_length_64, void *start_va_64);
int sys$create_gpfile(void *gs_name_64, struct _secid *ident_64, unsigned int prot,
                      unsigned __int64 length_64, unsigned int acmode, unsigned int flags);
int sys$crmpsc_gpfile_64(void *gs_name_64, struct _secid *ident_64, unsigned int prot,
                         unsigned __int64 length_64, struct _generic_64 *region_id_64,
                         unsigned __int64 section_offset_64, unsigned int acmode,
                         unsigned int flags, void **return_va_64,
                         unsigned __int64 *return_length_64, void *start_va_64,
                         unsigned __int64 map_length_64);

int sys$crelnm(unsigned int *attr, void *tabnam, void *lognam, unsigned char *acmode, void *itmlst);
int sys$crelnt(unsigned int *attr, void *resnam, unsigned short *reslen, unsigned int *quota,
               unsigned short *promsk, void *tabnam, void *partab, unsigned char *acmode,
               unsigned int uic);
int sys$dellnm(void *tabnam, void *lognam, unsigned char *acmode);
int sys$trnlnm(unsigned int *attr, void *tabnam, void *lognam, unsigned char *acmode, void *itmlst);

/* Lists the names of a logical name table one by one: see <megalith/info.h>. */
int mega$logical(void *table, __int64 index, __int64 translation, struct mega_logical *out);
/* Returns statistics and state of the kernel, as `show` displays them: see <megalith/info.h>. Not a
 * service of OpenVMS. */
int mega$info(unsigned int item, __int64 index, void *buffer, unsigned __int64 length);
/* Changes the running system or the calling process, mostly with privilege: see enum mega_control
 * in <megalith/info.h>. */
int mega$control(unsigned int operation, unsigned __int64 a1, unsigned __int64 a2,
                 unsigned __int64 a3, unsigned __int64 a4, unsigned __int64 a5);

#define sys$create_region_64(...) MEGA_UP_TO(7, sys$create_region_64, (0), __VA_ARGS__)
#define sys$create_gdzro(...)     MEGA_UP_TO(8, sys$create_gdzro, (0, 0), __VA_ARGS__)
#define sys$crmpsc_gdzro_64(...)  MEGA_UP_TO(14, sys$crmpsc_gdzro_64, (0, 0, 0, 0), __VA_ARGS__)
#define sys$mgblsc_64(...)        MEGA_UP_TO(10, sys$mgblsc_64, (0), __VA_ARGS__)
#define sys$crmpsc_gpfn_64(...)   MEGA_UP_TO(13, sys$crmpsc_gpfn_64, (0, 0), __VA_ARGS__)
#define sys$mgblsc_gpfn_64(...)   MEGA_UP_TO(10, sys$mgblsc_gpfn_64, (0), __VA_ARGS__)
#define sys$crmpsc_gpfile_64(...) MEGA_UP_TO(12, sys$crmpsc_gpfile_64, (0, 0), __VA_ARGS__)
#define sys$crelnt(...)           MEGA_UP_TO(9, sys$crelnt, (0, 0), __VA_ARGS__)

#ifdef __cplusplus
}
#endif

#endif
