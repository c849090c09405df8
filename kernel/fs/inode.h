/*
 * Inodes: the files and directories that names refer to, independent of the file system. struct
 * inode holds what all file systems have in common. A file system embeds it in a structure of its
 * own and implements the table inode_ops. How names are stored and ordered, and where a file's
 * bytes come from, is known to the file system alone.
 *
 * The bytes of a regular file are the pages of its memory object, and the file system is the
 * object's pager. So read, write and mappings use the same pages, and the functions for contents
 * below work for every file system.
 *
 * References: every directory entry in memory, open file, working directory and child directory (to
 * its parent) holds one. Dropping the last one calls inode_ops.end.
 *
 * Locks. An inode's mutex protects a regular file's size and contents (MUTEX_INODE) or a
 * directory's entries (MUTEX_DIRECTORY): it is held shared to look up and to read, exclusively to
 * change. A thread holds the mutex of one directory at a time, except to remove and to move
 * directories. The order:
 *
 *   rename_mutex
 *   directories
 *   one file
 *   an address space (by a fault while user memory is copied)
 *
 * 1. A thread that holds two directories' mutexes holds rename_mutex exclusively
 *    (kernel/sched/lockcheck.c checks that). So at most one thread at a time waits for a directory
 *    while it holds another, and no deadlock is possible, in whatever order it takes them. Without
 *    this rule, one thread that moves /a/x to /b holds a and waits for b, while another that moves
 *    /b/y to /a holds b and waits for a.
 * 2. The parent and the name of a directory change, and a directory is removed, only with
 *    rename_mutex held exclusively. So a thread that holds it, exclusively or shared, can walk from
 *    parent to parent. Without this rule, two moves at the same time, of /a below /b/c and of /b
 *    below /a/d, each find that their target is not below their source, and together they detach a
 *    cycle of directories from the root.
 * 3. `parent` changes only with the directory's own mutex held exclusively, too, and a directory
 *    without a parent (a removed one) accepts no new name. So a look-up of ".." needs that mutex
 *    only, and a directory that rmdir found empty stays empty. Without this rule, a file can be
 *    created in the directory between rmdir's check and the removal, and can then never be reached
 *    or removed.
 * 4. A look-up takes its reference before it releases the mutex: afterwards the name may be
 *    removed, and with it the inode's last other reference.
 */
#ifndef KERNEL_FS_INODE_H
#define KERNEL_FS_INODE_H

#include "kernel/fs/stat.h"
#include "kernel/sched/mutex.h"

struct file_locks;
struct file_ops;
struct notify_watch;
struct mm_object;
struct validate;

/* Maximum length of a file: 2^24 pages, 128 GiB. */
#define INODE_MAX_PAGES (UINT64_C(1) << 24)
#define INODE_MAX_BYTES (INODE_MAX_PAGES * PAGE_SIZE)

#define PATH_MAX 4096u /* bytes of a path with its NUL */
#define NAME_MAX 255u  /* bytes of one name */

struct pipe;
struct inode_ops;

/* What was freed for want of memory: nothing; pages that programs have mapped and may be using, so
 * that it does not last; others. */
enum fs_reclaimed { FS_RECLAIMED_NONE, FS_RECLAIMED_MAPPED, FS_RECLAIMED };

/*
 * The part of a file system that other code sees. A file system other than the first one covers a
 * directory (inode.covered_by): a look-up of that directory's name finds the root that covers it,
 * whose parent is the parent of the directory. So paths lead from one file system into another, and
 * no name can be moved or linked between them.
 */
