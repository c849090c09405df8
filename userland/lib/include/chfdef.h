/*
 * What a condition handler gets: the signal array, longwords with the condition value, its
 * arguments, PC and PS; and the mechanism array. Only the fields of the mechanism array that are
 * commented are filled in here.
 */
#ifndef CHFDEF_H
#define CHFDEF_H

#include <ints.h>

struct chf$signal_array {
    int chf$is_sig_args; /* the number of longwords that follow */
    int chf$is_sig_name; /* the condition value */
    int chf$is_sig_arg1; /* the first argument; others follow */
};

struct chf$mech_array {
    int chf$is_mch_args; /* the number of quadwords that follow */
    int chf$is_mch_flags;
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
    __int64 chf$q_mch_savr16_28[13];
    __int64 chf$q_mch_savf[23];
    void *chf$ph_mch_sig64_addr;
};

#define chf$l_sig_args  chf$is_sig_args
#define chf$l_sig_name  chf$is_sig_name
#define chf$l_sig_arg1  chf$is_sig_arg1
#define chf$l_mch_args  chf$is_mch_args
#define chf$l_mch_depth chf$is_mch_depth
#define chf$l_mch_savr0 chf$q_mch_savr0

#endif
