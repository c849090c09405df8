/*
 * Reading a cpio archive in the "newc" format from memory. Every length is checked against the end
 * of the archive: a truncated or damaged archive ends early, and nothing outside [archive, archive
 * + nbytes) is read. Independent of the machine; takes no locks and allocates nothing.
 */
#ifndef KERNEL_BASE_CPIO_H
#define KERNEL_BASE_CPIO_H

#include "kernel/base/types.h"

struct cpio {
    const unsigned char *at, *end;
    bool damaged; /* ended without its trailer */
};

struct cpio_entry {
    const char *name; /* NUL-terminated, in the archive; usually without a leading slash */
    uint32_t mode, uid, gid, mtime;
    const unsigned char *data;
    uint32_t nbytes;
};

/* Start reading the archive, which must exist as long as c and its entries are used. */
void cpio_open(struct cpio *c, const void *archive, size_t nbytes);
/* Get the next entry. Returns false at the trailer, and where the archive is damaged
   (c->damaged). */
bool cpio_next(struct cpio *c, struct cpio_entry *e);
/* Find the entry of that name. Returns false when there is none. */
bool cpio_find(const void *archive, size_t nbytes, const char *name, struct cpio_entry *e);

#endif
