/*
 * File access blocks. Of RMS there is sys$open with FAB$M_UFO: it opens a file of POSIX, or a disk,
 * and the program reads and writes it by a channel. The fields are those that it uses, and those
 * that such programs set; pointers have 64 bits. The other constants are errors.
 */
#ifndef FABDEF_H
#define FABDEF_H

#include <megalith/missing.h>
#include <rtl/optional.h>

#define FAB$C_BID 3
#define FAB$C_BLN 80
#define FAB$K_BLN 80

#define FAB$M_UFO 0x20000

#define FAB$M_PUT 0x1
#define FAB$M_GET 0x2
#define FAB$M_DEL 0x4
#define FAB$M_UPD 0x8
#define FAB$M_TRN 0x10
#define FAB$M_BIO 0x20
#define FAB$M_BRO 0x40

#define FAB$M_SHRPUT 0x1
#define FAB$M_SHRGET 0x2
#define FAB$M_SHRDEL 0x4
#define FAB$M_SHRUPD 0x8
#define FAB$M_NIL    0x20
#define FAB$M_UPI    0x40

/* clang-format off */
enum {
    MEGA_MISSING_NAME(FAB$C_SEQ) MEGA_MISSING_NAME(FAB$C_REL) MEGA_MISSING_NAME(FAB$C_IDX)
    MEGA_MISSING_NAME(FAB$C_HSH) MEGA_MISSING_NAME(FAB$C_RFM_DFLT) MEGA_MISSING_NAME(FAB$C_UDF)
    MEGA_MISSING_NAME(FAB$C_FIX) MEGA_MISSING_NAME(FAB$C_VAR) MEGA_MISSING_NAME(FAB$C_VFC)
    MEGA_MISSING_NAME(FAB$C_STM) MEGA_MISSING_NAME(FAB$C_STMLF) MEGA_MISSING_NAME(FAB$C_STMCR)
    MEGA_MISSING_NAME(FAB$C_MAXRFM) MEGA_MISSING_NAME(FAB$M_ASY) MEGA_MISSING_NAME(FAB$M_MXV)
    MEGA_MISSING_NAME(FAB$M_SUP) MEGA_MISSING_NAME(FAB$M_TMP) MEGA_MISSING_NAME(FAB$M_TMD)
    MEGA_MISSING_NAME(FAB$M_DFW) MEGA_MISSING_NAME(FAB$M_SQO) MEGA_MISSING_NAME(FAB$M_RWO)
    MEGA_MISSING_NAME(FAB$M_POS) MEGA_MISSING_NAME(FAB$M_WCK) MEGA_MISSING_NAME(FAB$M_NEF)
    MEGA_MISSING_NAME(FAB$M_RWC) MEGA_MISSING_NAME(FAB$M_DMO) MEGA_MISSING_NAME(FAB$M_SPL)
    MEGA_MISSING_NAME(FAB$M_SCF) MEGA_MISSING_NAME(FAB$M_DLT) MEGA_MISSING_NAME(FAB$M_NFS)
    MEGA_MISSING_NAME(FAB$M_PPF) MEGA_MISSING_NAME(FAB$M_INP) MEGA_MISSING_NAME(FAB$M_CTG)
    MEGA_MISSING_NAME(FAB$M_CBT) MEGA_MISSING_NAME(FAB$M_SYNCSTS) MEGA_MISSING_NAME(FAB$M_RCK)
    MEGA_MISSING_NAME(FAB$M_NAM) MEGA_MISSING_NAME(FAB$M_CIF) MEGA_MISSING_NAME(FAB$M_ESC)
    MEGA_MISSING_NAME(FAB$M_TEF) MEGA_MISSING_NAME(FAB$M_OFP) MEGA_MISSING_NAME(FAB$M_KFO)
    MEGA_MISSING_NAME(FAB$M_PPF_RAT) MEGA_MISSING_NAME(FAB$M_PPF_IND) MEGA_MISSING_NAME(FAB$M_PPIFI)
    MEGA_MISSING_NAME(FAB$M_EXE) MEGA_MISSING_NAME(FAB$M_MSE) MEGA_MISSING_NAME(FAB$M_NQL)
    MEGA_MISSING_NAME(FAB$M_ORG) MEGA_MISSING_NAME(FAB$M_FTN) MEGA_MISSING_NAME(FAB$M_CR)
    MEGA_MISSING_NAME(FAB$M_PRN) MEGA_MISSING_NAME(FAB$M_BLK) MEGA_MISSING_NAME(FAB$M_MSB)
    MEGA_MISSING_NAME(FAB$M_ONLY_RU) MEGA_MISSING_NAME(FAB$M_RU) MEGA_MISSING_NAME(FAB$M_BI)
    MEGA_MISSING_NAME(FAB$M_AI) MEGA_MISSING_NAME(FAB$M_AT) MEGA_MISSING_NAME(FAB$M_NEVER_RU)
    MEGA_MISSING_NAME(FAB$M_JOURNAL_FILE) MEGA_MISSING_NAME(FAB$M_RCF_RU)
    MEGA_MISSING_NAME(FAB$M_RCF_AI) MEGA_MISSING_NAME(FAB$M_RCF_BI)
};

