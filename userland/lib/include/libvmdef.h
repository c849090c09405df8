/* Arguments of LIB$CREATE_VM_ZONE. */
#ifndef LIBVMDEF_H
#define LIBVMDEF_H

/* Algorithms. All but the last are the same here. */
#define LIB$K_VM_FIRST_FIT  1
#define LIB$K_VM_QUICK_FIT  2
#define LIB$K_VM_FREQ_SIZES 3
#define LIB$K_VM_FIXED      4 /* blocks of one size */

#define LIB$M_VM_BOUNDARY_TAGS 1 /* LIB$FREE_VM need not be told the size */
#define LIB$M_VM_GET_FILL0     2
#define LIB$M_VM_GET_FILL1     4
#define LIB$M_VM_FREE_FILL0    8
#define LIB$M_VM_FREE_FILL1    16
#define LIB$M_VM_EXTEND_AREA   32
#define LIB$M_VM_NO_EXTEND     64
#define LIB$M_VM_TAIL_LARGE    128

#endif
