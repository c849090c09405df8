/* The system services, as the table calls them: arguments as kernel/base/abi/megalith/services.h
 * says, result a condition value. */
#ifndef KERNEL_SYS_VMS_CALLS_H
#define KERNEL_SYS_VMS_CALLS_H

#include "kernel/sys/syscall.h"

#define VMS_CALL(name) long name(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t)

VMS_CALL(vms_create_region_64);
VMS_CALL(vms_delete_region_64);
VMS_CALL(vms_get_region_info);
VMS_CALL(vms_create_gdzro);
VMS_CALL(vms_crmpsc_gdzro_64);
VMS_CALL(vms_mgblsc_64);
VMS_CALL(vms_deltva_64);
VMS_CALL(vms_dgblsc);
VMS_CALL(vms_getjpi);
VMS_CALL(vms_getsyi);
VMS_CALL(vms_setprv);
VMS_CALL(vms_create_gpfn);
VMS_CALL(vms_crmpsc_gpfn_64);
VMS_CALL(vms_mgblsc_gpfn_64);
VMS_CALL(vms_create_gpfile);
VMS_CALL(vms_crmpsc_gpfile_64);
VMS_CALL(vms_cretva_64);
VMS_CALL(vms_expreg_64);
VMS_CALL(vms_setprt_64);
VMS_CALL(vms_lckpag_64);
VMS_CALL(vms_ulkpag_64);
VMS_CALL(vms_crelnm);
VMS_CALL(vms_crelnt);
VMS_CALL(vms_dellnm);
VMS_CALL(vms_trnlnm);
VMS_CALL(mega_sys_logical);
VMS_CALL(mega_sys_info);
VMS_CALL(mega_sys_control);

#endif
