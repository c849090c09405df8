/* Condition values of RMS that library routines return for files of POSIX (STARLET): a record too
   long for its buffer, the end of a file, no such file, no more files. */
#ifndef RMSDEF_H
#define RMSDEF_H

#define RMS$_NORMAL 65537
#define RMS$_SUC    65537
#define RMS$_RTB    98728
#define RMS$_EOF    98938
#define RMS$_FNF    98962
#define RMS$_NMF    99018

#endif
