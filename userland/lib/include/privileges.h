/* Privileges, rights identifiers and UICs by name. Not a service of OpenVMS. */
#ifndef PRIVILEGES_H
#define PRIVILEGES_H

#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

struct mega_name {
    const char *name;
    uint64_t mask;
};

/* The tables, ordered by bit number and ended by an entry whose name is NULL. */
extern const struct mega_name mega$privileges[], mega$rights[];

/* Sets *mask to the mask of a list of names such as "SYSGBL,PRMGBL". Names are not case-sensitive;
 * ALL and NONE are accepted. Returns NULL, or the address in the text of the first name that is not
 * in the table. */
const char *mega$parse_names(const struct mega_name *table, const char *text, uint64_t *mask);
/* Formats a mask as a list of names, "SYSGBL,PRMGBL": "ALL" if every name of the table is in it,
 * "none" for 0. The text is cut to the size of the buffer. */
void mega$format_names(const struct mega_name *table, uint64_t mask, char *buffer, size_t size);
/* Parses a UIC in OpenVMS notation: "[200,5]" in octal. Returns 0, or -1 if it is not one. */
int mega$parse_uic(const char *text, uint32_t *group, uint32_t *member);

#ifdef __cplusplus
}
#endif

#endif
