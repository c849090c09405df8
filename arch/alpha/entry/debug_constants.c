/*
 * Constants for the debugger. The debugging information contains no macros, but does contain this
 * enumeration, from which scripts/gdb and scripts/megalith/debug read the layout of page-table
 * entries, addresses, pools and flags, so that they never disagree with the kernel. No code refers
 * to it.
 */
#include "arch/alpha/hw/layout.h"
#include "arch/alpha/hw/pte.h"
#include "kernel/base/abi/prvdef.h"
#include "kernel/base/abi/secdef.h"
#include "kernel/base/abi/vadef.h"
#include "kernel/sched/mutex_word.h"
#include "kernel/sys/syscall.h"
#include "mm/phys/page_private.h"
#include "mm/pool/pool_check.h"
#include "mm/pool/pool_private.h"
#include "mm/pt/pte_forms.h"
#include "mm/section/reserved.h"
#include "mm/section/section.h"
#include "mm/space/aspace.h"

#define CONSTANT(name) DEBUG_##name = (name)

enum debug_constants {
    CONSTANT(PAGE_SHIFT),
    CONSTANT(PTES_PER_PAGE),

    CONSTANT(PTE_V),
    CONSTANT(PTE_FOR),
    CONSTANT(PTE_FOW),
    CONSTANT(PTE_FOE),
    CONSTANT(PTE_ASM),
    CONSTANT(PTE_GH_SHIFT),
    CONSTANT(PTE_GH_MASK),
    CONSTANT(PTE_KRE),
    CONSTANT(PTE_URE),
    CONSTANT(PTE_KWE),
    CONSTANT(PTE_UWE),
    CONSTANT(PTE_PFN_SHIFT),
    CONSTANT(PTE_L1_SPAN),
    CONSTANT(PTE_L2_SPAN),
    CONSTANT(PTE_L3_SPAN),
    CONSTANT(PTE_FORM_SHIFT),
    CONSTANT(PTE_FORM_MASK),
    CONSTANT(PTE_SW_COW),
    CONSTANT(PTE_SW_WIRED),
    CONSTANT(PTE_SW_SHARED),
    CONSTANT(PT_RECENT_BITS),
    CONSTANT(PT_NO_TABLE),
    CONSTANT(PTE_SW_SHPT),

    CONSTANT(LAYOUT_USER_TOP),
    CONSTANT(LAYOUT_KSEG_BASE),
    CONSTANT(LAYOUT_KSEG_IO),
    CONSTANT(LAYOUT_L1_SYSTEM_FIRST),
    CONSTANT(LAYOUT_L1_SELFMAP),
    CONSTANT(LAYOUT_PT_SPACE_BASE),
    CONSTANT(LAYOUT_PAGED_POOL_BASE),

    CONSTANT(HEAD_PFN_MASK),
    CONSTANT(HEAD_COUNT_SHIFT),
    CONSTANT(HEAD_COUNT_MASK),

    CONSTANT(PG_BAD),

    CONSTANT(MAP_R),
    CONSTANT(MAP_W),
    CONSTANT(MAPF_HUGE),
    CONSTANT(MAPF_SHARED),
    CONSTANT(MAP_X),

    CONSTANT(MUTEX_WRITER),
    CONSTANT(MUTEX_WAITERS),
    CONSTANT(MUTEX_READER),

    CONSTANT(POOL_GRAIN),
    CONSTANT(POOL_HEAD),
    CONSTANT(POOL_CHECK_FREE),

    CONSTANT(VMS_FIRST),
    CONSTANT(SECTION_PERMANENT),

    CONSTANT(RMD_ALLOC),
    CONSTANT(RMD_ZERO),
    CONSTANT(RMD_PAGE_TABLES),
    CONSTANT(RMD_GROUP),
    CONSTANT(RMD_SYSGBL),
    CONSTANT(RMD_NOGLOBAL),
    CONSTANT(RMD_ZEROED),
    CONSTANT(RMD_FREED),
    CONSTANT(RMD_NO_CONTIG),

    CONSTANT(SEC$M_WRT),
    CONSTANT(SEC$M_READ_ONLY_SHPT),
    CONSTANT(SEC$M_SHARED_PTS),
    CONSTANT(SEC$M_MRES),
    CONSTANT(SEC$M_PERM),
    CONSTANT(SEC$M_SYSGBL),
    CONSTANT(SEC$M_PFNMAP),
    CONSTANT(SEC$M_PAGFIL),
    CONSTANT(SEC$M_MRES_ALLOC),

    CONSTANT(VA$M_DESCEND),
    CONSTANT(VA$M_PERMANENT),
    CONSTANT(VA$M_SHARED_PTS),

    CONSTANT(PRV$M_CMKRNL),
    CONSTANT(PRV$M_SYSNAM),
    CONSTANT(PRV$M_GRPNAM),
    CONSTANT(PRV$M_GROUP),
    CONSTANT(PRV$M_PSWAPM),
    CONSTANT(PRV$M_SETPRV),
    CONSTANT(PRV$M_WORLD),
    CONSTANT(PRV$M_PRMGBL),
    CONSTANT(PRV$M_SYSGBL),
    CONSTANT(PRV$M_PFNMAP),
    CONSTANT(PRV$M_SYSPRV),
    CONSTANT(PRV$M_BYPASS),
};

/* The compiler describes a type in the debugging information only if an object has that type. */
extern const enum debug_constants debug_constants;
const enum debug_constants debug_constants = DEBUG_PAGE_SHIFT;
