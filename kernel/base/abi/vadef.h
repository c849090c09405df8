/* Regions: flags, protection, and the structure of $GET_REGION_INFO (STARLET; docs/openvms.md). */
#ifndef VADEF_H
#define VADEF_H

#include <stdint.h>

#define VA$C_P0           0
#define VA$C_P1           1
#define VA$C_P2           2
#define VA$C_PAGELET_SIZE 512

#define VA$M_DESCEND          0x1
#define VA$M_P0_SPACE         0x2
#define VA$M_P1_SPACE         0x4
#define VA$M_PERMANENT        0x8
#define VA$M_EXPAND_ON_ACCVIO 0x10
#define VA$M_SHARED_PTS       0x40

#define VA$M_NO_OVERMAP 0x1 /* of $CRETVA_64 and $EXPREG_64 */

#define VA$M_OWNER_MODE   0x0F
#define VA$M_CREATE_MODE  0xF0
#define VA$C_UCREATE_UOWN 51
#define VA$C_UCREATE_SOWN 50
#define VA$C_UCREATE_EOWN 49
#define VA$C_UCREATE_KOWN 48
#define VA$C_SCREATE_SOWN 34
#define VA$C_SCREATE_EOWN 33
#define VA$C_SCREATE_KOWN 32
#define VA$C_ECREATE_EOWN 17
#define VA$C_ECREATE_KOWN 16
#define VA$C_KCREATE_KOWN 0

#define VA$_REGSUM_BY_ID      0
#define VA$_REGSUM_BY_VA      1
#define VA$_NEXT_REGSUM_BY_VA 2
#define VA$C_REGSUM_LENGTH    40

typedef struct _va_regsum {
    uint64_t va$q_region_id;
    uint32_t va$l_flags;
    uint32_t va$l_region_protection;
    uint64_t va$q_start_va;
    uint64_t va$q_region_size;
    uint64_t va$q_first_free_va;
} VA_REGSUM;

#endif
