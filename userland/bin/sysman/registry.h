/*
 * Changes of a reserved-memory registry, with the rules of scripts/sysman (sysman/registry.py,
 * sysman/configuration.py). Nothing here knows where the registry is; also built for the host.
 */
#ifndef SYSMAN_REGISTRY_H
#define SYSMAN_REGISTRY_H

#include "sysman/config.h"

enum choice { UNSAID, YES, NO };

/* What a command says of an entry. */
struct wish {
    const char *name;
    enum choice allocate, zero, page_tables, global_section, sysgbl;
    enum choice group_said, size_said, rad_said, new_rad_said; /* new_rad_said NO: no preference */
    uint32_t group;
    uint64_t size; /* MB */
    uint32_t rad, new_rad;
};

#define REGISTRY_WHY 160 /* bytes of the text of an error */

/* Each changes *g and returns the number of the entry's first record, or -1 with a text in `why`;
 * then *g is as before. registry_remove() returns -2 when no part of the entry is left. */
int registry_add(struct registry *g, const struct wish *w, char why[REGISTRY_WHY]);
int registry_modify(struct registry *g, const struct wish *w, char why[REGISTRY_WHY]);
int registry_extend(struct registry *g, const struct wish *w, char why[REGISTRY_WHY]);
int registry_remove(struct registry *g, const struct wish *w, char why[REGISTRY_WHY]);
#define REGISTRY_GONE (-2)
/* Number of records of the entry that begins with record `at`. */
uint32_t registry_records(const struct registry *g, uint32_t at);
/* Write the qualifiers of the entry at record `at`, in command syntax, with those of its parts. */
void registry_describe(const struct registry *g, uint32_t at, char *text, size_t size);

#endif
