/*
 * Stubs of the system services: the VMS system call interface (docs/architecture.md). The arguments
 * of a service with at most six are passed in registers. For a service with more, the stub passes
 * the address of an argument block whose first quadword is the number of arguments.
 */
#include <condition.h>
#include <megalith/services.h>
#include <starlet.h>

#include "process_scan.h"
#include "service.h"

#undef sys$create_region_64
#undef sys$create_gdzro
#undef sys$crmpsc_gdzro_64
#undef sys$mgblsc_64
#undef sys$crmpsc_gpfn_64
#undef sys$mgblsc_gpfn_64
#undef sys$crmpsc_gpfile_64
#undef sys$crelnt

void (*mega$service_hook)(const char *service, int status);

int sys$create_region_64(unsigned __int64 length_64, unsigned int region_prot, unsigned int flags,
                         struct _generic_64 *return_region_id_64, void **return_va_64,
                         unsigned __int64 *return_length_64, void *start_va_64)
{
    return BLOCK(VMS_CREATE_REGION_64, length_64, region_prot, flags, (quad)return_region_id_64,
                 (quad)return_va_64, (quad)return_length_64, (quad)start_va_64);
}

int sys$delete_region_64(struct _generic_64 *region_id_64, unsigned int acmode, void **return_va_64,
                         unsigned __int64 *return_length_64)
{
    return service(VMS_DELETE_REGION_64, (quad)region_id_64, acmode, (quad)return_va_64,
                   (quad)return_length_64, 0, 0);
}

int sys$get_region_info(unsigned int function_code, struct _generic_64 *region_id_64,
                        void *start_va_64, void *reserved, unsigned __int64 buffer_length,
                        void *buffer_address_64, unsigned __int64 *return_length_64)
{
    return BLOCK(VMS_GET_REGION_INFO, function_code, (quad)region_id_64, (quad)start_va_64,
                 (quad)reserved, buffer_length, (quad)buffer_address_64, (quad)return_length_64);
}

int sys$create_gdzro(void *gs_name_64, struct _secid *ident_64, unsigned int prot,
                     unsigned __int64 length_64, unsigned int acmode, unsigned int flags,
                     unsigned __int64 *reserved_length_64, unsigned __int64 rad_mask)
{
    return BLOCK(VMS_CREATE_GDZRO, (quad)gs_name_64, (quad)ident_64, prot, length_64, acmode, flags,
                 (quad)reserved_length_64, rad_mask);
}

int sys$crmpsc_gdzro_64(void *gs_name_64, struct _secid *ident_64, unsigned int prot,
                        unsigned __int64 length_64, struct _generic_64 *region_id_64,
                        unsigned __int64 section_offset_64, unsigned int acmode, unsigned int flags,
                        void **return_va_64, unsigned __int64 *return_length_64, void *start_va_64,
                        unsigned __int64 map_length_64, unsigned __int64 *reserved_length_64,
                        unsigned __int64 rad_mask)
{
    return BLOCK(VMS_CRMPSC_GDZRO_64, (quad)gs_name_64, (quad)ident_64, prot, length_64,
                 (quad)region_id_64, section_offset_64, acmode, flags, (quad)return_va_64,
                 (quad)return_length_64, (quad)start_va_64, map_length_64, (quad)reserved_length_64,
                 rad_mask);
}

int sys$mgblsc_64(void *gs_name_64, struct _secid *ident_64, struct _generic_64 *region_id_64,
                  unsigned __int64 section_offset_64, unsigned __int64 length_64,
                  unsigned int acmode, unsigned int flags, void **return_va_64,
                  unsigned __int64 *return_length_64, void *start_va_64)
{
    return BLOCK(VMS_MGBLSC_64, (quad)gs_name_64, (quad)ident_64, (quad)region_id_64,
                 section_offset_64, length_64, acmode, flags, (quad)return_va_64,
                 (quad)return_length_64, (quad)start_va_64);
}

int sys$deltva_64(struct _generic_64 *region_id_64, void *start_va_64, unsigned __int64 length_64,
                  unsigned int acmode, void **return_va_64, unsigned __int64 *return_length_64)
{
    return service(VMS_DELTVA_64, (quad)region_id_64, (quad)start_va_64, length_64, acmode,
                   (quad)return_va_64, (quad)return_length_64);
}

