/*
 * Numbers of the system services (docs/architecture.md, System calls). The caller executes callsys
 * with the number in v0; the condition value is returned in v0. Up to six arguments are passed in
 * a0-a5. For a service with more, marked "block" below, a0 is the address of an argument block of
 * quadwords, of which the first is the number of arguments that follow. Arguments omitted at the
 * end are taken as 0.
 */
#ifndef MEGALITH_SERVICES_H
#define MEGALITH_SERVICES_H

#define VMS_CREATE_REGION_64 0x1000 /* block */
#define VMS_DELETE_REGION_64 0x1001
#define VMS_GET_REGION_INFO  0x1002 /* block */
#define VMS_CREATE_GDZRO     0x1003 /* block */
#define VMS_CRMPSC_GDZRO_64  0x1004 /* block */
#define VMS_MGBLSC_64        0x1005 /* block */
#define VMS_DELTVA_64        0x1006
#define VMS_DGBLSC           0x1007
#define VMS_GETJPI           0x1018 /* block */
#define VMS_GETSYI           0x1019 /* block */
#define VMS_SETPRV           0x101A
#define VMS_CREATE_GPFN      0x1010 /* block */
#define VMS_CRMPSC_GPFN_64   0x1011 /* block */
#define VMS_MGBLSC_GPFN_64   0x1012 /* block */
#define VMS_CREATE_GPFILE    0x1013
#define VMS_CRMPSC_GPFILE_64 0x1014 /* block */
#define VMS_CRETVA_64        0x1008 /* block */
#define VMS_EXPREG_64        0x1009
#define VMS_SETPRT_64        0x100A /* block */
#define VMS_LCKPAG_64        0x100B
#define VMS_ULKPAG_64        0x100C

/* Logical names. */
#define VMS_CRELNM 0x1020
#define VMS_CRELNT 0x1021 /* block */
#define VMS_DELLNM 0x1022
#define VMS_TRNLNM 0x1023

/* Event flags, ASTs, timers, hibernation. */
#define VMS_SETEF  0x1030
#define VMS_CLREF  0x1031
#define VMS_READEF 0x1032
#define VMS_WAITFR 0x1033
#define VMS_WFLOR  0x1034
#define VMS_WFLAND 0x1035
#define VMS_SYNCH  0x1036
#define VMS_ASCEFC 0x1037
#define VMS_DACEFC 0x1038
#define VMS_DLCEFC 0x1039
#define VMS_DCLAST 0x1040
#define VMS_SETAST 0x1041
#define VMS_CLRAST 0x1042
#define VMS_SETIMR 0x1043
#define VMS_CANTIM 0x1044
#define VMS_SCHDWK 0x1045
#define VMS_CANWAK 0x1046
#define VMS_HIBER  0x1047
#define VMS_WAKE   0x1048

/* Channels and mailboxes. */
#define VMS_ASSIGN 0x1060
#define VMS_DASSGN 0x1061
#define VMS_CANCEL 0x1062
#define VMS_CREMBX 0x1063 /* block */
#define VMS_DELMBX 0x1064
#define VMS_QIO    0x1065 /* block */
#define VMS_GETDVI 0x1066 /* block */
/* Of the C library: a channel to the open file of a descriptor (sys$open). */
#define MEGA_SYS_FILE_CHANNEL 0x1067

/* Buffer objects and Fast I/O. */
#define VMS_CREATE_BUFOBJ_64 0x1070 /* block */
#define VMS_DELETE_BUFOBJ    0x1071
#define VMS_IO_SETUP         0x1072
#define VMS_IO_PERFORM       0x1073
#define VMS_IO_CLEANUP       0x1074

/* Processes. */
#define VMS_DELPRC 0x1050
#define VMS_FORCEX 0x1051
#define VMS_SUSPND 0x1052
#define VMS_RESUME 0x1053
#define VMS_SETPRN 0x1054
#define VMS_SETPRI 0x1055
#define VMS_CREPRC 0x1056 /* block */
/* Of the C library: what $FORCEX calls (kernel/sys/vms/process.c). */
#define MEGA_SYS_EXIT_ROUTINE 0x105F
/* Of the C library: the condition value that the program is about to end with. */
#define MEGA_SYS_FINAL_STATUS 0x105E
/* Of the C library: where AST routines return to and where a thread says that
 * it takes none now, and what is called there (kernel/proc/ast.c). */
#define MEGA_SYS_AST_RETURN 0x104E
#define MEGA_SYS_AST_EXIT   0x104F

#endif