struct fs {
    const char *name;   /* constant */
    char source[24];    /* what it was made of, as /proc/mounts shows it; "": nothing; constant */
    bool keeps;         /* an inode exists while it has a name; constant */
    bool read_only;     /* nothing in it can be changed; once it is, it stays so; atomic */
    struct inode *root; /* constant. The file system holds a reference */
    struct fs *next;    /* next mounted one; the lock of mounts (kernel/io/mount.c) */
    uint32_t visits; /* by those that go through all file systems: it stays meanwhile; atomic, risen
                        with that lock */
    struct inode *covered; /* the directory that it covers, with a reference; constant while it is
                              mounted, and so while an inode of it is in use; NULL: the first one */
    uint32_t dev;          /* constant: st_dev of its files, from fs_new_dev() */
    /* Fill in *u, which is all zeroes. IPL 0. */
    void (*usage)(const struct fs *fs, struct fs_usage *u);
    /* Write back what is kept here only, and wait until that is done or has failed. NULL: there is
     * no other storage. IPL 0. */
    void (*sync)(const struct fs *fs);
    /* Memory is short: free some of what is kept here and can be had again. NULL: there never is
     * any. IPL 0, no mutex held. */
    enum fs_reclaimed (*reclaim)(const struct fs *fs);
    /* The self-check (mm/check/validate.h), but for the first file system: report the pages of all
     * files. NULL: there are none. */
    void (*validate)(struct validate *v, const struct fs *fs);
    /* Of a file system that can be unmounted; NULL, all three: it stays. settle: let go of inodes
     * that are kept, but that nobody uses, and wait for what is under way. 0, or -EINTR. is_unused:
     * has nobody any inode, but for the caller, who has one reference to the root? Nobody gets one
     * meanwhile by a path. Waits for nothing. end: it is not mounted any more, and unused: free
     * it. IPL 0; settle and end with no lock held. */
    int (*settle)(struct fs *fs);
    bool (*is_unused)(struct fs *fs);
    void (*end)(struct fs *fs);
    /* The machine is about to end, and other programs still run: from now on nothing changes any
     * more, and what was changed is safe. What is under way is waited for until deadline_ns by
     * clock_ns() only. NULL: there is nothing to do. IPL 0. */
    void (*finish)(struct fs *fs, uint64_t deadline_ns);
    void *private; /* of the file system; constant */
};

/* In nonpaged pool, because pagers read it inside faults. */
struct inode {
    uint32_t refs;           /* atomic */
    uint32_t mode, uid, gid; /* atomic; changed by inode_set_mode and inode_set_owner */
    uint32_t nlink;          /* atomic; 0: there is no name, and none can be added */
    uint32_t rdev;           /* constant; device number */
    uint32_t notify;         /* NOTIFY_*; 0: nobody wants to know what happens to it; atomic */
    uint32_t failed;         /* the last write-back that failed: inode_write_failed(); atomic */
    uint64_t ino;            /* constant; a file system may replace that of inode_init() */
    uint64_t size;           /* atomic; changed with lock held exclusively */
    /* Last read, change of contents, change of anything; ns since 1970; atomic. A read sets atime
     * only if it is not later than the other two: inode_accessed(). */
    int64_t atime_ns, mtime_ns, ctime_ns;
    struct mutex lock;           /* the inode's mutex, see above */
    const struct inode_ops *ops; /* constant */
    struct fs *fs;               /* constant */
    struct mm_object *object;    /* regular file: constant, holds a reference; else NULL */
    /* Of a file without a name (memfd_create): what may not be done with it any more, SEAL_*; bits
     * are only added, with lock held exclusively. */
    uint32_t seals;
    bool memfd;                   /* made by memfd_create; constant */
    struct pipe *fifo;            /* FIFO: its pipe while it is open (kernel/io/fifo.c) */
    struct notify_watch *watches; /* kernel/fs/notify.c; its mutex */
    struct file_locks *locks;     /* kernel/io/lock.c; NULL: nobody has or wants one */
    /* Directory: root of the file system mounted here, or NULL. Changed with rename_mutex and the
     * lock of the parent held exclusively: so who has found this name with that lock held, and
     * takes a reference before it drops it, cannot come too late for an unmount to notice. */
    struct inode *covered_by;
    /* Directory: holds a reference; rules 2 and 3 protect it. NULL: removed, or not a directory. */
    struct inode *parent;
};

/* One name, to be looked up or entered: 1 to NAME_MAX bytes, without a slash, neither "." nor
 * "..". */
struct fs_name {
    const char *text; /* not NUL-terminated */
    uint32_t len;
    uint32_t hash; /* of its bytes, with a key of this boot (name.h) */
    uint64_t few;  /* its first eight bytes, the lowest first, with zeroes behind its end */
};

/* Attributes of an inode to create. */
struct fs_new {
    uint32_t mode, uid, gid; /* mode includes the file type */
    uint32_t rdev;           /* of a device */
    const char *target;      /* of a symbolic link, shorter than PATH_MAX */
};

/* Attributes to change. */
struct fs_change {
    uint32_t which;             /* FS_SET_* */
    uint32_t mode;              /* permission bits */
    uint32_t uid, gid;          /* UINT32_MAX: unchanged */
    int64_t atime_ns, mtime_ns; /* TIME_UNCHANGED: unchanged */
};
#define FS_SET_MODE  0x1u
#define FS_SET_OWNER 0x2u
#define FS_SET_TIMES 0x4u

/* A directory entry, as readdir and name_of return it. */
struct fs_entry {
    uint64_t ino, cookie;
    uint32_t mode, len;
    char text[NAME_MAX + 1]; /* with a NUL */
};

