/*
 * One function for each kind of request that a thread waits for. All: IPL 0, no spinlock. They
 * return 0 (or a number of bytes) or a negative errno: what the server answers, -EIO (no answer, or
 * none that makes sense), -EINTR (the thread is to end; the server may still do what was asked
 * for), -ENOMEM. Names and texts are not NUL-terminated where a length is given.
 */
#ifndef KERNEL_FS_NINEP_CALLS_H
#define KERNEL_FS_NINEP_CALLS_H

#include "kernel/fs/inode.h"
#include "kernel/fs/ninep/client.h"

/* How a file is opened, numbered as Linux does on most machines. */
#define NINEP_READ_ONLY  0u
#define NINEP_WRITE_ONLY 1u
#define NINEP_READ_WRITE 2u

/* What ninep_set_attributes changes. */
#define NINEP_SET_MODE  0x001u
#define NINEP_SET_UID   0x002u
#define NINEP_SET_GID   0x004u
#define NINEP_SET_SIZE  0x008u
#define NINEP_SET_ATIME 0x080u /* to that given, as is that of modification */
#define NINEP_SET_MTIME 0x100u

int ninep_attach(struct ninep_client *c, uint32_t fid, struct ninep_qid *q);
/* Make *fid, a new one, stand for what `name` is in dir; name NULL: for what dir itself is. */
int ninep_walk(struct ninep_client *c, uint32_t dir, const struct fs_name *name, uint32_t *fid,
               struct ninep_qid *q);
int ninep_getattr(struct ninep_client *c, uint32_t fid, struct ninep_attributes *a);
/* which: NINEP_SET_*; the fields of *a that it names count. */
int ninep_set_attributes(struct ninep_client *c, uint32_t fid, uint32_t which,
                         const struct ninep_attributes *a);
/* Open what fid stands for. */
int ninep_open(struct ninep_client *c, uint32_t fid, uint32_t how, struct ninep_qid *q);
/* Create a file in what *fid, a new one, stands for (a directory), and make it stand for the open
 * file instead. */
int ninep_create(struct ninep_client *c, uint32_t fid, const struct fs_name *name, uint32_t mode,
                 uint32_t gid);
/* mode with the type, of a directory, FIFO or socket. */
int ninep_make(struct ninep_client *c, uint32_t dir, const struct fs_name *name, uint32_t mode,
               uint32_t gid);
int ninep_symlink(struct ninep_client *c, uint32_t dir, const struct fs_name *name,
                  const char *target, uint32_t gid);
int ninep_link(struct ninep_client *c, uint32_t dir, const struct fs_name *name, uint32_t fid);
int ninep_unlink(struct ninep_client *c, uint32_t dir, const struct fs_name *name, bool directory);
int ninep_rename(struct ninep_client *c, uint32_t from, const struct fs_name *old, uint32_t to,
                 const struct fs_name *name);
/* The target of a symbolic link, up to n bytes of it. */
long ninep_readlink(struct ninep_client *c, uint32_t fid, char *buf, size_t n);
int ninep_sync(struct ninep_client *c, uint32_t fid, bool only_data);
int ninep_usage(struct ninep_client *c, uint32_t fid, struct ninep_statfs *s);
/* Entries of an open directory from `offset` on. 0: *call holds them in ->m, and the caller frees
 * it. */
int ninep_list(struct ninep_client *c, uint32_t fid, uint64_t offset, struct ninep_call **call);
/* Write n bytes, which begin at `within` in the first of the pages, at offset. The references to
 * the pages pass to the call. Returns how many bytes were written. */
long ninep_write(struct ninep_client *c, uint32_t fid, uint64_t offset, pfn_t *page,
                 uint32_t npages, uint32_t within, uint32_t n);

#endif
