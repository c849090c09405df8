/* States of a process, the values of $GETJPI's JPI$_STATE: those that occur in this system. */
#ifndef STATEDEF_H
#define STATEDEF_H

#define SCH$C_LEF 5  /* waits for an event */
#define SCH$C_COM 12 /* ready to run */
#define SCH$C_CUR 14 /* runs on a CPU */

#endif