/*
 * The operations of a file system. All are called at IPL 0 and may wait. Besides the errors named
 * here they may fail with -EIO and other errors of their medium, and with -ENOMEM or -ENOSPC where
 * something is added. The caller checks permissions and types. A call that fails has changed
 * nothing.
 */
struct inode_ops {
    /* Look `name` up. 0 with a reference in *out, or -ENOENT. dir->lock is held, at least
     * shared. */
    int (*lookup)(struct inode *dir, const struct fs_name *name, struct inode **out);
    /* Create an inode under `name`, which does not exist yet; unless out is NULL, *out gets it with
     * a reference. dir->lock is held exclusively, and dir is not removed. */
    int (*create)(struct inode *dir, const struct fs_name *name, const struct fs_new *what,
                  struct inode **out);
    /* Enter a further name of i, which is of the same file system and not a directory. -ENOENT: the
     * last name of i was removed meanwhile. Locks as for create. */
    int (*link)(struct inode *dir, const struct fs_name *name, struct inode *i);
    /* Remove `name`, which refers to i. dir->lock, and for a directory rename_mutex and i->lock,
     * are held exclusively; the caller has a reference to i. -ENOTEMPTY: i is a directory with
     * names. */
    int (*unlink)(struct inode *dir, const struct fs_name *name, struct inode *i);
    /* Replace the name `old` of i in `from` by the name `to_name` in `to`, where it replaces that
     * of `replaced`, which is of i's type (NULL: there is none). from->lock and to->lock, and for
     * directories rename_mutex and the locks of i and replaced, are held exclusively; the caller
     * has references to i and replaced. i is not an ancestor of to. -ENOTEMPTY: replaced is a
     * directory with names. */
    int (*rename)(struct inode *from, const struct fs_name *old, struct inode *i, struct inode *to,
                  const struct fs_name *to_name, struct inode *replaced);
    /* The first name whose cookie is above pos; pos is at least 2 (1 and 2 stand for "." and "..").
     * A name keeps its cookie, and no later name gets the same. dir->lock is held, at least shared.
     * -ENOENT: there are no more. */
    int (*readdir)(struct inode *dir, uint64_t pos, struct fs_entry *e);
    /* Exchange the names `name` of i in dir and `other` of j in `to`. Locks and references as for
     * rename, for both directories if i or j is one; neither is an ancestor of the other's
     * directory. */
    int (*exchange)(struct inode *dir, const struct fs_name *name, struct inode *i,
                    struct inode *to, const struct fs_name *other, struct inode *j);
    /* Create a file without a name, no directory, which `link` may give one if linkable. NULL:
     * there are none. dir, of the file system, is not locked. */
    int (*create_unnamed)(struct inode *dir, const struct fs_new *what, bool linkable,
                          struct inode **out);
    /* The name of dir, which has a parent. rename_mutex is held, at least shared. */
    int (*name_of)(struct inode *dir, struct fs_entry *e);
    /* One of the names of i, which is no directory, and the directory that has it, with a
     * reference. -ENOENT: it has none, or none is known. No lock is held. NULL: none is ever
     * known. */
    int (*place_of)(struct inode *i, struct inode **dir, struct fs_entry *e);
    /* Copy up to n bytes of a symbolic link's target, without a NUL. Returns their number. The
     * target is constant. */
    long (*readlink)(struct inode *i, char *buf, size_t n);
    /* A symbolic link that leads to an inode whatever its text says: that inode, with a reference.
     * -EOPNOTSUPP: the text is to be followed. NULL: it always is. No lock is held. */
    int (*follow)(struct inode *i, struct inode **out);
    /* Change the length of a regular file and of its object to `size` bytes; bytes that are added
     * read as zeroes. i->lock is held exclusively. killable: a thread that is to end may stop on
     * the way to a lower length, with -EINTR: then the file has been truncated in part, or not at
     * all. */
    int (*resize)(struct inode *i, uint64_t size, bool killable);
    /* Drop the pages [first, first + n) of a regular file's object, to be zeroes when they are read
     * again. n 0: nothing is changed but told whether that can be done. i->lock is held
     * exclusively. NULL: they can only be overwritten. */
    int (*discard)(struct inode *i, uint64_t first, uint64_t n);
    /* Have storage for the n bytes of a regular file at offset, and with `grow` make it as long as
     * they reach. i->lock is held exclusively. NULL: its pages are its storage. */
    int (*allocate)(struct inode *i, uint64_t offset, uint64_t n, bool grow);
    /* i is about to be used, as an open file or a program: find out whether it has changed
     * elsewhere; its contents will be read, and with `write` written. No lock is held. NULL:
     * nothing to do. */
    int (*open)(struct inode *i, bool write);
    /* Change attributes where they are stored, and in i. No lock is held. NULL: they are nowhere
     * but in i. */
    int (*change)(struct inode *i, const struct fs_change *to);
    /* Page `index` of a regular file, which is not in memory, and n - 1 more are about to be read:
     * begin to fetch as many as seems good. i->lock is held, at least shared. NULL: no need to. */
    void (*will_read)(struct inode *i, uint64_t index, uint64_t n);
    /* Write n bytes at offset to a regular file, from kernel memory or, if that is NULL, from user
     * memory. i->lock is held exclusively. Returns the number of bytes, or an error if there are
     * none. NULL: they are written to the pages of the object, which are all there is. */
    long (*write)(struct inode *i, uint64_t offset, vaddr_t ubuf, const void *kbuf, size_t n);
    /* Have all that was written to i, through mappings too, where it survives the machine's end;
     * only_data: attributes other than the length may wait. No lock is held. NULL: nothing does. */
    int (*sync)(struct inode *i, bool only_data);
    /* The last reference was dropped: free the inode. */
    void (*end)(struct inode *i);
    /* The operations of its open regular files; NULL: those that use the pages of the object. */
    const struct file_ops *file_ops;
};

