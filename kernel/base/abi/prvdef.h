/* Privileges: those bits of OpenVMS that have an effect in this system. */
#ifndef PRVDEF_H
#define PRVDEF_H

#include <stdint.h>

#define PRV$V_CMKRNL 0
#define PRV$V_SYSNAM 2
#define PRV$V_GRPNAM 3
#define PRV$V_GROUP  8
#define PRV$V_PSWAPM 12
#define PRV$V_SETPRV 14
#define PRV$V_WORLD  16
#define PRV$V_PRMGBL 24
#define PRV$V_SYSGBL 25
#define PRV$V_PFNMAP 26
#define PRV$V_SYSPRV 28
#define PRV$V_BYPASS 29

#define PRV$M_CMKRNL 0x1        /* privileged functions of the kernel */
#define PRV$M_SYSNAM 0x4        /* create names in the system's logical name table */
#define PRV$M_GRPNAM 0x8        /* create names in the group's logical name table */
#define PRV$M_GROUP  0x100      /* access other processes of the same UIC group */
#define PRV$M_PSWAPM 0x1000     /* lock pages in memory */
#define PRV$M_SETPRV 0x4000     /* set any privilege */
#define PRV$M_WORLD  0x10000    /* access any other process */
#define PRV$M_PRMGBL 0x1000000  /* permanent global sections */
#define PRV$M_SYSGBL 0x2000000  /* system-wide global sections */
#define PRV$M_PFNMAP 0x4000000  /* sections of given page frames */
#define PRV$M_SYSPRV 0x10000000 /* access as the system category of every protection mask */
#define PRV$M_BYPASS 0x20000000 /* access regardless of protection masks */

/* A privilege mask, which $SETPRV takes by reference. */
union prvdef {
    uint64_t prv$q_quadword;
    struct {
        unsigned prv$v_cmkrnl : 1;
        unsigned : 1;
        unsigned prv$v_sysnam : 1;
        unsigned prv$v_grpnam : 1;
        unsigned : 4;
        unsigned prv$v_group : 1;
        unsigned : 3;
        unsigned prv$v_pswapm : 1;
        unsigned : 1;
        unsigned prv$v_setprv : 1;
        unsigned : 1;
        unsigned prv$v_world : 1;
        unsigned : 7;
        unsigned prv$v_prmgbl : 1;
        unsigned prv$v_sysgbl : 1;
        unsigned prv$v_pfnmap : 1;
        unsigned : 1;
        unsigned prv$v_sysprv : 1;
        unsigned prv$v_bypass : 1;
        unsigned : 2;
        unsigned prv$l_high;
    };
};
typedef union prvdef PRVDEF;

#endif
