/*
 * Reading a cpio archive in the "newc" format, in memory. Pure; every length is checked against the
 * archive's end, so that a cut or damaged one ends early and nothing outside [archive, archive +
 * nbytes) is read.
 */
#ifndef KERNEL_BASE_CPIO_H
#define KERNEL_BASE_CPIO_H

#include "kernel/base/types.h"

struct cpio {
    const unsigned char *at, *end;
    bool damaged; /* ended without its trailer */
};

struct cpio_entry {
    const char *name; /* terminated; as it stands there, usually without a leading slash */
    uint32_t mode, uid, gid, mtime;
    const unsigned char *data;
    uint32_t nbytes;
};

void cpio_open(struct cpio *c, const void *archive, size_t nbytes);
/* The next entry; false at the trailer and where the archive is damaged. */
bool cpio_next(struct cpio *c, struct cpio_entry *e);
/* The contents of a file by its name; false when it is not there. */
bool cpio_find(const void *archive, size_t nbytes, const char *name, struct cpio_entry *e);

#endif
