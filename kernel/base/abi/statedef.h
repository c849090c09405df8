/* States of a process, the values of $GETJPI's JPI$_STATE. */
#ifndef STATEDEF_H
#define STATEDEF_H

#define SCH$C_COLPG 1  /* waits for a page that others read; none is in this state here */
#define SCH$C_MWAIT 2  /* waits for a mutex or a resource */
#define SCH$C_CEF   3  /* waits for a common event flag */
#define SCH$C_PFW   4  /* waits for a page to be read; MWAIT here */
#define SCH$C_LEF   5  /* waits for an event */
#define SCH$C_LEFO  6  /* the same, swapped out: nothing is, here */
#define SCH$C_HIB   7  /* hibernates */
#define SCH$C_HIBO  8  /* the same, swapped out */
#define SCH$C_SUSP  9  /* suspended */
#define SCH$C_SUSPO 10 /* the same, swapped out */
#define SCH$C_FPG   11 /* waits for a free page; MWAIT here */
#define SCH$C_COM   12 /* ready to run */
#define SCH$C_COMO  13 /* the same, swapped out */
#define SCH$C_CUR   14 /* runs on a CPU */

#endif
