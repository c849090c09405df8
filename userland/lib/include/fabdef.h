/*
 * File access blocks. Of RMS there is sys$open with FAB$M_UFO: it opens a file of POSIX, or a disk,
 * and the program reads and writes it by a channel. The fields are those that it uses, and those
 * that such programs set; pointers have 64 bits.
 */
#ifndef FABDEF_H
#define FABDEF_H

#define FAB$C_BID 3
#define FAB$C_BLN 80

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

struct FAB {
    unsigned char fab$b_bid, fab$b_bln;
    unsigned short fab$w_ifi;
    unsigned int fab$l_fop;
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
int sys$open(struct FAB *fab, ...);

#ifdef __cplusplus
}
#endif

#endif
