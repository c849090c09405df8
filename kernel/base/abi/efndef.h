/* Event flag numbers: 0-63 are local to a process, EFN$C_ENF stands for no event flag. */
#ifndef EFNDEF_H
#define EFNDEF_H

#define EFN$C_ENF 128

#endif
