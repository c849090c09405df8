/*
 * Strings by descriptors. A destination is stored by the rules of its class: one of fixed length is
 * filled with blanks or, with STR$_TRU, cut off; a dynamic one is allocated anew if its length
 * changes; a varying one gets a new current length. Sources may be the destination too. A
 * descriptor that is none of a string, and a lack of memory, are signalled.
 */
#ifndef STR$ROUTINES_H
#define STR$ROUTINES_H

#include <ints.h>
#include <megalith/missing_library.h>
#include <rtl/handler.h>
#include <rtl/optional.h>

#ifdef __cplusplus
extern "C" {
#endif

int str$copy_dx(void *destination, const void *source);
int str$copy_r(void *destination, const unsigned short *source_length, const char *source);
int str$copy_r_64(void *destination, const unsigned __int64 *source_length, const char *source);
/* The sources one behind the other; str$append: behind what the destination has, str$prefix: before
 * it. STR$_STRTOOLON, which is signalled: more than 65,535 characters, and the destination's
 * descriptor has a length of 16 bits; STR$_WRONUMARG: no source. */
int str$concat(void *destination, ...);
int str$append(void *destination, const void *source);
int str$prefix(void *destination, const void *source);
/* Allocates a dynamic string of this length, whose characters are undefined, or frees it. */
int str$get1_dx(const unsigned short *length, void *destination);
int str$get1_dx_64(const unsigned __int64 *length, void *destination);
int str$free1_dx(void *string);
/* -1, 0 or 1, as if the shorter string had blanks behind it; str$compare_eql: 0 if they are equal
 * and of one length, else 1; str$case_blind_compare: as str$compare, letters in any case. */
int str$compare(const void *first, const void *second);
int str$compare_eql(const void *first, const void *second);
int str$case_blind_compare(const void *first, const void *second);
int str$upcase(void *destination, const void *source);
/* Without the blanks and tabs at the end; *length gets the number of characters. */
int str$trim(void *destination, const void *source, unsigned short *length);
/* So many times a character, by default one blank. */
int str$dupl_char(void *destination, const int *count, const char *character);
/* Where the substring begins, from 1 on, not before *start; 0: nowhere. An empty one is at *start,
 * or behind the last character. */
unsigned int str$position(const void *source, const void *substring, const int *start);
/* Part of a string, from a position that is counted from 1: so many characters, or up to a
 * position; str$left: up to a position; str$right: from it on. Successes that say that the nearest
 * possible was taken: STR$_ILLSTRPOS, a position outside of the string, also the one behind its
 * end; STR$_NEGSTRLEN, a negative length; STR$_ILLSTRSPE, an end before the start, or a length
 * beyond the end. */
int str$len_extr(void *destination, const void *source, const int *start, const int *length);
int str$pos_extr(void *destination, const void *source, const int *start, const int *end);
int str$left(void *destination, const void *source, const int *end);
int str$right(void *destination, const void *source, const int *start);
/* The source up to the start, another string, and the source behind the end; so an end just before
 * the start inserts, and what is between an earlier one and the start is there twice. The same
 * successes. */
int str$replace(void *destination, const void *source, const int *start, const int *end,
                const void *replacement);
/* What stands before the delimiter, a character, number `number`, counted from 0, and behind the
 * one before. STR$_NOELEM: there are fewer; STR$_INVDELIM: not one character. */
int str$element(void *destination, const int *number, const void *delimiter, const void *source);
/* Each character that is in match becomes the one at the same place of translation, or a blank. */
int str$translate(void *destination, const void *source, const void *translation,
                  const void *match);
/* STR$_MATCH or STR$_NOMATCH: in the pattern, % is any character, * any number of them. */
int str$match_wild(const void *candidate, const void *pattern);
/* Position of the first character that is (not) in the set; 0: there is none. What is not in a set
 * is at 1 of an empty source, and nowhere if the set is empty. */
unsigned int str$find_first_in_set(const void *source, const void *set);
unsigned int str$find_first_not_in_set(const void *source, const void *set);
/* The leftmost of the substrings: 1, its position to *index, which of them to *sub_index; or 0.
 * STR$_WRONUMARG is signalled if there are none. */
int str$find_first_substring(const void *source, int *index, int *sub_index, ...);
/* The length of a string, which *length gets too, and *address where its characters are. The length
 * has 16 bits: STR$_ILLSTRCLA is signalled if it is more. */
unsigned int str$analyze_sdesc(const void *descriptor, unsigned short *length, char **address);

int mega$str_concat(int count, ...);
int mega$str_find_first_substring(int count, const void *source, int *index, int *sub_index, ...);

#define str$concat(...) mega$str_concat(MEGA_COUNT(__VA_ARGS__), __VA_ARGS__)
#define str$find_first_substring(...) \
    mega$str_find_first_substring(MEGA_COUNT(__VA_ARGS__), __VA_ARGS__)
#define str$trim(...)      MEGA_UP_TO(3, str$trim, (0), __VA_ARGS__)
#define str$dupl_char(...) MEGA_UP_TO(3, str$dupl_char, (0, 0), __VA_ARGS__)
#define str$position(...)  MEGA_UP_TO(3, str$position, (0), __VA_ARGS__)

#ifdef __cplusplus
}
#endif

#endif
