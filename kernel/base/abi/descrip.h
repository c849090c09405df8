/*
 * String descriptors. Pointers have 64 bits, so the 32-bit form is 16 bytes long with its pointer
 * at offset 8. The 64-bit form is recognised by its fields MBO (must be one) and MBMO (must be
 * minus one).
 */
#ifndef DESCRIP_H
#define DESCRIP_H

#include "dscdef.h"

#include <stdint.h>

struct dsc$descriptor {
    unsigned short dsc$w_length;
    unsigned char dsc$b_dtype;
    unsigned char dsc$b_class;
    char *dsc$a_pointer;
};

struct dsc$descriptor_s {
    unsigned short dsc$w_length;
    unsigned char dsc$b_dtype;
    unsigned char dsc$b_class;
    char *dsc$a_pointer;
};

struct dsc$descriptor_d { /* dynamic */
    unsigned short dsc$w_length;
    unsigned char dsc$b_dtype;
    unsigned char dsc$b_class;
    char *dsc$a_pointer;
};

struct dsc$descriptor_vs { /* of varying length */
    unsigned short dsc$w_maxstrlen;
    unsigned char dsc$b_dtype;
    unsigned char dsc$b_class;
    char *dsc$a_pointer;
};

struct dsc$descriptor_p { /* a procedure */
    unsigned short dsc$w_length;
    unsigned char dsc$b_dtype;
    unsigned char dsc$b_class;
    char *dsc$a_pointer;
};

struct dsc$descriptor_sd { /* a decimal number with a scale */
    unsigned short dsc$w_length;
    unsigned char dsc$b_dtype;
    unsigned char dsc$b_class;
    char *dsc$a_pointer;
    signed char dsc$b_scale;
    unsigned char dsc$b_digits;
};

/* Arrays. Behind the descriptor stand the address of element 0 and, for each dimension, what the
 * flags tell of: multipliers or strides, and bounds. */
struct mega_dsc_aflags {
    unsigned char : 4;
    unsigned char dsc$v_fl_redim : 1;
    unsigned char dsc$v_fl_column : 1;
    unsigned char dsc$v_fl_coeff : 1;
    unsigned char dsc$v_fl_bounds : 1;
};

struct dsc$descriptor_a {
    unsigned short dsc$w_length;
    unsigned char dsc$b_dtype;
    unsigned char dsc$b_class;
    char *dsc$a_pointer;
    signed char dsc$b_scale;
    unsigned char dsc$b_digits;
    struct mega_dsc_aflags dsc$b_aflags;
    unsigned char dsc$b_dimct;
    unsigned int dsc$l_arsize;
};

struct dsc$descriptor_nca { /* with gaps between the elements */
    unsigned short dsc$w_length;
    unsigned char dsc$b_dtype;
    unsigned char dsc$b_class;
    char *dsc$a_pointer;
    signed char dsc$b_scale;
    unsigned char dsc$b_digits;
    struct mega_dsc_aflags dsc$b_aflags;
    unsigned char dsc$b_dimct;
    unsigned int dsc$l_arsize;
};

struct dsc$descriptor_vsa { /* of strings of varying length */
    unsigned short dsc$w_maxstrlen;
    unsigned char dsc$b_dtype;
    unsigned char dsc$b_class;
    char *dsc$a_pointer;
    signed char dsc$b_scale;
    unsigned char dsc$b_digits;
    struct mega_dsc_aflags dsc$b_aflags;
    unsigned char dsc$b_dimct;
    unsigned int dsc$l_arsize;
};

struct dsc$descriptor_ubs { /* bits, from a position on */
    unsigned short dsc$w_length;
    unsigned char dsc$b_dtype;
    unsigned char dsc$b_class;
    char *dsc$a_base;
    int dsc$l_pos;
};

struct dsc$descriptor_uba { /* an array of them */
    unsigned short dsc$w_length;
    unsigned char dsc$b_dtype;
    unsigned char dsc$b_class;
    char *dsc$a_base;
    signed char dsc$b_scale;
    unsigned char dsc$b_digits;
    struct mega_dsc_aflags dsc$b_aflags;
    unsigned char dsc$b_dimct;
    unsigned int dsc$l_arsize;
};

struct dsc64$descriptor {
    unsigned short dsc64$w_mbo; /* 1 */
    unsigned char dsc64$b_dtype;
    unsigned char dsc64$b_class;
    int dsc64$l_mbmo; /* -1 */
    uint64_t dsc64$q_length;
    char *dsc64$pq_pointer;
};

struct dsc64$descriptor_s {
    unsigned short dsc64$w_mbo;
    unsigned char dsc64$b_dtype;
    unsigned char dsc64$b_class;
    int dsc64$l_mbmo;
    uint64_t dsc64$q_length;
    char *dsc64$pq_pointer;
};

struct dsc64$descriptor_d {
    unsigned short dsc64$w_mbo;
    unsigned char dsc64$b_dtype;
    unsigned char dsc64$b_class;
    int dsc64$l_mbmo;
    uint64_t dsc64$q_length;
    char *dsc64$pq_pointer;
};

struct dsc64$descriptor_vs {
    unsigned short dsc64$w_mbo;
    unsigned char dsc64$b_dtype;
    unsigned char dsc64$b_class;
    int dsc64$l_mbmo;
    uint64_t dsc64$q_maxstrlen;
    char *dsc64$pq_pointer;
};

/* Their lengths, which are those of this system. */
#define DSC$K_Z_BLN    sizeof(struct dsc$descriptor)
#define DSC$K_S_BLN    sizeof(struct dsc$descriptor_s)
#define DSC$K_D_BLN    sizeof(struct dsc$descriptor_d)
#define DSC$K_P_BLN    sizeof(struct dsc$descriptor_p)
#define DSC$K_VS_BLN   sizeof(struct dsc$descriptor_vs)
#define DSC$K_SD_BLN   sizeof(struct dsc$descriptor_sd)
#define DSC$K_UBS_BLN  sizeof(struct dsc$descriptor_ubs)
#define DSC$C_Z_BLN    DSC$K_Z_BLN
#define DSC$C_S_BLN    DSC$K_S_BLN
#define DSC$C_D_BLN    DSC$K_D_BLN
#define DSC$C_P_BLN    DSC$K_P_BLN
#define DSC$C_VS_BLN   DSC$K_VS_BLN
#define DSC$C_SD_BLN   DSC$K_SD_BLN
#define DSC$C_UBS_BLN  DSC$K_UBS_BLN
#define DSC64$K_Z_BLN  sizeof(struct dsc64$descriptor)
#define DSC64$K_S_BLN  sizeof(struct dsc64$descriptor_s)
#define DSC64$K_D_BLN  sizeof(struct dsc64$descriptor_d)
#define DSC64$K_VS_BLN sizeof(struct dsc64$descriptor_vs)
#define DSC64$C_Z_BLN  DSC64$K_Z_BLN
#define DSC64$C_S_BLN  DSC64$K_S_BLN
#define DSC64$C_D_BLN  DSC64$K_D_BLN
#define DSC64$C_VS_BLN DSC64$K_VS_BLN

#define $DESCRIPTOR(name, string)                                                     \
    struct dsc$descriptor_s name = {sizeof(string) - 1, DSC$K_DTYPE_T, DSC$K_CLASS_S, \
                                    (char *)(string)}
#define $DESCRIPTOR64(name, string)                                            \
    struct dsc64$descriptor_s name = {1,  DSC64$K_DTYPE_T,    DSC64$K_CLASS_S, \
                                      -1, sizeof(string) - 1, (char *)(string)}

#endif
