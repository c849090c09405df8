/* Page protection codes of $SETPRT_64 (STARLET; docs/openvms.md). */
#ifndef PRTDEF_H
#define PRTDEF_H

#define PRT$C_NA       0
#define PRT$C_RESERVED 1
#define PRT$C_KW       2
#define PRT$C_KR       3
#define PRT$C_UW       4
#define PRT$C_EW       5
#define PRT$C_ERKW     6
#define PRT$C_ER       7
#define PRT$C_SW       8
#define PRT$C_SREW     9
#define PRT$C_SRKW     10
#define PRT$C_SR       11
#define PRT$C_URSW     12
#define PRT$C_UREW     13
#define PRT$C_URKW     14
#define PRT$C_UR       15

#endif
