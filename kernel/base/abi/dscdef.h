/* Kinds of data and of descriptors (STARLET; docs/openvms.md). <descrip.h> has the structures. */
#ifndef DSCDEF_H
#define DSCDEF_H

#define DSC$K_DTYPE_Z   0 /* not said */
#define DSC$K_DTYPE_V   1
#define DSC$K_DTYPE_BU  2
#define DSC$K_DTYPE_WU  3
#define DSC$K_DTYPE_LU  4
#define DSC$K_DTYPE_QU  5
#define DSC$K_DTYPE_B   6
#define DSC$K_DTYPE_W   7
#define DSC$K_DTYPE_L   8
#define DSC$K_DTYPE_Q   9
#define DSC$K_DTYPE_F   10
#define DSC$K_DTYPE_D   11
#define DSC$K_DTYPE_FC  12
#define DSC$K_DTYPE_DC  13
#define DSC$K_DTYPE_T   14 /* text */
#define DSC$K_DTYPE_NU  15
#define DSC$K_DTYPE_NL  16
#define DSC$K_DTYPE_NLO 17
#define DSC$K_DTYPE_NR  18
#define DSC$K_DTYPE_NRO 19
#define DSC$K_DTYPE_NZ  20
#define DSC$K_DTYPE_P   21 /* packed decimal */
#define DSC$K_DTYPE_ZI  22
#define DSC$K_DTYPE_ZEM 23
#define DSC$K_DTYPE_DSC 24 /* a descriptor */
#define DSC$K_DTYPE_OU  25
#define DSC$K_DTYPE_O   26
#define DSC$K_DTYPE_G   27
#define DSC$K_DTYPE_H   28
#define DSC$K_DTYPE_GC  29
#define DSC$K_DTYPE_HC  30
#define DSC$K_DTYPE_CIT 31
#define DSC$K_DTYPE_BPV 32
#define DSC$K_DTYPE_BLV 33
#define DSC$K_DTYPE_VU  34
#define DSC$K_DTYPE_ADT 35 /* a time */
#define DSC$K_DTYPE_VT  37 /* text of varying length */
#define DSC$K_DTYPE_T2  38
#define DSC$K_DTYPE_FS  52
#define DSC$K_DTYPE_FT  53
#define DSC$K_DTYPE_FSC 54
#define DSC$K_DTYPE_FTC 55
#define DSC$K_DTYPE_FX  57
#define DSC$K_DTYPE_FXC 58
#define DSC$K_DTYPE_CAD 178
#define DSC$K_DTYPE_ENT 179
#define DSC$K_DTYPE_GBL 180
#define DSC$K_DTYPE_EPT 181
#define DSC$K_DTYPE_R11 182
#define DSC$K_DTYPE_FLD 183
#define DSC$K_DTYPE_PCT 184
#define DSC$K_DTYPE_DPC 185
#define DSC$K_DTYPE_LBL 186
#define DSC$K_DTYPE_SLB 187
#define DSC$K_DTYPE_MOD 188
#define DSC$K_DTYPE_EOM 189
#define DSC$K_DTYPE_RTN 190
#define DSC$K_DTYPE_EOR 191

#define DSC$K_CLASS_Z    0 /* not said: as S */
#define DSC$K_CLASS_S    1 /* of fixed length */
#define DSC$K_CLASS_D    2 /* dynamic: allocated by STR$ routines */
#define DSC$K_CLASS_V    3
#define DSC$K_CLASS_A    4 /* an array */
#define DSC$K_CLASS_P    5 /* a procedure */
#define DSC$K_CLASS_PI   6
#define DSC$K_CLASS_J    7
#define DSC$K_CLASS_JI   8
#define DSC$K_CLASS_SD   9  /* with a scale */
#define DSC$K_CLASS_NCA  10 /* an array that may have gaps */
#define DSC$K_CLASS_VS   11 /* of varying length: a word before the characters has it */
#define DSC$K_CLASS_VSA  12 /* an array of VS */
#define DSC$K_CLASS_UBS  13 /* bits */
#define DSC$K_CLASS_UBA  14 /* an array of bits */
#define DSC$K_CLASS_SB   15
#define DSC$K_CLASS_UBSB 16
#define DSC$K_CLASS_BFA  191

