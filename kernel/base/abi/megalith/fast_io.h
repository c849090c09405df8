/* Buffer objects and Fast I/O: the values of CBODEF and IOSADEF (STARLET), and the status area,
 * which the kernel writes. */
#ifndef MEGALITH_FAST_IO_H
#define MEGALITH_FAST_IO_H

/* Flags of $CREATE_BUFOBJ_64. */
#define CBO$M_RETSVA 0x1 /* return addresses of system space: inner modes only */
#define CBO$M_SVA_32 0x4 /* where they have 32 bits: as well */
#define CBO$V_RETSVA 0
#define CBO$V_SVA_32 2

/* Flags of $IO_SETUP. */
#define FIO$M_EXPEDITE    0x1 /* has no effect but needs a privilege: all requests have one queue */
#define FIO$M_AST_NOFLOAT 0x2 /* has no effect: AST routines may use floating point */
#define FIO$V_EXPEDITE    0
#define FIO$V_AST_NOFLOAT 1

#define IOSA$K_LENGTH 32
#define IOSA$C_LENGTH 32

/* The kernel writes the first two quadwords: 0 to the first when a request begins, then the number
 * of bytes, and at last the condition value. The rest is the program's. */
struct _iosa {
    unsigned int iosa$l_status;
    unsigned int iosa$l_resd;
    union {
        long iosa$ih_count;
        unsigned int iosa$q_count_q[2];
    };
    union {
        long iosa$ih_context;
        void *iosa$ph_context_p;
        unsigned int iosa$q_context_q[2];
    };
    union {
        unsigned int iosa$l_resl[2];
        long iosa$q_resq;
    };
};

#endif
