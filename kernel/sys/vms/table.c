/* The second door: number to service. */
#include "kernel/base/abi/megalith/info.h"
#include "kernel/base/abi/megalith/services.h"
#include "kernel/sys/vms/calls.h"

#define SERVICE(number, call) [(number) - VMS_FIRST] = {call}

const struct syscall_entry vms_calls[VMS_CALLS] = {
    SERVICE(VMS_CREATE_REGION_64, CALL1(vms_create_region_64)),
    SERVICE(VMS_DELETE_REGION_64, CALL4(vms_delete_region_64)),
    SERVICE(VMS_GET_REGION_INFO, CALL1(vms_get_region_info)),
    SERVICE(VMS_CREATE_GDZRO, CALL1(vms_create_gdzro)),
    SERVICE(VMS_CRMPSC_GDZRO_64, CALL1(vms_crmpsc_gdzro_64)),
    SERVICE(VMS_MGBLSC_64, CALL1(vms_mgblsc_64)),
    SERVICE(VMS_DELTVA_64, CALL6(vms_deltva_64)),
    SERVICE(VMS_DGBLSC, CALL3(vms_dgblsc)),
    SERVICE(VMS_GETJPI, CALL1(vms_getjpi)),
    SERVICE(VMS_GETSYI, CALL1(vms_getsyi)),
    SERVICE(VMS_SETPRV, CALL4(vms_setprv)),
    SERVICE(VMS_CREATE_GPFN, CALL1(vms_create_gpfn)),
    SERVICE(VMS_CRMPSC_GPFN_64, CALL1(vms_crmpsc_gpfn_64)),
    SERVICE(VMS_MGBLSC_GPFN_64, CALL1(vms_mgblsc_gpfn_64)),
    SERVICE(VMS_CREATE_GPFILE, CALL6(vms_create_gpfile)),
    SERVICE(VMS_CRMPSC_GPFILE_64, CALL1(vms_crmpsc_gpfile_64)),
    SERVICE(VMS_CRETVA_64, CALL1(vms_cretva_64)),
    SERVICE(VMS_EXPREG_64, CALL6(vms_expreg_64)),
    SERVICE(VMS_SETPRT_64, CALL1(vms_setprt_64)),
    SERVICE(VMS_LCKPAG_64, CALL5(vms_lckpag_64)),
    SERVICE(VMS_ULKPAG_64, CALL5(vms_ulkpag_64)),
    SERVICE(VMS_CRELNM, CALL5(vms_crelnm)),
    SERVICE(VMS_CRELNT, CALL1(vms_crelnt)),
    SERVICE(VMS_DELLNM, CALL3(vms_dellnm)),
    SERVICE(VMS_TRNLNM, CALL5(vms_trnlnm)),
    SERVICE(MEGA_SYS_LOGICAL, CALL4(mega_sys_logical)),
    SERVICE(MEGA_SYS_INFO, CALL4(mega_sys_info)),
    SERVICE(MEGA_SYS_CONTROL, CALL6(mega_sys_control)),
};
