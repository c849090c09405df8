/*
 * What the files of this folder share. Every name of /proc is described by a constant struct
 * proc_entry: its mode, and a function that produces its text or its link.
 */
#ifndef KERNEL_SYS_PROCFS_PROCFS_PRIVATE_H
#define KERNEL_SYS_PROCFS_PROCFS_PRIVATE_H

#include "kernel/fs/inode.h"
#include "kernel/proc/process.h"

/* A process, as an open file of /proc remembers it: a later process with the same pid is another
 * one. pid 0: no process. */
struct proc_id {
    uint32_t pid;
    uint32_t tid; /* of one of its threads; 0: the process as a whole */
    uint64_t start_ns;
};

static inline uint32_t proc_number(const struct proc_id *who)
{
    return who->tid ? who->tid : who->pid;
}

/* The text of one or more records, at most PROC_TEXT_BYTES. */
#define PROC_TEXT_BYTES 3072u
struct proc_text {
    char *at;
    size_t n;
};

/* Append to the text; what does not fit is cut off. */
void proc_print(struct proc_text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void proc_put(struct proc_text *t, const char *s, size_t n);

struct proc_inode;

struct proc_entry {
    const char *name;
    uint32_t mode; /* type and permissions */
    /* Regular files: append the record at *cursor, 0 at first, and set *cursor to the next one.
     * 1: there are more; 0: this was the last one; or a negative errno. */
    int (*show)(const struct proc_id *who, uint64_t *cursor, struct proc_text *t);
    /* Or the one record, of a file that is named by a number. 0 or a negative errno. */
    int (*record)(const struct proc_inode *i, struct proc_text *t);
    /* Or, instead of a text: copy n bytes between the file at an offset and ubuf. Their number, or
     * a negative errno. */
    long (*memory)(const struct proc_id *who, uint64_t offset, vaddr_t ubuf, size_t n, bool write);
    /* Symbolic links: copy up to n bytes of the text; their number, or a negative errno. */
    long (*readlink)(const struct proc_inode *i, char *buf, size_t n);
    /* Symbolic links that lead to an open or otherwise known file, whatever its name is: the inode
     * with a reference. NULL: the text is followed. */
    int (*follow)(const struct proc_inode *i, struct inode **out);
    /* Of a name in the root that is looked up often: its inode, which is always there. NULL: each
     * look-up creates one. */
    struct proc_inode *kept;
    /* Directories: a table of n entries. Names that come and go are in addition found by `find`
     * (-ENOENT) and listed by `next`: the first number from `from` on with its entry, or
     * -ENOENT. */
    const struct proc_entry *child;
    unsigned nchild;
    int (*find)(const struct proc_inode *dir, const struct fs_name *name, struct inode **out);
    int (*next)(const struct proc_inode *dir, uint64_t from, uint64_t *number,
                const struct proc_entry **entry);
};

/* Entries of tables: a text, a folder with a table of its own. */
#define PROC_TEXT(name_, show_) {.name = (name_), .mode = S_IFREG | 0444, .show = (show_)}
#define PROC_FOLDER(name_, table_) \
    {.name = (name_), .mode = S_IFDIR | 0555, .child = (table_), .nchild = ARRAY_SIZE(table_)}

struct proc_inode { /* nonpaged pool, but for the root */
    struct inode inode;
    const struct proc_entry *entry; /* constant, like the rest */
    struct proc_id who;
    uint32_t number; /* the name, of one that is a number */
};

static inline struct proc_inode *proc_inode_of(struct inode *i)
{
    return container_of(i, struct proc_inode, inode);
}

/* procfs.c: an inode for `entry` in the directory dir; number: of a name that is one. 0, -ENOMEM,
 * or -ENOENT when the process has ended. */
int proc_inode_create(const struct proc_inode *dir, const struct proc_entry *entry,
                      const struct proc_id *who, uint32_t number, struct inode **out);
/* The number that a name stands for, without leading zeroes. False: it is no number. */
bool proc_name_number(const struct fs_name *name, uint32_t *number);

/* reader.c: open files that show an entry's text. */
extern const struct file_ops proc_file_ops;

/* The current process, if it is the one, and has one thread: nobody else changes what the files
 * about it show of its identity and program, so no lock is needed. NULL: it is not so. */
static inline struct process *proc_if_self(const struct proc_id *who)
{
    struct process *p = process_self();

    return p && p->pid == who->pid && p->start_ns == who->start_ns && process_alone(p) ? p : NULL;
}
/* process.c: the process, live or zombie, or NULL when it has ended. Table lock held. */
struct process *proc_find_locked(const struct proc_id *who);
/* 0, -ENOENT; or -EACCES: the caller is neither the superuser nor the owner of the process. */
int proc_may_look_into(const struct proc_id *who);
extern const struct proc_entry proc_process_entry; /* the directory of a process */
/* The process that `name` is the pid of. */
int proc_find_process(const struct proc_inode *dir, const struct fs_name *name, struct inode **out);
int proc_next_process(const struct proc_inode *dir, uint64_t from, uint64_t *number,
                      const struct proc_entry **entry);

int proc_show_stat(const struct proc_id *who, uint64_t *cursor, struct proc_text *t);
int proc_show_status(const struct proc_id *who, uint64_t *cursor, struct proc_text *t);
int proc_show_comm(const struct proc_id *who, uint64_t *cursor, struct proc_text *t);

/* tasks.c: /proc/PID/task. */
int proc_find_task(const struct proc_inode *dir, const struct fs_name *name, struct inode **out);
int proc_next_task(const struct proc_inode *dir, uint64_t from, uint64_t *number,
                   const struct proc_entry **entry);

/* descriptors.c: /proc/PID/fd and fdinfo. */
int proc_find_fd(const struct proc_inode *dir, const struct fs_name *name, struct inode **out);
int proc_next_fd(const struct proc_inode *dir, uint64_t from, uint64_t *number,
                 const struct proc_entry **entry);
int proc_find_fdinfo(const struct proc_inode *dir, const struct fs_name *name, struct inode **out);
int proc_next_fdinfo(const struct proc_inode *dir, uint64_t from, uint64_t *number,
                     const struct proc_entry **entry);

/* maps.c */
int proc_show_maps(const struct proc_id *who, uint64_t *cursor, struct proc_text *t);
int proc_show_smaps(const struct proc_id *who, uint64_t *cursor, struct proc_text *t);
long proc_copy_memory(const struct proc_id *who, uint64_t offset, vaddr_t ubuf, size_t n,
                      bool write);
int proc_show_arguments(const struct proc_id *who, uint64_t *cursor, struct proc_text *t);
int proc_show_environment(const struct proc_id *who, uint64_t *cursor, struct proc_text *t);

/* network.c: /proc/net. */
#define PROC_NET_NAMES 1
extern const struct proc_entry proc_net_names[PROC_NET_NAMES];

/* sysctl.c: /proc/sys. */
#define PROC_SYS_NAMES 3
extern const struct proc_entry proc_sys_names[PROC_SYS_NAMES];

/* sysvipc.c: /proc/sysvipc. */
#define PROC_SYSVIPC 3
extern const struct proc_entry proc_sysvipc[PROC_SYSVIPC];

/* system.c: the names in /proc itself. */
extern const struct proc_entry proc_root_entry;
int proc_show_mounts(const struct proc_id *who, uint64_t *cursor, struct proc_text *t);

#endif
