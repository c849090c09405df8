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

/* In the order of their bits; the last has no name. */
extern const struct mega_name mega$privileges[], mega$rights[];

/* The mask of a list of names, "SYSGBL,PRMGBL": in any case, ALL and NONE among them. NULL, or the
 * place in the text that is no name of the table. */
const char *mega$parse_names(const struct mega_name *table, const char *text, uint64_t *mask);
/* "SYSGBL,PRMGBL" into the buffer: ALL when it is the whole table, "none" for 0. */
void mega$format_names(const struct mega_name *table, uint64_t mask, char *buffer, size_t size);
/* A UIC as OpenVMS writes it: "[200,5]" in octal. 0, or -1 for anything else. */
int mega$parse_uic(const char *text, uint32_t *group, uint32_t *member);

#ifdef __cplusplus
}
#endif

#endif
