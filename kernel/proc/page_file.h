/*
 * Page files on disks and partitions, and the pager: the thread that writes pages to them when
 * memory is short. README.md describes both.
 */
#ifndef KERNEL_PROC_PAGE_FILE_H
#define KERNEL_PROC_PAGE_FILE_H

#include "kernel/base/types.h"

struct account;
struct block_volume;
struct validate;

/* Use a volume, which mkswap has prepared, as a page file. 0; -EINVAL: it has no header of mkswap,
 * or too few or too many pages; -EBUSY: it, or a part of it, is used already; -EROFS; -ENOSPC:
 * there are PAGEFILES_MAX; -ENOMEM; -EIO; -EINTR. IPL 0; waits. */
int page_file_on(const struct block_volume *v);
/* Bring everything back to memory that is in the page file of a volume, and use it no longer. 0;
 * -EINVAL: it is none; -ENOMEM: there is too little memory; -EIO: a page cannot be read; -EBUSY:
 * another one is being closed, or slots are still in use after four rounds over all processes;
 * after these errors it is used as before. -EINTR: the thread is to end, and the pager goes on. IPL
 * 0, no lock held; waits. */
int page_file_off(const struct block_volume *v);
/* The volume of page file number `file`, as pagefile_end() leaves it, is not used any more. IPL 0.
 */
void page_file_ended(const void *device);
/* The device of a volume's page file; NULL: it is none. */
const void *page_file_device(const struct block_volume *v);

/* Have the pager bring back what is in a page file, which is being closed, and end it. Results as
 * for page_file_off. IPL 0, no lock held; waits. */
int page_out_close(unsigned file, const void *device);
/* Have the pager look at once whether memory is short. IPL 0. */
void page_out_look(void);
/* Is there a page file, so that it may help to wait for memory? Any IPL. */
bool page_out_active(void);
/* Has nobody got memory for a while but what others lost at once? Any IPL. */
bool page_out_is_thrash(void);
/* Is what the current thread was refused last, memory or contents of files in memory, at the limit
 * of its user, a? Or has the user for a while got nothing but what other pages of his lost? IPL 0.
 */
bool page_out_is_full(const struct account *a);
/* Has a so little room that the attempt which was refused may need more? Then it is the limit that
 * refused it, though there is some room. IPL 0. */
bool page_out_is_limited(const struct account *a);
enum page_out_result {
    PAGE_OUT_AGAIN, /* there was some, so it is worth another try */
    PAGE_OUT_VAIN,  /* the pager could free none, or only what was needed again at once */
    PAGE_OUT_NONE   /* no page file, no shortage that can be seen, or the thread is to end */
};
/* The current thread got no memory, of the system's or of its user's (quota_refused): wait until
 * the pager has freed some, of the user's as much as it was refused; or find that waiting does not
 * help. IPL 0, no spinlock, no mutex that the pager takes; killable. */
enum page_out_result page_out_wait_result(void);
/* The same. True: PAGE_OUT_AGAIN. */
bool page_out_wait(void);
/* Call fn for each address space to which the pager has a reference: for the self-check, while all
 * threads are stopped. */
struct aspace;
void page_out_spaces(void (*fn)(struct aspace *as, void *arg), void *arg);
/* Boot, after the disks: the pager, if there are disks. */
void page_out_boot(void);

#endif
