/*
 * Item codes of $GETJPI (STARLET; docs/openvms.md). docs/services.md lists those that are
 * implemented; the service returns SS$_BADITMCOD for the others.
 */
#ifndef JPIDEF_H
#define JPIDEF_H

#define JPI$C_LISTEND 0

#define JPI$_VIRTPEAK            512
#define JPI$_WSPEAK              513
#define JPI$_IMAGNAME            519
#define JPI$_CREPRC_FLAGS        524
#define JPI$_PRI                 770
#define JPI$_OWNER               771
#define JPI$_UIC                 772
#define JPI$_STATE               774
#define JPI$_GPGCNT              780
#define JPI$_PPGCNT              781
#define JPI$_PID                 793
#define JPI$_PRCNAM              796
#define JPI$_CPU_ID              807
#define JPI$_HOME_RAD            844
#define JPI$_WSAUTH              1025
#define JPI$_WSQUOTA             1026
#define JPI$_DFWSCNT             1027
#define JPI$_FREP0VA             1028
#define JPI$_FREP1VA             1029
#define JPI$_PAGEFLTS            1034
#define JPI$_PGFLQUOTA           1038
#define JPI$_WSSIZE              1041
#define JPI$_PAGFILCNT           1044
#define JPI$_FREPTECNT           1045
#define JPI$_WSEXTENT            1046
#define JPI$_WSAUTHEXT           1047
#define JPI$_P0_FIRST_FREE_VA_64 1054
#define JPI$_P1_FIRST_FREE_VA_64 1055
#define JPI$_P2_FIRST_FREE_VA_64 1056

/* An input item: a longword of flags. */
#define JPI$_GETJPI_CONTROL_FLAGS (-2)

#define JPI$M_NO_TARGET_INSWAP     0x1
#define JPI$M_NO_TARGET_AST        0x2
#define JPI$M_IGNORE_TARGET_STATUS 0x4
#define JPI$M_THREAD               0x8

#endif
