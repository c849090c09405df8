/* The second door: number to service. */
#include "kernel/base/abi/megalith/info.h"
#include "kernel/base/abi/megalith/services.h"
#include "kernel/sys/vms/calls.h"

#define SERVICE(number, function) [(number) - VMS_FIRST] = {.fn = (function)}

const struct syscall_entry vms_calls[VMS_CALLS] = {
    SERVICE(VMS_CREATE_REGION_64, vms_create_region_64),
    SERVICE(VMS_DELETE_REGION_64, vms_delete_region_64),
    SERVICE(VMS_GET_REGION_INFO, vms_get_region_info),
    SERVICE(VMS_CREATE_GDZRO, vms_create_gdzro),
    SERVICE(VMS_CRMPSC_GDZRO_64, vms_crmpsc_gdzro_64),
    SERVICE(VMS_MGBLSC_64, vms_mgblsc_64),
    SERVICE(VMS_DELTVA_64, vms_deltva_64),
    SERVICE(VMS_DGBLSC, vms_dgblsc),
    SERVICE(VMS_GETJPI, vms_getjpi),
    SERVICE(VMS_GETSYI, vms_getsyi),
    SERVICE(VMS_SETPRV, vms_setprv),
    SERVICE(VMS_CREATE_GPFN, vms_create_gpfn),
    SERVICE(VMS_CRMPSC_GPFN_64, vms_crmpsc_gpfn_64),
    SERVICE(VMS_MGBLSC_GPFN_64, vms_mgblsc_gpfn_64),
    SERVICE(VMS_CREATE_GPFILE, vms_create_gpfile),
    SERVICE(VMS_CRMPSC_GPFILE_64, vms_crmpsc_gpfile_64),
    SERVICE(VMS_CRETVA_64, vms_cretva_64),
    SERVICE(VMS_EXPREG_64, vms_expreg_64),
    SERVICE(VMS_SETPRT_64, vms_setprt_64),
    SERVICE(VMS_LCKPAG_64, vms_lckpag_64),
    SERVICE(VMS_ULKPAG_64, vms_ulkpag_64),
    SERVICE(VMS_CRELNM, vms_crelnm),
    SERVICE(VMS_CRELNT, vms_crelnt),
    SERVICE(VMS_DELLNM, vms_dellnm),
    SERVICE(VMS_TRNLNM, vms_trnlnm),
    SERVICE(MEGA_SYS_LOGICAL, mega_sys_logical),
    SERVICE(MEGA_SYS_INFO, mega_sys_info),
    SERVICE(MEGA_SYS_CONTROL, mega_sys_control),
};