int sys$cretva_64(struct _generic_64 *region_id_64, void *start_va_64, unsigned __int64 length_64,
                  unsigned int acmode, unsigned int flags, void **return_va_64,
                  unsigned __int64 *return_length_64)
{
    return BLOCK(VMS_CRETVA_64, (quad)region_id_64, (quad)start_va_64, length_64, acmode, flags,
                 (quad)return_va_64, (quad)return_length_64);
}

int sys$expreg_64(struct _generic_64 *region_id_64, unsigned __int64 length_64, unsigned int acmode,
                  unsigned int flags, void **return_va_64, unsigned __int64 *return_length_64)
{
    return service(VMS_EXPREG_64, (quad)region_id_64, length_64, acmode, flags, (quad)return_va_64,
                   (quad)return_length_64);
}

int sys$setprt_64(void *start_va_64, unsigned __int64 length_64, unsigned int acmode,
                  unsigned int prot, void **return_va_64, unsigned __int64 *return_length_64,
                  unsigned int *return_prot_64)
{
    return BLOCK(VMS_SETPRT_64, (quad)start_va_64, length_64, acmode, prot, (quad)return_va_64,
                 (quad)return_length_64, (quad)return_prot_64);
}

int sys$lckpag_64(void *start_va_64, unsigned __int64 length_64, unsigned int acmode,
                  void **return_va_64, unsigned __int64 *return_length_64)
{
    return service(VMS_LCKPAG_64, (quad)start_va_64, length_64, acmode, (quad)return_va_64,
                   (quad)return_length_64, 0);
}

int sys$ulkpag_64(void *start_va_64, unsigned __int64 length_64, unsigned int acmode,
                  void **return_va_64, unsigned __int64 *return_length_64)
{
    return service(VMS_ULKPAG_64, (quad)start_va_64, length_64, acmode, (quad)return_va_64,
                   (quad)return_length_64, 0);
}

int sys$dgblsc(unsigned int flags, void *gsdnam, struct _secid *ident)
{
    return service(VMS_DGBLSC, flags, (quad)gsdnam, (quad)ident, 0, 0, 0);
}

int sys$getjpi(unsigned int efn, unsigned int *pidadr, void *prcnam, void *itmlst,
               struct _iosb *iosb, mega_ast_routine astadr, __int64 astprm)
{
    if (pidadr && mega$is_scan(pidadr))
        return mega$scan(efn, pidadr, itmlst, iosb, astadr, astprm);
    return BLOCK(VMS_GETJPI, efn, (quad)pidadr, (quad)prcnam, (quad)itmlst, (quad)iosb,
                 ast_routine(astadr), (quad)astprm);
}

int sys$getjpiw(unsigned int efn, unsigned int *pidadr, void *prcnam, void *itmlst,
                struct _iosb *iosb, mega_ast_routine astadr, __int64 astprm)
{
    if (pidadr && mega$is_scan(pidadr))
        return mega$scan(efn, pidadr, itmlst, iosb, astadr, astprm);
    return BLOCK(VMS_GETJPI, efn, (quad)pidadr, (quad)prcnam, (quad)itmlst, (quad)iosb,
                 ast_routine(astadr), (quad)astprm);
}

int sys$getsyi(unsigned int efn, unsigned int *csidadr, void *nodename, void *itmlst,
               struct _iosb *iosb, mega_ast_routine astadr, __int64 astprm)
{
    return BLOCK(VMS_GETSYI, efn, (quad)csidadr, (quad)nodename, (quad)itmlst, (quad)iosb,
                 ast_routine(astadr), (quad)astprm);
}

int sys$getsyiw(unsigned int efn, unsigned int *csidadr, void *nodename, void *itmlst,
                struct _iosb *iosb, mega_ast_routine astadr, __int64 astprm)
{
    return BLOCK(VMS_GETSYI, efn, (quad)csidadr, (quad)nodename, (quad)itmlst, (quad)iosb,
                 ast_routine(astadr), (quad)astprm);
}

int sys$setprv(char enbflg, void *prvadr, char prmflg, void *prvprv)
{
    return service(VMS_SETPRV, (quad)enbflg, (quad)prvadr, (quad)prmflg, (quad)prvprv, 0, 0);
}

int sys$create_gpfn(void *gs_name_64, struct _secid *ident_64, unsigned int prot,
                    unsigned __int64 start_pfn, unsigned __int64 page_count, unsigned int acmode,
                    unsigned int flags)
{
    return BLOCK(VMS_CREATE_GPFN, (quad)gs_name_64, (quad)ident_64, prot, start_pfn, page_count,
                 acmode, flags);
}

