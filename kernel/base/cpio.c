/*
 * Reading cpio archives in the "newc" format. An entry consists of a header of 110 characters (a
 * magic number and thirteen numbers of eight hexadecimal digits), the name with its NUL, padding to
 * a multiple of 4 bytes from the start of the header, the data, and padding to a multiple of 4
 * bytes. The size of the name may count further NULs, with which a writer aligns the data.
 */
#include "kernel/base/cpio.h"

#include "kernel/base/string.h"

#define HEADER 110u

enum field { F_INODE, F_MODE, F_UID, F_GID, F_NLINK, F_MTIME, F_SIZE, F_NAMESIZE = 11 };

/* Parse a number of the header. Returns false when a character is no hexadecimal digit. */
static bool number(const unsigned char *header, enum field f, uint32_t *out)
{
    const unsigned char *p = header + 6 + 8 * f;
    uint32_t v = 0;

    for (int i = 0; i < 8; i++) {
        unsigned char c = p[i];
        uint32_t digit;

        if (c >= '0' && c <= '9')
            digit = c - '0';
        else if (c >= 'A' && c <= 'F')
            digit = c - 'A' + 10u;
        else if (c >= 'a' && c <= 'f')
            digit = c - 'a' + 10u;
        else
            return false;
        v = v << 4 | digit;
    }
    *out = v;
    return true;
}

void cpio_open(struct cpio *c, const void *archive, size_t nbytes)
{
    c->at = archive;
    c->end = c->at + nbytes;
    c->damaged = false;
}

static uint64_t round4(uint64_t n) { return (n + 3) & ~UINT64_C(3); }

static bool damaged(struct cpio *c)
{
    c->at = c->end;
    c->damaged = true;
    return false;
}

bool cpio_next(struct cpio *c, struct cpio_entry *e)
{
    uint64_t left = (uint64_t)(c->end - c->at), data, after;
    uint32_t name_size;

    if (left < HEADER || memcmp(c->at, "070701", 6) != 0)
        return damaged(c);
    if (!number(c->at, F_MODE, &e->mode) || !number(c->at, F_UID, &e->uid) ||
        !number(c->at, F_GID, &e->gid) || !number(c->at, F_MTIME, &e->mtime) ||
        !number(c->at, F_SIZE, &e->nbytes) || !number(c->at, F_NAMESIZE, &name_size))
        return damaged(c);
    data = round4(HEADER + (uint64_t)name_size);
    after = data + round4(e->nbytes);
    /* The padding after the data may be missing at the end of the archive. */
    if (name_size == 0 || data > left || e->nbytes > left - data || c->at[HEADER + name_size - 1])
        return damaged(c);
    e->name = (const char *)c->at + HEADER;
    e->data = c->at + data;
    for (uint32_t n = (uint32_t)strlen(e->name); n < name_size; n++)
        if (e->name[n])
            return damaged(c);
    c->at = after < left ? c->at + after : c->end;
    if (strcmp(e->name, "TRAILER!!!") == 0) {
        c->at = c->end;
        return false;
    }
    return true;
}

bool cpio_find(const void *archive, size_t nbytes, const char *name, struct cpio_entry *e)
{
    struct cpio c;

    cpio_open(&c, archive, nbytes);
    while (cpio_next(&c, e))
        if (strcmp(e->name, name) == 0)
            return true;
    return false;
}
