/* Strings and characters. Sources and strings are descriptors; positions count from 1, 0 is none.
 */
#ifndef RTL_CHARACTERS_H
#define RTL_CHARACTERS_H

#ifdef __cplusplus
extern "C" {
#endif

/* Copy a string, by the rules of the destination's class; also by length and address. SS$_NORMAL;
 * LIB$_STRTRU (a success): cut off; LIB$_INVSTRDES; LIB$_INSVIRMEM. */
int lib$scopy_dxdx(const void *source, void *destination);
int lib$scopy_r_dx(const unsigned short *length, const char *source, void *destination);
/* Allocate or free a dynamic string: SS$_NORMAL, LIB$_INVSTRDES, LIB$_INSVIRMEM. */
int lib$sget1_dd(const unsigned short *length, void *descriptor);
int lib$sfree1_dd(void *descriptor);
/* Where a string is, and how long: SS$_NORMAL, LIB$_INVSTRDES. */
int lib$analyze_sdesc(const void *descriptor, unsigned short *length, char **address);
unsigned int lib$len(const void *string);
/* A string of one character; the code of a string's first character, 0 if it has none. */
int lib$char(void *destination, const unsigned char *code);
unsigned int lib$ichar(const void *string);

/* Position of a substring. */
unsigned int lib$index(const void *source, const void *substring);
unsigned int lib$matchc(const void *substring, const void *source);
/* Position of a character, or of the first one that is another. */
unsigned int lib$locc(const void *character, const void *source);
unsigned int lib$skpc(const void *character, const void *source);
/* Position of the first character whose byte of a table of 256 has, or has not, bits of *mask. */
unsigned int lib$scanc(const void *source, const unsigned char *table, const unsigned char *mask);
unsigned int lib$spanc(const void *source, const unsigned char *table, const unsigned char *mask);

/* Copy bytes that may overlap; lib$movc5 cuts them off or fills up. */
void lib$movc3(const unsigned short *length, const void *source, void *destination);
void lib$movc5(const unsigned short *source_length, const void *source, const char *fill,
               const unsigned short *destination_length, void *destination);

#ifdef __cplusplus
}
#endif

#endif