/* Protects the parent links of directories: rules 1 and 2. MUTEX_RENAME. */
extern struct mutex rename_mutex;

/* A number for another file system. */
uint32_t fs_new_dev(void);
/* The fs_name of len bytes at text, with its hash; any len above 0. */
struct fs_name fs_name(const char *text, size_t len);

static inline bool inode_is_dir(const struct inode *i)
{
    return (__atomic_load_n(&i->mode, __ATOMIC_RELAXED) & S_IFMT) == S_IFDIR;
}

/* Initialise a new inode, which is all zeroes, with one reference and no name. */
void inode_init(struct inode *i, struct fs *fs, const struct inode_ops *ops,
                const struct fs_new *what);
/* The last reference was dropped: its watches end, and it is freed. */
void inode_end(struct inode *i);
static inline void inode_ref(struct inode *i) { __atomic_fetch_add(&i->refs, 1, __ATOMIC_RELAXED); }
/* Drop a reference. IPL 0; no directory's lock is held if it may be the last one, because then it
 * may wait. */
static inline void inode_unref(struct inode *i)
{
    if (__atomic_fetch_sub(&i->refs, 1, __ATOMIC_RELEASE) == 1)
        inode_end(i);
}
/* Is gid the group of cred, or one of its supplementary groups? */
bool io_in_group(const struct io_cred *cred, uint32_t gid);
/* Replace the groups by n others, in ascending order, at most IO_GROUPS_MAX. Under a lock that
   keeps out other writers and preemption: readers wait. */
void io_groups_set(struct io_groups *g, const uint32_t *gid, uint32_t n);
/* Copy the groups, which may change meanwhile. Any IPL. */
void io_groups_get(const struct io_groups *g, struct io_groups *to);
/* How long a write or a truncation by the current process may make a file, in bytes; exceeded: it
 * would be longer, and the process gets its signal for that. NULL: any length. kernel/proc sets it
 * at boot. */
extern uint64_t (*file_size_limit)(bool exceeded);
/* Does cred have the access of mask (4 read, 2 write, 1 execute)? 0 or -EACCES. */
int inode_access(const struct inode *i, const struct io_cred *cred, unsigned mask);
void inode_stat(const struct inode *i, struct file_stat *st);
#define SEAL_SEAL         0x1u /* adding further ones */
#define SEAL_SHRINK       0x2u
#define SEAL_GROW         0x4u
#define SEAL_WRITE        0x8u
#define SEAL_FUTURE_WRITE 0x10u /* as SEAL_WRITE, but writable mappings that exist stay */

/* Set the permission bits; the owner and group (UINT32_MAX: unchanged). The caller has checked
 * permissions. 0, or the file system's error. IPL 0. */
int inode_set_mode(struct inode *i, uint32_t mode);
int inode_set_owner(struct inode *i, uint32_t uid, uint32_t gid);
/* Set the times of the last read and of the last change of contents, in ns since 1970
 * (TIME_UNCHANGED: not). Otherwise as above. */
