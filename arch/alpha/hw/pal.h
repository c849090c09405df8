/*
 * OSF/1 PALcode calls as inline functions; no other C file issues CALL_PAL. The numbers are those
 * of the Alpha architecture, OSF/1 PALcode; docs/platform.md (Interrupts and time). PALcode may
 * change $1, $16-$18 and $22-$25; every wrapper declares them clobbered.
 */
#ifndef ARCH_ALPHA_HW_PAL_H
#define ARCH_ALPHA_HW_PAL_H

#include "kernel/base/types.h"

#define PAL_HALT     0
#define PAL_DRAINA   2
#define PAL_CSERVE   9
#define PAL_WRIPIR   13
#define PAL_RDMCES   16
#define PAL_WRMCES   17
#define PAL_WRFEN    43
#define PAL_WRVPTPTR 45
#define PAL_SWPCTX   48
#define PAL_WRVAL    49
#define PAL_RDVAL    50
#define PAL_TBI      51
#define PAL_WRENT    52
#define PAL_SWPIPL   53
#define PAL_RDPS     54
#define PAL_WRKGP    55
#define PAL_WRUSP    56
#define PAL_RDUSP    58
#define PAL_WHAMI    60
#define PAL_RETSYS   61
#define PAL_WTINT    62
#define PAL_RTI      63
#define PAL_BPT      128
#define PAL_BUGCHK   129
#define PAL_CALLSYS  131
#define PAL_IMB      134
#define PAL_RDUNIQUE 158
#define PAL_WRUNIQUE 159
#define PAL_GENTRAP  170

#define PAL_CLOBBERS "$1", "$22", "$23", "$24", "$25", "memory"

#define PAL_CALL0(name, num)                                                                  \
    static inline void name(void)                                                             \
    {                                                                                         \
        __asm__ volatile("call_pal %0" ::"i"(num) : "$0", "$16", "$17", "$18", PAL_CLOBBERS); \
    }
#define PAL_CALL0_RET(name, num)                                                                   \
    static inline uint64_t name(void)                                                              \
    {                                                                                              \
        register uint64_t v0 __asm__("$0");                                                        \
        __asm__ volatile("call_pal %1" : "=r"(v0) : "i"(num) : "$16", "$17", "$18", PAL_CLOBBERS); \
        return v0;                                                                                 \
    }
#define PAL_CALL1(name, num)                            \
    static inline uint64_t name(uint64_t arg)           \
    {                                                   \
        register uint64_t v0 __asm__("$0");             \
        register uint64_t a0 __asm__("$16") = arg;      \
        __asm__ volatile("call_pal %2"                  \
                         : "=r"(v0), "+r"(a0)           \
                         : "i"(num)                     \
                         : "$17", "$18", PAL_CLOBBERS); \
        return v0;                                      \
    }
#define PAL_CALL2(name, num)                                  \
    static inline uint64_t name(uint64_t arg0, uint64_t arg1) \
    {                                                         \
        register uint64_t v0 __asm__("$0");                   \
        register uint64_t a0 __asm__("$16") = arg0;           \
        register uint64_t a1 __asm__("$17") = arg1;           \
        __asm__ volatile("call_pal %3"                        \
                         : "=r"(v0), "+r"(a0), "+r"(a1)       \
                         : "i"(num)                           \
                         : "$18", PAL_CLOBBERS);              \
        return v0;                                            \
    }

PAL_CALL0(pal_halt, PAL_HALT)
PAL_CALL0(pal_draina, PAL_DRAINA)
PAL_CALL0(pal_imb, PAL_IMB)
PAL_CALL1(pal_wripir, PAL_WRIPIR) /* arg: whami of the CPU to interrupt */
PAL_CALL1(pal_wrmces, PAL_WRMCES)
PAL_CALL1(pal_wrfen, PAL_WRFEN)
PAL_CALL1(pal_wrvptptr, PAL_WRVPTPTR)
/* arg: physical address of the new hwpcb; returns that of the old one */
PAL_CALL1(pal_swpctx, PAL_SWPCTX)
PAL_CALL1(pal_wrval, PAL_WRVAL)
PAL_CALL0_RET(pal_rdval, PAL_RDVAL)
/* The same as pal_tbi() below, for what is announced to a model in another way. */
PAL_CALL2(pal_tbi_silent, PAL_TBI)
PAL_CALL2(pal_wrent, PAL_WRENT) /* args: entry address, selector */
/* The same as pal_swpipl() below, for the hooks of arch/alpha/hw/ipl_hook.h only. */
PAL_CALL1(pal_swpipl_unmetered, PAL_SWPIPL)
PAL_CALL0_RET(pal_rdps, PAL_RDPS)
PAL_CALL1(pal_wrkgp, PAL_WRKGP)
PAL_CALL1(pal_wrusp, PAL_WRUSP)
PAL_CALL0_RET(pal_rdusp, PAL_RDUSP)
PAL_CALL0_RET(pal_whami, PAL_WHAMI)
PAL_CALL1(pal_wtint, PAL_WTINT)
PAL_CALL0_RET(pal_rdunique, PAL_RDUNIQUE)
PAL_CALL1(pal_wrunique, PAL_WRUNIQUE)
/* args: QEMU's function number (3 wall clock, 5 and 6 alarm, 7 virtual time in ns), argument */
PAL_CALL2(pal_cserve, PAL_CSERVE)

/* Set the IPL; returns the old one. The table .ipl_sites has the address of each of these
   instructions: while raised IPL is measured, they are calls (arch/alpha/hw/ipl_hook.h). */
static inline uint64_t pal_swpipl(uint64_t ipl)
{
    register uint64_t v0 __asm__("$0");
    register uint64_t a0 __asm__("$16") = ipl;

    __asm__ volatile(
        "1: call_pal %2\n\t.pushsection .ipl_sites, \"a\"\n\t.quad 1b, 0\n\t.popsection"
        : "=r"(v0), "+r"(a0)
        : "i"(PAL_SWPIPL)
        : "$17", "$18", PAL_CLOBBERS);
    return v0;
}

/* kind -1: all translations without ASM, -2: all translations, 3: both translations of va. Table
   .tb_sites has the address of each: they are calls while a model listens (hw/tb_model.h). */
static inline void pal_tbi(int64_t kind, uint64_t va)
{
    register uint64_t a0 __asm__("$16") = (uint64_t)kind;
    register uint64_t a1 __asm__("$17") = va;

    __asm__ volatile("1: call_pal %2\n\t.pushsection .tb_sites, \"a\"\n\t.quad 1b, 0\n\t.popsection"
                     : "+r"(a0), "+r"(a1)
                     : "i"(PAL_TBI)
                     : "$0", "$18", PAL_CLOBBERS);
}

#endif
