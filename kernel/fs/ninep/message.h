/*
 * Messages of 9P2000.L: building requests and taking answers apart. Independent of the machine:
 * also built for the host. An answer is read by functions that never go beyond its end: after the
 * first one that would, all return zeroes and `bad` is set, which the caller asks once at the end.
 */
#ifndef KERNEL_FS_NINEP_MESSAGE_H
#define KERNEL_FS_NINEP_MESSAGE_H

#include "kernel/base/types.h"

enum ninep_type { /* of a request; that of its answer is one higher */
                  NINEP_LERROR = 6,
                  NINEP_STATFS = 8,
                  NINEP_LOPEN = 12,
                  NINEP_LCREATE = 14,
                  NINEP_SYMLINK = 16,
                  NINEP_MKNOD = 18,
                  NINEP_READLINK = 22,
                  NINEP_GETATTR = 24,
                  NINEP_SETATTR = 26,
                  NINEP_READDIR = 40,
                  NINEP_FSYNC = 50,
                  NINEP_LINK = 70,
                  NINEP_MKDIR = 72,
                  NINEP_RENAMEAT = 74,
                  NINEP_UNLINKAT = 76,
                  NINEP_VERSION = 100,
                  NINEP_ATTACH = 104,
                  NINEP_FLUSH = 108,
                  NINEP_WALK = 110,
                  NINEP_READ = 116,
                  NINEP_WRITE = 118,
                  NINEP_CLUNK = 120
};

#define NINEP_HEADER      7u  /* bytes: size[4] type[1] tag[2] */
#define NINEP_QID         13u /* bytes: type[1] version[4] path[8] */
#define NINEP_NO_TAG      0xFFFFu
#define NINEP_NO_FID      UINT32_MAX
#define NINEP_QID_DIR     0x80u
#define NINEP_QID_SYMLINK 0x02u

/* A message that is being built, or read. */
struct ninep_message {
    uint8_t *start, *at, *end;
    bool bad; /* it did not fit, or ended early */
};

struct ninep_qid {
    uint8_t type;
    uint32_t version;
    uint64_t path;
};

/* What the server tells of a file. Times are in ns since 1970. */
struct ninep_attributes {
    struct ninep_qid qid;
    uint32_t mode, uid, gid;
    uint64_t nlink, size, blocks;
    int64_t atime_ns, mtime_ns, ctime_ns;
};

struct ninep_statfs {
    uint32_t block_size;
    uint64_t blocks, free, available, files, files_free;
};

/* One entry of a directory; its name is part of the message. */
struct ninep_dirent {
    struct ninep_qid qid;
    uint64_t offset; /* where the next one is asked for */
    uint8_t type;
    const char *name;
    uint32_t len;
};

/* Begin a request in n bytes at buf; its size and tag are set at the end. */
void ninep_begin(struct ninep_message *m, void *buf, size_t n, enum ninep_type type);
void ninep_put(struct ninep_message *m, const void *p, size_t n);
static inline void ninep_put8(struct ninep_message *m, uint8_t v) { ninep_put(m, &v, sizeof(v)); }
static inline void ninep_put16(struct ninep_message *m, uint16_t v) { ninep_put(m, &v, sizeof(v)); }
static inline void ninep_put32(struct ninep_message *m, uint32_t v) { ninep_put(m, &v, sizeof(v)); }
static inline void ninep_put64(struct ninep_message *m, uint64_t v) { ninep_put(m, &v, sizeof(v)); }
void ninep_put_text(struct ninep_message *m, const char *text, size_t n);
/* Set size and tag. `more` bytes of data follow the message from elsewhere. */
void ninep_end(struct ninep_message *m, uint16_t tag, uint32_t more);

/* Begin to read an answer of which the device has written n bytes at buf (and, for a read, to
 * `data` bytes of further memory, which are part of n), to a request of this type and tag.
 * 0: *m is at its contents; a negative errno: what the server answered; -EPROTO: that cannot be an
 * answer to the request. */
int ninep_answer(struct ninep_message *m, void *buf, size_t room, size_t n, size_t data,
                 enum ninep_type type, uint16_t tag);
/* A number of n bytes, at most 8; 0: the answer ended early, and m is bad. */
uint64_t ninep_get(struct ninep_message *m, size_t n);
static inline uint8_t ninep_get8(struct ninep_message *m) { return (uint8_t)ninep_get(m, 1); }
static inline uint16_t ninep_get16(struct ninep_message *m) { return (uint16_t)ninep_get(m, 2); }
static inline uint32_t ninep_get32(struct ninep_message *m) { return (uint32_t)ninep_get(m, 4); }
static inline uint64_t ninep_get64(struct ninep_message *m) { return ninep_get(m, 8); }
void ninep_get_qid(struct ninep_message *m, struct ninep_qid *q);
/* A string of at most max bytes, which stays in the message. NULL: it is longer, and m is bad. */
const char *ninep_get_text(struct ninep_message *m, uint32_t max, uint32_t *len);
/* 0 or -EPROTO: the answer ended early, or has values that no file can have. */
int ninep_get_attributes(struct ninep_message *m, struct ninep_attributes *a);
int ninep_get_statfs(struct ninep_message *m, struct ninep_statfs *s);
/* The next entry of an answer to NINEP_READDIR. 1; 0: there is none; -EPROTO: it ends in the middle
 * of one, or has a name that no file can have. */
int ninep_get_dirent(struct ninep_message *m, struct ninep_dirent *d);

/* Is this one name of a file: neither empty nor too long, without a slash or NUL? */
bool ninep_is_name(const char *text, uint32_t len);

/* The negative errno for the number that a server on Linux has for an error; -EIO: unknown. */
int ninep_error(uint32_t number);

#endif
