/* Access modes. The machine has two, kernel and user; the others are treated as user (STARLET;
   docs/openvms.md). */
#ifndef PSLDEF_H
#define PSLDEF_H

#define PSL$C_KERNEL 0
#define PSL$C_EXEC   1
#define PSL$C_SUPER  2
#define PSL$C_USER   3

#endif