#define TIME_UNCHANGED INT64_MIN
int inode_set_times(struct inode *i, int64_t atime_ns, int64_t mtime_ns);
/* The contents or the owner of a file of this mode change: the bits of the mode that it loses, with
 * what it was trusted with as a program. (The kernel itself ignores them; copies of the file
 * elsewhere may not.) */
static inline uint32_t inode_set_id_bits(uint32_t mode)
{
    uint32_t bits = S_ISUID | (mode & 010 ? S_ISGID : 0);

    return unlikely(mode & bits) && (mode & S_IFMT) == S_IFREG ? mode & bits : 0;
}
/* i is about to be used: inode_ops.open. */
static inline int inode_open(struct inode *i, bool write)
{
    return unlikely(i->ops->open != NULL) ? i->ops->open(i, write) : 0;
}
/* inode_ops.sync. */
static inline int inode_sync(struct inode *i, bool only_data)
{
    return i->ops->sync ? i->ops->sync(i, only_data) : 0;
}
/*
 * Writing back what was stored earlier has failed with err, a negative errno. Each open file is
 * told once, by inode_failure(), which remembers in *seen what it has told: 0, or an error that is
 * new. *seen begins as inode_failures_seen(): an error that nobody was told of is told to the next
 * one. Any IPL.
 */
void inode_write_failed(struct inode *i, int err);
uint32_t inode_failures_seen(const struct inode *i);
int inode_failure(struct inode *i, uint32_t *seen);
/* The contents changed at this time; just now. Something else changed just now: attributes, the
 * number of names. */
void inode_changed_at(struct inode *i, int64_t ns);
void inode_touch(struct inode *i);
void inode_touch_attributes(struct inode *i);
/* The contents were read. Most reads of a file are of no interest to those who ask for this time,
 * and cost a comparison only: it is set when it is not later than the last change (relatime). */
void inode_set_accessed(struct inode *i);
static inline void inode_accessed(struct inode *i)
{
    int64_t at = __atomic_load_n(&i->atime_ns, __ATOMIC_RELAXED);

    if (unlikely(at <= __atomic_load_n(&i->mtime_ns, __ATOMIC_RELAXED) ||
                 at <= __atomic_load_n(&i->ctime_ns, __ATOMIC_RELAXED)))
        inode_set_accessed(i);
}

/* Contents of regular files. Read n bytes at offset into kernel memory. Returns the number of
 * bytes, fewer at the end of the file, or a negative errno. Takes i->lock; waits. */
long inode_read(struct inode *i, uint64_t offset, void *buf, size_t n);
/* Read or write n bytes at offset, to or from user memory. Results and lock as for inode_read. */
long inode_read_user(struct inode *i, uint64_t offset, vaddr_t ubuf, size_t n);
long inode_write_user(struct inode *i, uint64_t offset, vaddr_t ubuf, size_t n);
#define INODE_APPEND UINT64_MAX /* as offset of a write: the end of the file */
/* Write from kernel memory. */
long inode_write(struct inode *i, uint64_t offset, const void *buf, size_t n);
long inode_write_locked(struct inode *i, uint64_t offset, const void *buf, size_t n);
/* The same with i->lock held by the caller: at least shared to read, exclusively to write. */
long inode_read_user_locked(struct inode *i, uint64_t offset, vaddr_t ubuf, size_t n);
long inode_write_user_locked(struct inode *i, uint64_t offset, vaddr_t ubuf, size_t n);
/* Change the length to size bytes. 0; -EINVAL: not a regular file; -EFBIG: above INODE_MAX_BYTES;
 * -EINTR: the thread is to end, and the file may have been truncated in part;
 * or an error of resize. Takes i->lock; waits. */
int inode_truncate(struct inode *i, uint64_t size);

/* Do the seals of i permit that it becomes size bytes long, and that bytes of it change? 0 or
 * -EPERM. i->lock is held. */
int inode_check_seals(const struct inode *i, uint64_t size, bool write);
/* Ranges of bytes (inode_range.c): [offset, offset + n) is within INODE_MAX_BYTES, and i is a
 * regular file. 0, or -EINTR, -ENOSPC, or the pager's error: then a part may be done. Take i->lock.
 * inode_allocate: have the pages in memory, and with `grow` make the file as long as the range.
 * inode_clear: make the range read as zeroes, and free what pages of it can be freed. */
int inode_allocate(struct inode *i, uint64_t offset, uint64_t n, bool grow);
int inode_clear(struct inode *i, uint64_t offset, uint64_t n, bool grow);

/* The self-check (mm/check/validate.h): count the pages of i's object. */
void inode_validate(struct validate *v, struct inode *i);

#endif
