/* Private to kernel/io: walks along a path, for the calls that change names. */
#ifndef KERNEL_IO_TREE_PRIVATE_H
#define KERNEL_IO_TREE_PRIVATE_H

#include "kernel/io/tree.h"

/* What a walk does with the last component: look it up; look it up with the directory's mutex held
 * exclusively, and keep the mutex; or leave it to the caller, except that a component with a
 * trailing slash is looked up to find out whether it is a symbolic link. */
enum last { LAST_LOOK, LAST_HOLD, LAST_NAME };

struct walk {
    struct inode *dir;   /* directory of the last component */
    struct inode *inode; /* what the last component names, with a reference; NULL: nothing */
    struct inode *own;   /* reference to dir; NULL: the caller's or the root's is used */
    struct inode *stale; /* reference to what it named before tree_walk_again_locked */
    char *held;          /* after a link was followed: a block of paged pool */
    /* The last component; its text is part of the path or of `held`. len 0: the path names the
     * directory itself. */
    struct fs_name last;
    struct inode *root;  /* what "/" is, and where ".." ends */
    uint32_t held_bytes; /* of `held` */
    uint32_t resolve;    /* RESOLVE_* */
    uint32_t moves;      /* with RESOLVE_BENEATH or _IN_ROOT: tree_moves when the walk began */
    bool slash;          /* the path ended in a slash, so it must name a directory */
    bool locked;         /* dir->lock is held exclusively */
    bool winding;        /* a link was followed, or the path has ".", "..", or two slashes behind a
                           component */
};

/* How often a directory has been moved to another one; atomic, and raised before each such move,
 * with rename_mutex held. */
extern uint32_t tree_moves;

/* Walk path, from dir if it is relative. On success w->dir is the directory of the last component
 * and w->inode what the component names, if anything. The caller calls tree_walk_end always.
 * -EINTR: the thread is to end, and would have had to wait for a directory. */
int tree_walk(const struct io_cred *cred, struct inode *dir, const char *path, bool follow,
              enum last how, struct walk *w);
void tree_walk_end_all(struct walk *w);
static inline void tree_walk_end(struct walk *w)
{
    if (unlikely(w->locked || w->stale || w->inode || w->held))
        tree_walk_end_all(w);
    else if (w->own)
        inode_unref(w->own);
}
/* Look the last component up again, after the walk, with w->dir now locked exclusively: the name
 * may refer to something else by now, and that counts. If it is now a symbolic link it is not
 * followed. */
int tree_walk_again_locked(struct walk *w);
/* Drop the reference that tree_walk_again_locked() leaves. Called with no directory locked, because
 * it may be the last one. */
void tree_walk_drop_stale(struct walk *w);

/* Check that the last component of w can be changed: it is a plain name in an existing directory to
 * which cred may write. w->dir is locked. */
int tree_may_change(const struct io_cred *cred, const struct walk *w);
/* The same for the removal of a name, which must exist. In a sticky directory (/tmp) only the owner
 * of the file or of the directory may remove it. */
int tree_may_remove(const struct io_cred *cred, const struct walk *w);

#endif
