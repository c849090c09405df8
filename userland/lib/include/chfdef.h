/*
 * What a condition handler gets: the signal array, longwords with the condition value, its
 * arguments, PC and PS; and the mechanism array. Only the fields of the mechanism array that are
 * commented are filled in here.
 */
#ifndef CHFDEF_H
#define CHFDEF_H

#include <ints.h>

#define CHF$M_FPREGS_VALID 0x1

typedef struct chf$signal_array {
    int chf$is_sig_args; /* the number of longwords that follow */
    int chf$is_sig_name; /* the condition value */
    int chf$is_sig_arg1; /* the first argument; others follow */
} CHF$SIGNAL_ARRAY;

/* The form with quadwords, which chf$ph_mch_sig64_addr leads to. No handler gets it here. */
typedef struct chf64$signal_array {
    union {
        int chf64$l_sig_args;
        struct {
            short chf64$w_sig_arg_count;
            short chf64$w_sig_msg_options;
        };
    };
    int chf64$l_signal64;
    __int64 chf64$q_sig_name;
    __int64 chf64$q_sig_arg1;
} CHF64$SIGNAL_ARRAY;

typedef struct chf$mech_array {
    union {
        __int64 chf$q_mch_args;
        struct {
            int chf$is_mch_args; /* the number of quadwords that follow */
            union {
                int chf$is_mch_flags;
                unsigned chf$v_fpregs_valid : 1;
            };
        };
    };
    __int64 chf$q_mch_frame; /* the frame of the procedure that established the handler */
    union {
        __int64 chf$q_mch_depth; /* frames from that of the signal to that one */
        struct {
            int chf$is_mch_depth;
            int chf$is_mch_resvd1;
        };
    };
    __int64 chf$q_mch_daddr;
    __int64 chf$q_mch_esf_addr;
    __int64 chf$q_mch_sig_addr; /* the signal array */
    __int64 chf$q_mch_savr0;    /* the result of the procedure to which an unwind leads */
    __int64 chf$q_mch_savr1;
    __int64 chf$q_mch_savr16, chf$q_mch_savr17, chf$q_mch_savr18, chf$q_mch_savr19,
        chf$q_mch_savr20, chf$q_mch_savr21, chf$q_mch_savr22, chf$q_mch_savr23, chf$q_mch_savr24,
        chf$q_mch_savr25, chf$q_mch_savr26, chf$q_mch_savr27, chf$q_mch_savr28;
    __int64 chf$q_mch_savf0, chf$q_mch_savf1, chf$q_mch_savf10, chf$q_mch_savf11, chf$q_mch_savf12,
        chf$q_mch_savf13, chf$q_mch_savf14, chf$q_mch_savf15, chf$q_mch_savf16, chf$q_mch_savf17,
        chf$q_mch_savf18, chf$q_mch_savf19, chf$q_mch_savf20, chf$q_mch_savf21, chf$q_mch_savf22,
        chf$q_mch_savf23, chf$q_mch_savf24, chf$q_mch_savf25, chf$q_mch_savf26, chf$q_mch_savf27,
        chf$q_mch_savf28, chf$q_mch_savf29, chf$q_mch_savf30;
    void *chf$ph_mch_sig64_addr;
} CHF$MECH_ARRAY;

#define chf$l_sig_args  chf$is_sig_args
#define chf$l_sig_name  chf$is_sig_name
#define chf$l_sig_arg1  chf$is_sig_arg1
#define chf$l_mch_args  chf$is_mch_args
#define chf$l_mch_depth chf$is_mch_depth
#define chf$l_mch_savr0 chf$q_mch_savr0

#endif
