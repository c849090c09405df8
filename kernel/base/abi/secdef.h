/* Section flags and match control (STARLET; docs/openvms.md). The identification itself is in
   seciddef.h. */
#ifndef SECDEF_H
#define SECDEF_H

#include "megalith/missing.h"

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

/* The same flags in a structure of their own. */
#define SECFLG$M_GBL            SEC$M_GBL
#define SECFLG$M_CRF            SEC$M_CRF
#define SECFLG$M_DZRO           SEC$M_DZRO
#define SECFLG$M_WRT            SEC$M_WRT
#define SECFLG$M_SHMGS          SEC$M_SHMGS
#define SECFLG$M_WRTMOD         SEC$M_WRTMOD
#define SECFLG$M_AMOD           SEC$M_AMOD
#define SECFLG$M_READ_ONLY_SHPT SEC$M_READ_ONLY_SHPT
#define SECFLG$M_SHARED_PTS     SEC$M_SHARED_PTS
#define SECFLG$M_MRES           SEC$M_MRES
#define SECFLG$M_PERM           SEC$M_PERM
#define SECFLG$M_SYSGBL         SEC$M_SYSGBL
#define SECFLG$M_PFNMAP         SEC$M_PFNMAP
#define SECFLG$M_EXPREG         SEC$M_EXPREG
#define SECFLG$M_PROTECT        SEC$M_PROTECT
#define SECFLG$M_PAGFIL         SEC$M_PAGFIL
#define SECFLG$M_EXECUTE        SEC$M_EXECUTE
#define SECFLG$M_NOPROTCHK      SEC$M_NOPROTCHK
#define SECFLG$M_NO_OVERMAP     SEC$M_NO_OVERMAP
#define SECFLG$M_INPROG         SEC$M_INPROG
#define SECFLG$M_PARANOID       SEC$M_PARANOID
#define SECFLG$M_GRANHINT       SEC$M_GRANHINT
#define SECFLG$M_MRES_ALLOC     SEC$M_MRES_ALLOC
#define SECFLG$M_RAD_HINT       SEC$M_RAD_HINT

typedef struct _secdef_flags {
    union {
        unsigned short secflg$w_saved_flags;
        unsigned int secflg$l_flags;
        struct {
            unsigned secflg$v_gbl : 1;
            unsigned secflg$v_crf : 1;
            unsigned secflg$v_dzro : 1;
            unsigned secflg$v_wrt : 1;
            unsigned secflg$v_shmgs : 1;
            unsigned : 1;
            unsigned secflg$v_wrtmod : 2;
            unsigned secflg$v_amod : 2;
            unsigned : 1;
            unsigned secflg$v_read_only_shpt : 1;
            unsigned secflg$v_shared_pts : 1;
            unsigned secflg$v_mres : 1;
            unsigned secflg$v_perm : 1;
            unsigned secflg$v_sysgbl : 1;
            unsigned secflg$v_pfnmap : 1;
            unsigned secflg$v_expreg : 1;
            unsigned secflg$v_protect : 1;
            unsigned secflg$v_pagfil : 1;
            unsigned secflg$v_execute : 1;
            unsigned secflg$v_noprotchk : 1;
            unsigned secflg$v_no_overmap : 1;
            unsigned secflg$v_inprog : 1;
            unsigned secflg$v_paranoid : 1;
            unsigned secflg$v_granhint : 1;
            unsigned secflg$v_mres_alloc : 1;
            unsigned secflg$v_rad_hint : 1;
        };
    };
} SECDEF_FLAGS;

/* Item codes that describe a global section. */
#define SECI$_CHAIN    1
#define SECI$_GSMODE   2
#define SECI$_GSFLAGS  3
#define SECI$_GSNAME   4
#define SECI$_GSIDENT  5
#define SECI$_GSRELPAG 6

/* Flags of $UPDSEC. */
enum {
    MEGA_MISSING_CODE(UPDFLG$M_WRT_MODIFIED, 0x1),
};
MEGA_MISSING_STRUCT(_updsec_flags)

/* The name without __NEW_STARLET. */
#if defined(MEGALITH_DIALECT_H) && !defined(__NEW_STARLET)
#define secdef_flags _secdef_flags
#endif

#endif
