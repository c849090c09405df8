/* System services by number (kernel/base/abi/megalith/services.h). Constant. */
#include "kernel/base/abi/megalith/info.h"
#include "kernel/base/abi/megalith/services.h"
#include "kernel/sys/vms/calls.h"

const struct syscall_entry vms_calls[VMS_CALLS] = {
    [VMS_CREATE_REGION_64 - VMS_FIRST] = {SERVICE(1, vms_create_region_64)},
    [VMS_DELETE_REGION_64 - VMS_FIRST] = {SERVICE(4, vms_delete_region_64)},
    [VMS_GET_REGION_INFO - VMS_FIRST] = {SERVICE(1, vms_get_region_info)},
    [VMS_CREATE_GDZRO - VMS_FIRST] = {SERVICE(1, vms_create_gdzro)},
    [VMS_CRMPSC_GDZRO_64 - VMS_FIRST] = {SERVICE(1, vms_crmpsc_gdzro_64)},
    [VMS_MGBLSC_64 - VMS_FIRST] = {SERVICE(1, vms_mgblsc_64)},
    [VMS_DELTVA_64 - VMS_FIRST] = {SERVICE(6, vms_deltva_64)},
    [VMS_DGBLSC - VMS_FIRST] = {SERVICE(3, vms_dgblsc)},
    [VMS_GETJPI - VMS_FIRST] = {SERVICE(1, vms_getjpi)},
    [VMS_GETSYI - VMS_FIRST] = {SERVICE(1, vms_getsyi)},
    [VMS_SETPRV - VMS_FIRST] = {SERVICE(4, vms_setprv)},
    [VMS_CREATE_GPFN - VMS_FIRST] = {SERVICE(1, vms_create_gpfn)},
    [VMS_CRMPSC_GPFN_64 - VMS_FIRST] = {SERVICE(1, vms_crmpsc_gpfn_64)},
    [VMS_MGBLSC_GPFN_64 - VMS_FIRST] = {SERVICE(1, vms_mgblsc_gpfn_64)},
    [VMS_CREATE_GPFILE - VMS_FIRST] = {SERVICE(6, vms_create_gpfile)},
    [VMS_CRMPSC_GPFILE_64 - VMS_FIRST] = {SERVICE(1, vms_crmpsc_gpfile_64)},
    [VMS_CRETVA_64 - VMS_FIRST] = {SERVICE(1, vms_cretva_64)},
    [VMS_EXPREG_64 - VMS_FIRST] = {SERVICE(6, vms_expreg_64)},
    [VMS_SETPRT_64 - VMS_FIRST] = {SERVICE(1, vms_setprt_64)},
    [VMS_LCKPAG_64 - VMS_FIRST] = {SERVICE(5, vms_lckpag_64)},
    [VMS_ULKPAG_64 - VMS_FIRST] = {SERVICE(5, vms_ulkpag_64)},
    [VMS_CRELNM - VMS_FIRST] = {SERVICE(5, vms_crelnm)},
    [VMS_CRELNT - VMS_FIRST] = {SERVICE(1, vms_crelnt)},
    [VMS_DELLNM - VMS_FIRST] = {SERVICE(3, vms_dellnm)},
    [VMS_TRNLNM - VMS_FIRST] = {SERVICE(5, vms_trnlnm)},
    [MEGA_SYS_LOGICAL - VMS_FIRST] = {SERVICE(4, mega_sys_logical)},
    [MEGA_SYS_INFO - VMS_FIRST] = {SERVICE(4, mega_sys_info)},
    [MEGA_SYS_CONTROL - VMS_FIRST] = {SERVICE(6, mega_sys_control)},
};
