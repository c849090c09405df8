/* What the files of the STR$ routines share. */
#ifndef STRING_RESULT_H
#define STRING_RESULT_H

#include "descriptor.h"

/* What a routine returns for what mega$text_store() says. What would leave the program with a wrong
 * string, LIB$_INSVIRMEM and LIB$_INVSTRDES, is signalled first. */
int mega$string_result(int status);
/* Stores a string by the rules of the destination's class: STR$_NORMAL, STR$_TRU, and those. */
int mega$string_store(void *destination, const char *from, size_t length);
/* Stores strings one behind the other. They are put together elsewhere, since the destination can
 * be one of them. As mega$string_store(); STR$_STRTOOLON is signalled. */
int mega$string_store_all(void *destination, const struct text *parts, int count);
/* Signals, and returns, what is wrong with a call. */
int mega$string_error(int status);

#endif