int sys$crmpsc_gpfn_64(void *gs_name_64, struct _secid *ident_64, unsigned int prot,
                       unsigned __int64 start_pfn, unsigned __int64 page_count,
                       struct _generic_64 *region_id_64, unsigned __int64 relative_page,
                       unsigned int acmode, unsigned int flags, void **return_va_64,
                       unsigned __int64 *return_length_64, void *start_va_64,
                       unsigned __int64 map_page_count)
{
    return BLOCK(VMS_CRMPSC_GPFN_64, (quad)gs_name_64, (quad)ident_64, prot, start_pfn, page_count,
                 (quad)region_id_64, relative_page, acmode, flags, (quad)return_va_64,
                 (quad)return_length_64, (quad)start_va_64, map_page_count);
}

int sys$mgblsc_gpfn_64(void *gs_name_64, struct _secid *ident_64, struct _generic_64 *region_id_64,
                       unsigned __int64 relative_page, unsigned __int64 page_count,
                       unsigned int acmode, unsigned int flags, void **return_va_64,
                       unsigned __int64 *return_length_64, void *start_va_64)
{
    return BLOCK(VMS_MGBLSC_GPFN_64, (quad)gs_name_64, (quad)ident_64, (quad)region_id_64,
                 relative_page, page_count, acmode, flags, (quad)return_va_64,
                 (quad)return_length_64, (quad)start_va_64);
}

int sys$create_gpfile(void *gs_name_64, struct _secid *ident_64, unsigned int prot,
                      unsigned __int64 length_64, unsigned int acmode, unsigned int flags)
{
    return service(VMS_CREATE_GPFILE, (quad)gs_name_64, (quad)ident_64, prot, length_64, acmode,
                   flags);
}

int sys$crmpsc_gpfile_64(void *gs_name_64, struct _secid *ident_64, unsigned int prot,
                         unsigned __int64 length_64, struct _generic_64 *region_id_64,
                         unsigned __int64 section_offset_64, unsigned int acmode,
                         unsigned int flags, void **return_va_64,
                         unsigned __int64 *return_length_64, void *start_va_64,
                         unsigned __int64 map_length_64)
{
    return BLOCK(VMS_CRMPSC_GPFILE_64, (quad)gs_name_64, (quad)ident_64, prot, length_64,
                 (quad)region_id_64, section_offset_64, acmode, flags, (quad)return_va_64,
                 (quad)return_length_64, (quad)start_va_64, map_length_64);
}

int sys$crelnm(unsigned int *attr, void *tabnam, void *lognam, unsigned char *acmode, void *itmlst)
{
    return service(VMS_CRELNM, (quad)attr, (quad)tabnam, (quad)lognam, (quad)acmode, (quad)itmlst,
                   0);
}

int sys$crelnt(unsigned int *attr, void *resnam, unsigned short *reslen, unsigned int *quota,
               unsigned short *promsk, void *tabnam, void *partab, unsigned char *acmode,
               unsigned int uic)
{
    return BLOCK(VMS_CRELNT, (quad)attr, (quad)resnam, (quad)reslen, (quad)quota, (quad)promsk,
                 (quad)tabnam, (quad)partab, (quad)acmode, uic);
}

int sys$dellnm(void *tabnam, void *lognam, unsigned char *acmode)
{
    return service(VMS_DELLNM, (quad)tabnam, (quad)lognam, (quad)acmode, 0, 0, 0);
}

int sys$trnlnm(unsigned int *attr, void *tabnam, void *lognam, unsigned char *acmode, void *itmlst)
{
    return service(VMS_TRNLNM, (quad)attr, (quad)tabnam, (quad)lognam, (quad)acmode, (quad)itmlst,
                   0);
}

int mega$logical(void *table, __int64 index, __int64 translation, struct mega_logical *out)
{
    return service(MEGA_SYS_LOGICAL, (quad)table, (quad)index, (quad)translation, (quad)out, 0, 0);
}

int mega$info(unsigned int item, __int64 index, void *buffer, unsigned __int64 length)
{
    return service(MEGA_SYS_INFO, item, (quad)index, (quad)buffer, length, 0, 0);
}

int mega$control(unsigned int operation, unsigned __int64 a1, unsigned __int64 a2,
                 unsigned __int64 a3, unsigned __int64 a4, unsigned __int64 a5)
{
    return service(MEGA_SYS_CONTROL, operation, a1, a2, a3, a4, a5);
}
