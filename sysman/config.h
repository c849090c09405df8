/*
 * The parser of the configuration blob (sysman/FORMAT.md). It checks every length, accepts exactly
 * one encoding of a given configuration, and never reads outside [blob, blob + nbytes). It
 * allocates nothing, takes no lock, and does not depend on the machine; it is built for the host
 * too.
 */
#ifndef SYSMAN_CONFIG_H
#define SYSMAN_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/base/abi/megalith/registry.h"

#define CONFIG_MAX_BYTES         73728 /* longest blob */
#define CONFIG_MAX_PARAMS        128   /* records in the parameter section */
#define CONFIG_MAX_RESERVED      1000  /* records in the reserved-memory section */
#define CONFIG_PARAM_NAME_MAX    31
#define CONFIG_RESERVED_NAME_MAX 43      /* the same as for names of global sections */
#define CONFIG_RESERVED_MB_MAX   1048576 /* 1 TiB: all memory that KSEG maps */
#define CONFIG_GROUP_MAX         037777  /* UIC groups have 14 bits */
#define CONFIG_RAD_NONE          0xFFFFFFFFu
#define CONFIG_RAD_MAX           63u

/* With RMD_ALLOC the size of every part but the last is a multiple of this: what a level-3 page
   table maps. */
#define CONFIG_PART_MB 8u

struct config_param {
    char name[CONFIG_PARAM_NAME_MAX + 1];
    int64_t value;
};

struct registry_entry {
    char name[CONFIG_RESERVED_NAME_MAX + 1];
    uint32_t flags; /* RMD_* */
    uint32_t group; /* UIC group; 0 without RMD_GROUP */
    uint32_t rad;   /* domain; CONFIG_RAD_NONE: no preference */
    uint64_t megabytes;
};

struct registry {   /* in the order of the blob */
    uint32_t count; /* records, including further parts of entries */
    struct registry_entry entries[CONFIG_MAX_RESERVED];
};

struct config {
    uint32_t nparams;
    struct config_param params[CONFIG_MAX_PARAMS];
    struct registry registry;
};

enum config_error {
    CONFIG_OK,
    CONFIG_SHORT,   /* ends before the end of its header or before its stated length */
    CONFIG_MAGIC,   /* no configuration blob */
    CONFIG_VERSION, /* an unknown version, or one that does not agree with the entries */
    CONFIG_HEADER,  /* header length, or a field that must be zero */
    CONFIG_LENGTH,  /* stated length and real length differ, or it is too long */
    CONFIG_CHECKSUM,
    CONFIG_SECTION_TABLE, /* unknown or repeated type, wrong order, offset, length or count */
    CONFIG_TOO_MANY,      /* more records than the kernel's table has room for */
    CONFIG_NAME,          /* empty, not terminated, or an invalid byte */
    CONFIG_DUPLICATE,     /* two records of one name and scope, or two parts of one RAD */
    CONFIG_FLAGS,         /* flags that exclude each other, or unknown flags */
    CONFIG_PART,          /* a further part that does not follow its entry */
    CONFIG_VALUE,         /* size, group or RAD out of range */
};

struct config_result {
    enum config_error error;
    uint32_t offset; /* offset of the wrong field in the blob */
};

/* Parse the blob of nbytes into *out. After an error *out is empty. */
struct config_result config_parse(const void *blob, size_t nbytes, struct config *out);
/* The text of an error, which follows "the configuration blob"; constant. */
const char *config_error_text(enum config_error e);
/* CRC-32C (Castagnoli, reflected, as in iSCSI) of nbytes, continuing from crc (0 at the start). */
uint32_t config_crc32c(uint32_t crc, const void *p, size_t nbytes);

#endif
