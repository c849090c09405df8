/* Event flag numbers: 0-63 are a process's own, EFN$C_ENF is none. */
#ifndef EFNDEF_H
#define EFNDEF_H

#define EFN$C_ENF 128

#endif
