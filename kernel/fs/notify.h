/*
 * Watches of inodes: whoever wants to know what happens to a file, or to the names in a directory
 * and the files that have them, puts a watch on the inode. kernel/io/inotify.c implements inotify
 * on top of it.
 *
 * A file that nobody watches costs the test of one word of its inode (notify()). The word says
 * that the inode has watches, or that the directory of its known name may have some; the latter may
 * be out of date, and is then cleared by the next event.
 *
 * The watches of an inode are a list, under one of some mutexes (MUTEX_NOTIFY), which is the last
 * of all. A report is made with that mutex held, so a watch that was taken off reports nothing
 * any more. Nothing bounds the watches of an inode but the number of users, each of whom has a
 * limited number of them (QUOTA_INOTIFY): the mutex is held for some hundred instructions for each.
 *
 * All functions: IPL 0, and may wait. notify() is called with no mutex held.
 */
#ifndef KERNEL_FS_NOTIFY_H
#define KERNEL_FS_NOTIFY_H

#include "kernel/fs/inode.h"

/* Events, as programs see them. */
#define IN_ACCESS        0x1u
#define IN_MODIFY        0x2u
#define IN_ATTRIB        0x4u
#define IN_CLOSE_WRITE   0x8u
#define IN_CLOSE_NOWRITE 0x10u
#define IN_OPEN          0x20u
#define IN_MOVED_FROM    0x40u
#define IN_MOVED_TO      0x80u
#define IN_CREATE        0x100u
#define IN_DELETE        0x200u
#define IN_DELETE_SELF   0x400u
#define IN_MOVE_SELF     0x800u
#define IN_ALL_EVENTS    0xFFFu
#define IN_UNMOUNT       0x2000u
#define IN_Q_OVERFLOW    0x4000u
#define IN_IGNORED       0x8000u
#define IN_ISDIR         0x40000000u
#define IN_ONESHOT       0x80000000u
/* Those that the files of a watched directory report. */
#define IN_OF_CHILDREN \
    (IN_ACCESS | IN_MODIFY | IN_ATTRIB | IN_CLOSE_WRITE | IN_CLOSE_NOWRITE | IN_OPEN)

/* Bits of inode.notify. */
#define NOTIFY_SELF   0x1u /* has watches; changed with its mutex held */
#define NOTIFY_PARENT 0x2u /* the directory of its known name may have watches */

/* What happened. */
struct notify_event {
    uint32_t mask;   /* IN_*; one event, and perhaps IN_ISDIR */
    uint32_t cookie; /* the same number for the two halves of a move; else 0 */
    const char *name;
    uint32_t len; /* of the name, without a NUL; 0: the event is of the watched inode itself */
};

struct notify_watch {
    struct notify_watch *next; /* of the same inode; its mutex */
    struct inode *inode;       /* NULL: it is on none any more; the mutex */
    const void *owner;         /* an inode has at most one watch of each; constant */
    uint32_t mask;             /* IN_*; the mutex */
    uint32_t place;            /* which mutex; set once, when it is put on an inode */
    /* Report e, which is in the mask. */
    void (*report)(struct notify_watch *w, const struct notify_event *e);
    /* w was taken off its inode, by notify_drop(), after IN_ONESHOT, or because the inode ended. */
    void (*ended)(struct notify_watch *w);
};

/* How add is to treat a watch of the same owner that the inode has already. */
enum notify_how { NOTIFY_REPLACE, NOTIFY_MERGE, NOTIFY_NEW };

/* Put w on i, to which the caller has a reference, with its mask; or change the mask of the one
 * that w->owner has there. `entered` is called with the mutex held, for w before it can report, or
 * for the other. Returns what that returns, if it is negative with nothing changed; -EEXIST:
 * NOTIFY_NEW, and there is one; -EINTR: the thread is to end. */
int notify_add(struct inode *i, struct notify_watch *w, enum notify_how how,
               int (*entered)(struct notify_watch *w, bool new));
/* Have the files in the directory i report to it. 0, or -EINTR: the thread is to end. */
int notify_children(struct inode *i);
/* Take w off its inode, unless it was taken off before: then false. The caller has a reference to
 * w. */
bool notify_drop(struct notify_watch *w);

/* Something happened to i. The names of other functions that report begin with notify_, too; they
 * are called when inode.notify is not 0. */
void notify_event(struct inode *i, uint32_t mask);
static inline bool notify_wanted(const struct inode *i)
{
    return unlikely(__atomic_load_n(&i->notify, __ATOMIC_RELAXED) != 0);
}
static inline void notify(struct inode *i, uint32_t mask)
{
    if (notify_wanted(i))
        notify_event(i, mask);
}
/* Something happened to i alone, whatever its directory wants to know. Mutexes of directories may
 * be held. */
void notify_self(struct inode *i, uint32_t mask);
/* The directory dir has got, or lost, a name of an inode. dir->lock is held exclusively. */
void notify_name(struct inode *dir, const struct fs_name *name, const struct inode *i,
                 uint32_t mask, uint32_t cookie);
/* i has a name in dir now. As above. */
void notify_entered(struct inode *dir, struct inode *i);
/* A name of i was removed. Directories may be locked; the caller has a reference to i. */
void notify_unlinked(struct inode *i);
/* The last reference to i was dropped: its watches end. */
void notify_ended(struct inode *i);
void notify_boot(void);
/* A number for the two halves of a move. */
uint32_t notify_cookie(void);

#endif
