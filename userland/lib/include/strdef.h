/* Condition values of the STR$ routines: facility 36 (bits 27:16), severity in bits 2:0. */
#ifndef STRDEF_H
#define STRDEF_H

#define STR$_FACILITY  36
#define STR$_NORMAL    1
#define STR$_FATINTERR 2392132
#define STR$_DIVBY_ZER 2392140
#define STR$_ILLSTRCLA 2392148
#define STR$_WRONUMARG 2392164
#define STR$_INSVIRMEM 2392172
#define STR$_STRTOOLON 2392180
#define STR$_TRU       2392576
#define STR$_NOMATCH   2392584
#define STR$_INVDELIM  2392592
#define STR$_NOELEM    2392600
#define STR$_NEGSTRLEN 2393089
#define STR$_ILLSTRPOS 2393097
#define STR$_ILLSTRSPE 2393105
#define STR$_MATCH     2393113

#endif