/* The same for the 64-bit form. */
#define DSC64$K_DTYPE_Z   DSC$K_DTYPE_Z
#define DSC64$K_DTYPE_V   DSC$K_DTYPE_V
#define DSC64$K_DTYPE_BU  DSC$K_DTYPE_BU
#define DSC64$K_DTYPE_WU  DSC$K_DTYPE_WU
#define DSC64$K_DTYPE_LU  DSC$K_DTYPE_LU
#define DSC64$K_DTYPE_QU  DSC$K_DTYPE_QU
#define DSC64$K_DTYPE_B   DSC$K_DTYPE_B
#define DSC64$K_DTYPE_W   DSC$K_DTYPE_W
#define DSC64$K_DTYPE_L   DSC$K_DTYPE_L
#define DSC64$K_DTYPE_Q   DSC$K_DTYPE_Q
#define DSC64$K_DTYPE_F   DSC$K_DTYPE_F
#define DSC64$K_DTYPE_D   DSC$K_DTYPE_D
#define DSC64$K_DTYPE_FC  DSC$K_DTYPE_FC
#define DSC64$K_DTYPE_DC  DSC$K_DTYPE_DC
#define DSC64$K_DTYPE_T   DSC$K_DTYPE_T
#define DSC64$K_DTYPE_NU  DSC$K_DTYPE_NU
#define DSC64$K_DTYPE_NL  DSC$K_DTYPE_NL
#define DSC64$K_DTYPE_NLO DSC$K_DTYPE_NLO
#define DSC64$K_DTYPE_NR  DSC$K_DTYPE_NR
#define DSC64$K_DTYPE_NRO DSC$K_DTYPE_NRO
#define DSC64$K_DTYPE_NZ  DSC$K_DTYPE_NZ
#define DSC64$K_DTYPE_P   DSC$K_DTYPE_P
#define DSC64$K_DTYPE_ZI  DSC$K_DTYPE_ZI
#define DSC64$K_DTYPE_ZEM DSC$K_DTYPE_ZEM
#define DSC64$K_DTYPE_DSC DSC$K_DTYPE_DSC
#define DSC64$K_DTYPE_OU  DSC$K_DTYPE_OU
#define DSC64$K_DTYPE_O   DSC$K_DTYPE_O
#define DSC64$K_DTYPE_G   DSC$K_DTYPE_G
#define DSC64$K_DTYPE_H   DSC$K_DTYPE_H
#define DSC64$K_DTYPE_GC  DSC$K_DTYPE_GC
#define DSC64$K_DTYPE_HC  DSC$K_DTYPE_HC
#define DSC64$K_DTYPE_CIT DSC$K_DTYPE_CIT
#define DSC64$K_DTYPE_BPV DSC$K_DTYPE_BPV
#define DSC64$K_DTYPE_BLV DSC$K_DTYPE_BLV
#define DSC64$K_DTYPE_VU  DSC$K_DTYPE_VU
#define DSC64$K_DTYPE_ADT DSC$K_DTYPE_ADT
#define DSC64$K_DTYPE_VT  DSC$K_DTYPE_VT
#define DSC64$K_DTYPE_T2  DSC$K_DTYPE_T2
#define DSC64$K_DTYPE_FS  DSC$K_DTYPE_FS
#define DSC64$K_DTYPE_FT  DSC$K_DTYPE_FT
#define DSC64$K_DTYPE_FSC DSC$K_DTYPE_FSC
#define DSC64$K_DTYPE_FTC DSC$K_DTYPE_FTC
#define DSC64$K_DTYPE_FX  DSC$K_DTYPE_FX
#define DSC64$K_DTYPE_FXC DSC$K_DTYPE_FXC
#define DSC64$K_DTYPE_CAD DSC$K_DTYPE_CAD
#define DSC64$K_DTYPE_ENT DSC$K_DTYPE_ENT
#define DSC64$K_DTYPE_GBL DSC$K_DTYPE_GBL
#define DSC64$K_DTYPE_EPT DSC$K_DTYPE_EPT
#define DSC64$K_DTYPE_R11 DSC$K_DTYPE_R11
#define DSC64$K_DTYPE_FLD DSC$K_DTYPE_FLD
#define DSC64$K_DTYPE_PCT DSC$K_DTYPE_PCT
#define DSC64$K_DTYPE_DPC DSC$K_DTYPE_DPC
#define DSC64$K_DTYPE_LBL DSC$K_DTYPE_LBL
#define DSC64$K_DTYPE_SLB DSC$K_DTYPE_SLB
#define DSC64$K_DTYPE_MOD DSC$K_DTYPE_MOD
#define DSC64$K_DTYPE_EOM DSC$K_DTYPE_EOM
#define DSC64$K_DTYPE_RTN DSC$K_DTYPE_RTN
#define DSC64$K_DTYPE_EOR DSC$K_DTYPE_EOR

#define DSC64$K_CLASS_Z    DSC$K_CLASS_Z
#define DSC64$K_CLASS_S    DSC$K_CLASS_S
#define DSC64$K_CLASS_D    DSC$K_CLASS_D
#define DSC64$K_CLASS_V    DSC$K_CLASS_V
#define DSC64$K_CLASS_A    DSC$K_CLASS_A
#define DSC64$K_CLASS_P    DSC$K_CLASS_P
#define DSC64$K_CLASS_PI   DSC$K_CLASS_PI
#define DSC64$K_CLASS_J    DSC$K_CLASS_J
#define DSC64$K_CLASS_SD   DSC$K_CLASS_SD
#define DSC64$K_CLASS_NCA  DSC$K_CLASS_NCA
#define DSC64$K_CLASS_VS   DSC$K_CLASS_VS
#define DSC64$K_CLASS_VSA  DSC$K_CLASS_VSA
#define DSC64$K_CLASS_UBS  DSC$K_CLASS_UBS
#define DSC64$K_CLASS_UBA  DSC$K_CLASS_UBA
#define DSC64$K_CLASS_SB   DSC$K_CLASS_SB
#define DSC64$K_CLASS_UBSB DSC$K_CLASS_UBSB

#endif
