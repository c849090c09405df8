/* Section flags and match control (STARLET; docs/openvms.md). The identification itself is in
   seciddef.h. */
#ifndef SECDEF_H
#define SECDEF_H

#define SEC$M_GBL            0x1 /* global; implied by the 64-bit global services */
#define SEC$M_CRF            0x2 /* copy on reference */
#define SEC$M_DZRO           0x4 /* demand zero; implied by the GDZRO services */
#define SEC$M_WRT            0x8 /* writable */
#define SEC$M_SHMGS          0x10
#define SEC$M_WRTMOD         0xC0
#define SEC$M_AMOD           0x300
#define SEC$M_READ_ONLY_SHPT 0x800  /* shared page tables for read-only access */
#define SEC$M_SHARED_PTS     0x1000 /* this section describes shared page tables (kernel) */
#define SEC$M_MRES           0x2000 /* memory resident; implied by the GDZRO services */
#define SEC$M_PERM           0x4000 /* permanent; implied by $CREATE_GDZRO */
#define SEC$M_SYSGBL         0x8000 /* system wide; otherwise of the creator's UIC group */
#define SEC$M_PFNMAP         0x10000
#define SEC$M_EXPREG         0x20000 /* map at the region's first free address */
#define SEC$M_PROTECT        0x40000
#define SEC$M_PAGFIL         0x80000
#define SEC$M_EXECUTE        0x100000
#define SEC$M_NOPROTCHK      0x200000
#define SEC$M_NO_OVERMAP     0x400000
#define SEC$M_INPROG         0x800000 /* being created (kernel) */
#define SEC$M_PARANOID       0x1000000
#define SEC$M_GRANHINT       0x2000000 /* mapped with granularity hints (kernel) */
#define SEC$M_MRES_ALLOC     0x4000000 /* pages were allocated beforehand (kernel) */
#define SEC$M_RAD_HINT       0x8000000 /* rad_mask is valid */

#define SEC$K_MATALL 0
#define SEC$K_MATEQU 1
#define SEC$K_MATLEQ 2

#endif
