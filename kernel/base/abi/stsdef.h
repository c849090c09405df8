/* Fields of a condition value, and tests for success and severity (STARLET; docs/openvms.md). */
#ifndef STSDEF_H
#define STSDEF_H

#define STS$K_WARNING 0
#define STS$K_SUCCESS 1
#define STS$K_ERROR   2
#define STS$K_INFO    3
#define STS$K_SEVERE  4

#define STS$M_SUCCESS  0x1
#define STS$M_SEVERITY 0x7
#define STS$M_COND_ID  0xFFFFFF8 /* facility and message */
#define STS$M_MSG_NO   0xFFF8
#define STS$M_CODE     0x7FF8
#define STS$M_FAC_SP   0x8000 /* the message is the facility's own */
#define STS$M_FAC_NO   0xFFF0000
#define STS$M_CUST_DEF 0x8000000 /* the facility is not the vendor's */
#define STS$M_CONTROL  0xF0000000
/* The message was printed, or is not to be. */
#define STS$M_INHIB_MSG 0x10000000

#define STS$V_SUCCESS   0
#define STS$V_SEVERITY  0
#define STS$S_SEVERITY  3
#define STS$V_COND_ID   3
#define STS$S_COND_ID   25
#define STS$V_MSG_NO    3
#define STS$S_MSG_NO    13
#define STS$V_CODE      3
#define STS$S_CODE      12
#define STS$V_FAC_SP    15
#define STS$V_FAC_NO    16
#define STS$S_FAC_NO    12
#define STS$V_CUST_DEF  27
#define STS$V_CONTROL   28
#define STS$S_CONTROL   4
#define STS$V_INHIB_MSG 28

#define $VMS_STATUS_SUCCESS(code)   (((code) & STS$M_SUCCESS) != 0)
#define $VMS_STATUS_SEVERITY(code)  ((code) & STS$M_SEVERITY)
#define $VMS_STATUS_COND_ID(code)   (((code) & STS$M_COND_ID) >> STS$V_COND_ID)
#define $VMS_STATUS_MSG_NO(code)    (((code) & STS$M_MSG_NO) >> STS$V_MSG_NO)
#define $VMS_STATUS_CODE(code)      (((code) & STS$M_CODE) >> STS$V_CODE)
#define $VMS_STATUS_FAC_SP(code)    (((code) & STS$M_FAC_SP) >> STS$V_FAC_SP)
#define $VMS_STATUS_FAC_NO(code)    (((code) & STS$M_FAC_NO) >> STS$V_FAC_NO)
#define $VMS_STATUS_CUST_DEF(code)  (((code) & STS$M_CUST_DEF) >> STS$V_CUST_DEF)
#define $VMS_STATUS_CONTROL(code)   (((code) & STS$M_CONTROL) >> STS$V_CONTROL)
#define $VMS_STATUS_INHIB_MSG(code) (((code) & STS$M_INHIB_MSG) >> STS$V_INHIB_MSG)

typedef union _stsdef {
    struct {
        unsigned sts$v_severity : 3;
        unsigned sts$v_cond_id : 25;
        unsigned sts$v_control : 4;
    };
    struct {
        unsigned sts$v_success : 1;
        unsigned : 2;
        unsigned sts$v_msg_no : 13;
        unsigned sts$v_fac_no : 12;
    };
    struct {
        unsigned : 3;
        unsigned sts$v_code : 12;
        unsigned sts$v_fac_sp : 1;
        unsigned : 11;
        unsigned sts$v_cust_def : 1;
        unsigned sts$v_inhib_msg : 1;
    };
} STSDEF;

/* The name without __NEW_STARLET. */
#if defined(MEGALITH_DIALECT_H) && !defined(__NEW_STARLET)
#define stsdef _stsdef
#endif

#endif
