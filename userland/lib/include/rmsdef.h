/* Condition values of RMS that library routines return for files of POSIX (STARLET). */
#ifndef RMSDEF_H
#define RMSDEF_H

#define RMS$_NORMAL 65537
#define RMS$_SUC    65537
#define RMS$_RTB    98728 /* a record is longer than the buffer */
#define RMS$_EOF    98938 /* end of file */
#define RMS$_FNF    98962 /* no such file */
#define RMS$_NMF    99018 /* no more files */

#endif
