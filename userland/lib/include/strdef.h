/* Condition values of the STR$ routines: facility 36 (bits 27:16), severity in bits 2:0. */
#ifndef STRDEF_H
#define STRDEF_H

#define STR$_FACILITY  36
#define STR$_NORMAL    1
#define STR$_FATINTERR 2392132
#define STR$_ILLSTRCLA 2392148
#define STR$_WRONUMARG 2392164
#define STR$_INSVIRMEM 2392172
#define STR$_STRTOOLON 2392180
#define STR$_TRU       2392576

#endif
