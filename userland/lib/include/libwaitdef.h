/* Arguments of LIB$WAIT. */
#ifndef LIBWAITDEF_H
#define LIBWAITDEF_H

#define LIB$K_NOWAKE 1 /* flag: $WAKE does not end the wait, as is always so here */

/* Types of its number. The compiler has the formats of IEEE only: F stands for S, D and G for T. */
#define LIB$K_VAX_F  0
#define LIB$K_VAX_D  1
#define LIB$K_VAX_G  2
#define LIB$K_VAX_H  3
#define LIB$K_IEEE_S 4
#define LIB$K_IEEE_T 5

#endif
