/* Strings that descriptors of both forms and of all classes describe, for the library's files. */
#ifndef DESCRIPTOR_H
#define DESCRIPTOR_H

#include <stdbool.h>
#include <stddef.h>

struct text {
    char *at;
    size_t length;
};

/* Has the descriptor the long form? */
bool mega$is_64(const void *descriptor);
/* The string that a descriptor describes: its characters (of a varying string, the current ones).
 * Returns false if the address is 0 or the class is not one of strings. */
bool mega$text_of(const void *descriptor, struct text *text);
/* The memory into which a service writes: as above, but of a varying string all of it. */
bool mega$buffer_of(const void *descriptor, struct text *text);
/* Stores a string by the rules of the destination's class: a fixed one is filled with blanks, a
 * varying one gets a new current length, a dynamic one is allocated anew if its length differs.
 * from may overlap the destination. *stored gets the number of characters without filling. Returns
 * SS$_NORMAL, or LIB$_STRTRU (a success) if characters were cut off, or LIB$_INVSTRDES,
 * LIB$_INSVIRMEM. */
int mega$text_store(void *descriptor, const char *from, size_t length, size_t *stored);
/* Gives a dynamic string, and only such a one, this length: its characters are undefined. */
int mega$text_resize(void *descriptor, size_t length);

#endif