enum {
    MEGA_MISSING_NAME(FAB$V_UFO) MEGA_MISSING_NAME(FAB$V_PUT) MEGA_MISSING_NAME(FAB$V_GET)
    MEGA_MISSING_NAME(FAB$V_DEL) MEGA_MISSING_NAME(FAB$V_UPD) MEGA_MISSING_NAME(FAB$V_TRN)
    MEGA_MISSING_NAME(FAB$V_BIO) MEGA_MISSING_NAME(FAB$V_BRO) MEGA_MISSING_NAME(FAB$V_SHRPUT)
    MEGA_MISSING_NAME(FAB$V_SHRGET) MEGA_MISSING_NAME(FAB$V_SHRDEL) MEGA_MISSING_NAME(FAB$V_SHRUPD)
    MEGA_MISSING_NAME(FAB$V_NIL) MEGA_MISSING_NAME(FAB$V_UPI) MEGA_MISSING_NAME(FAB$V_ASY)
    MEGA_MISSING_NAME(FAB$V_MXV) MEGA_MISSING_NAME(FAB$V_SUP) MEGA_MISSING_NAME(FAB$V_TMP)
    MEGA_MISSING_NAME(FAB$V_TMD) MEGA_MISSING_NAME(FAB$V_DFW) MEGA_MISSING_NAME(FAB$V_SQO)
    MEGA_MISSING_NAME(FAB$V_RWO) MEGA_MISSING_NAME(FAB$V_POS) MEGA_MISSING_NAME(FAB$V_WCK)
    MEGA_MISSING_NAME(FAB$V_NEF) MEGA_MISSING_NAME(FAB$V_RWC) MEGA_MISSING_NAME(FAB$V_DMO)
    MEGA_MISSING_NAME(FAB$V_SPL) MEGA_MISSING_NAME(FAB$V_SCF) MEGA_MISSING_NAME(FAB$V_DLT)
    MEGA_MISSING_NAME(FAB$V_NFS) MEGA_MISSING_NAME(FAB$V_PPF) MEGA_MISSING_NAME(FAB$V_INP)
    MEGA_MISSING_NAME(FAB$V_CTG) MEGA_MISSING_NAME(FAB$V_CBT) MEGA_MISSING_NAME(FAB$V_SYNCSTS)
    MEGA_MISSING_NAME(FAB$V_RCK) MEGA_MISSING_NAME(FAB$V_NAM) MEGA_MISSING_NAME(FAB$V_CIF)
    MEGA_MISSING_NAME(FAB$V_ESC) MEGA_MISSING_NAME(FAB$V_TEF) MEGA_MISSING_NAME(FAB$V_OFP)
    MEGA_MISSING_NAME(FAB$V_KFO) MEGA_MISSING_NAME(FAB$V_PPF_RAT) MEGA_MISSING_NAME(FAB$V_PPF_IND)
    MEGA_MISSING_NAME(FAB$V_EXE) MEGA_MISSING_NAME(FAB$V_MSE) MEGA_MISSING_NAME(FAB$V_ORG)
    MEGA_MISSING_NAME(FAB$V_FTN) MEGA_MISSING_NAME(FAB$V_CR) MEGA_MISSING_NAME(FAB$V_PRN)
    MEGA_MISSING_NAME(FAB$V_BLK) MEGA_MISSING_NAME(FAB$V_MSB) MEGA_MISSING_NAME(FAB$V_LNM_MODE)
    MEGA_MISSING_NAME(FAB$V_CHAN_MODE) MEGA_MISSING_NAME(FAB$V_FILE_MODE)
    MEGA_MISSING_NAME(FAB$V_RU) MEGA_MISSING_NAME(FAB$V_BI) MEGA_MISSING_NAME(FAB$V_AI)
};
/* clang-format on */

struct FAB {
    unsigned char fab$b_bid, fab$b_bln;
    unsigned short fab$w_ifi;
    union {
        unsigned int fab$l_fop;
        struct {
            unsigned : 17;
            unsigned fab$v_ufo : 1;
            unsigned : 14;
        };
    };
    unsigned int fab$l_sts; /* out: the status */
    unsigned int fab$l_stv; /* out: the channel, or a second status */
    unsigned int fab$l_alq; /* out: blocks of the file; not of a disk */
    unsigned char fab$b_fac, fab$b_shr;
    unsigned int fab$l_ctx; /* the program's */
    char *fab$l_fna, *fab$l_dna;
    unsigned char fab$b_fns, fab$b_dns;
};

extern const struct FAB cc$rms_fab;

#ifdef __cplusplus
extern "C" {
typedef void (*mega_completion)(...);
#else
typedef void (*mega_completion)();
#endif

/*
 * Open the file fna (fns bytes; without one dna): a path or, with a colon at its end, the name of a
 * disk (VDA1:) or a logical name for it. For reading, unless fac asks for more. RMS$_NORMAL, and a
 * channel in fab$l_stv, which sys$dassgn closes; virtual blocks of a file count from 1, those of a
 * disk from 0. A descriptor of the file is closed on the way, so locks of fcntl that the process
 * has on it are gone, as POSIX wants it.
 * RMS$_FNF; SS$_NOPRIV; SS$_UNSUPPORTED: without FAB$M_UFO; SS$_BADPARAM: no name; SS$_NOTFILEDEV:
 * neither a regular file nor a disk; SS$_INSFMEM; or as $ASSIGN. Completion routines are not
 * called.
 */
int sys$open(struct FAB *fab, mega_completion err, mega_completion suc);

#define sys$open(...) MEGA_UP_TO(3, sys$open, (0, 0), __VA_ARGS__)

#ifdef __cplusplus
}
#endif

#endif
