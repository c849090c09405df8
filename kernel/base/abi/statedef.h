/* States of a process as $GETJPI's JPI$_STATE gives them: those that there are here. */
#ifndef STATEDEF_H
#define STATEDEF_H

#define SCH$C_LEF 5  /* waits */
#define SCH$C_COM 12 /* could run */
#define SCH$C_CUR 14 /* runs */

#endif
