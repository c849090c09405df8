/*
 * String descriptors. Pointers have 64 bits, so the 32-bit form is 16 bytes long with its pointer
 * at offset 8. The 64-bit form is recognised by its fields MBO (must be one) and MBMO (must be
 * minus one).
 */
#ifndef DESCRIP_H
#define DESCRIP_H

#include <stdint.h>

#define DSC$K_DTYPE_Z   0 /* not said */
#define DSC$K_DTYPE_BU  2
#define DSC$K_DTYPE_WU  3
#define DSC$K_DTYPE_LU  4
#define DSC$K_DTYPE_QU  5
#define DSC$K_DTYPE_B   6
#define DSC$K_DTYPE_W   7
#define DSC$K_DTYPE_L   8
#define DSC$K_DTYPE_Q   9
#define DSC$K_DTYPE_T   14
#define DSC$K_DTYPE_VT  37
#define DSC$K_CLASS_Z   0  /* not said: as S */
#define DSC$K_CLASS_S   1  /* of fixed length */
#define DSC$K_CLASS_D   2  /* dynamic: allocated by STR$ routines */
#define DSC$K_CLASS_A   4  /* an array */
#define DSC$K_CLASS_SD  9  /* with a scale */
#define DSC$K_CLASS_NCA 10 /* an array that may have gaps */
#define DSC$K_CLASS_VS  11 /* of varying length: a word before the characters has it */
#define DSC64$K_DTYPE_T DSC$K_DTYPE_T
#define DSC64$K_CLASS_S DSC$K_CLASS_S
#define DSC64$K_CLASS_D DSC$K_CLASS_D

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

#define $DESCRIPTOR(name, string)                                                     \
    struct dsc$descriptor_s name = {sizeof(string) - 1, DSC$K_DTYPE_T, DSC$K_CLASS_S, \
                                    (char *)(string)}
#define $DESCRIPTOR64(name, string)                                            \
    struct dsc64$descriptor_s name = {1,  DSC64$K_DTYPE_T,    DSC64$K_CLASS_S, \
                                      -1, sizeof(string) - 1, (char *)(string)}

#endif
