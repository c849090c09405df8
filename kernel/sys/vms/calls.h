/* The system services, as the table calls them. The arguments have the order of the prototypes in
   userland/lib/include/starlet.h; block is the address of an argument block in user memory
   (kernel/base/abi/megalith/services.h). The results are condition values, listed in
   docs/condition-values.md. IPL 0, no locks; may wait. */
#ifndef KERNEL_SYS_VMS_CALLS_H
#define KERNEL_SYS_VMS_CALLS_H

#include "kernel/sys/syscall.h"

cond_t vms_create_region_64(uint64_t block);
cond_t vms_delete_region_64(uint64_t id_in, uint64_t acmode, uint64_t va_out, uint64_t length_out);
cond_t vms_get_region_info(uint64_t block);
cond_t vms_create_gdzro(uint64_t block);
cond_t vms_crmpsc_gdzro_64(uint64_t block);
cond_t vms_mgblsc_64(uint64_t block);
cond_t vms_deltva_64(uint64_t id_in, uint64_t start, uint64_t length, uint64_t acmode,
                     uint64_t va_out, uint64_t length_out);
cond_t vms_dgblsc(uint64_t flags, uint64_t name, uint64_t ident);
cond_t vms_getjpi(uint64_t block);
cond_t vms_getsyi(uint64_t block);
cond_t vms_setprv(uint64_t enbflg, uint64_t prvadr, uint64_t prmflg, uint64_t prvprv);
cond_t vms_create_gpfn(uint64_t block);
cond_t vms_crmpsc_gpfn_64(uint64_t block);
cond_t vms_mgblsc_gpfn_64(uint64_t block);
cond_t vms_create_gpfile(uint64_t name, uint64_t ident, uint64_t prot, uint64_t length,
                         uint64_t acmode, uint64_t flags_in);
cond_t vms_crmpsc_gpfile_64(uint64_t block);
cond_t vms_cretva_64(uint64_t block);
cond_t vms_expreg_64(uint64_t id_in, uint64_t length, uint64_t acmode, uint64_t flags,
                     uint64_t va_out, uint64_t length_out);
cond_t vms_setprt_64(uint64_t block);
cond_t vms_lckpag_64(uint64_t start, uint64_t length, uint64_t acmode, uint64_t va_out,
                     uint64_t length_out);
cond_t vms_ulkpag_64(uint64_t start, uint64_t length, uint64_t acmode, uint64_t va_out,
                     uint64_t length_out);
cond_t vms_crelnm(uint64_t attr, uint64_t tabnam, uint64_t lognam, uint64_t acmode,
                  uint64_t itmlst);
cond_t vms_crelnt(uint64_t block);
cond_t vms_dellnm(uint64_t tabnam, uint64_t lognam, uint64_t acmode);
cond_t vms_trnlnm(uint64_t attr, uint64_t tabnam, uint64_t lognam, uint64_t acmode,
                  uint64_t itmlst);
cond_t vms_setef(uint64_t efn);
cond_t vms_clref(uint64_t efn);
cond_t vms_readef(uint64_t efn, uint64_t state);
cond_t vms_waitfr(uint64_t efn);
cond_t vms_wflor(uint64_t efn, uint64_t mask);
cond_t vms_wfland(uint64_t efn, uint64_t mask);
cond_t vms_synch(uint64_t efn, uint64_t iosb);
cond_t vms_ascefc(uint64_t efn, uint64_t name, uint64_t prot, uint64_t perm);
cond_t vms_dacefc(uint64_t efn);
cond_t vms_dlcefc(uint64_t name);
cond_t vms_dclast(uint64_t astadr, uint64_t astprm, uint64_t acmode);
cond_t vms_setast(uint64_t enbflg);
cond_t vms_clrast(void);
cond_t vms_setimr(uint64_t efn, uint64_t daytim, uint64_t astadr, uint64_t reqidt, uint64_t flags);
cond_t vms_cantim(uint64_t reqidt, uint64_t acmode);
cond_t vms_schdwk(uint64_t pidadr, uint64_t prcnam, uint64_t daytim, uint64_t reptim);
cond_t vms_canwak(uint64_t pidadr, uint64_t prcnam);
cond_t vms_hiber(void);
cond_t vms_wake(uint64_t pidadr, uint64_t prcnam);
cond_t vms_assign(uint64_t devnam, uint64_t chan, uint64_t acmode, uint64_t mbxnam, uint64_t flags);
cond_t vms_dassgn(uint64_t chan);
cond_t vms_cancel(uint64_t chan);
cond_t vms_crembx(uint64_t block);
cond_t vms_delmbx(uint64_t chan);
cond_t vms_qio(uint64_t block);
cond_t vms_getdvi(uint64_t block);
cond_t mega_sys_file_channel(uint64_t fd, uint64_t chan);
cond_t vms_create_bufobj_64(uint64_t block);
cond_t vms_delete_bufobj(uint64_t handle_in);
cond_t vms_io_setup(uint64_t func, uint64_t bufobj, uint64_t iosobj, uint64_t astadr,
                    uint64_t flags, uint64_t fandle_out);
cond_t vms_io_perform(uint64_t fandle, uint64_t chan, uint64_t iosadr, uint64_t bufadr,
                      uint64_t buflen, uint64_t devdata);
cond_t vms_io_cleanup(uint64_t fandle);
cond_t vms_delprc(uint64_t pidadr, uint64_t prcnam);
cond_t vms_suspnd(uint64_t pidadr, uint64_t prcnam);
cond_t vms_resume(uint64_t pidadr, uint64_t prcnam);
cond_t vms_forcex(uint64_t pidadr, uint64_t prcnam, uint64_t code);
cond_t vms_setprn(uint64_t prcnam);
cond_t vms_setpri(uint64_t pidadr, uint64_t prcnam, uint64_t pri, uint64_t prvpri, uint64_t pol,
                  uint64_t prvpol);
cond_t vms_creprc(uint64_t block);
cond_t mega_sys_final_status(uint64_t status);
cond_t mega_sys_exit_routine(uint64_t address);
cond_t mega_sys_ast_return(uint64_t address, uint64_t hold);
cond_t mega_sys_ast_exit(void);
cond_t mega_sys_logical(uint64_t tabnam, uint64_t index, uint64_t translation, uint64_t buffer);

/* Boot: the item MEGA_INFO_CALL. */
void vms_names_boot(void);
/* Boot: kinds of pool blocks (census.c). After the pools. */
void vms_census_boot(void);

#endif
