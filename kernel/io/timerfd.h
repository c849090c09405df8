/* Open files without a name that report events: counters (eventfd) and timers (timerfd). All
 * functions: IPL 0; results are 0 or a negative errno. */
#ifndef KERNEL_IO_TIMERFD_H
#define KERNEL_IO_TIMERFD_H

#include "kernel/io/file.h"

/* Create a counter. *out: its file with one reference. -ENFILE, -ENOMEM. */
int eventfd_create_file(uint32_t initial, bool semaphore, bool nonblock, struct file **out);
/* Is f such a counter? */
bool eventfd_is(const struct file *f);
/* Add 1 to it, if there is room. Any IPL up to IPL_DEVICE, spinlocks below RANK_EVENT. */
void eventfd_add(struct file *f);

/* Create a timer, off, of the wall clock or the monotonic one. *out: its file with one reference.
 * -ENFILE (also: the user may have no more timers), -ENOMEM. */
int timerfd_create_file(bool realtime, bool nonblock, struct file **out);
/* Set f's timer: `first` in ns from now, or if absolute the time of its clock; 0: off. The previous
 * setting goes to *left and *old_interval. -EINVAL: f is not a timer. May wait. */
int timerfd_set(struct file *f, bool absolute, uint64_t first, uint64_t interval, uint64_t *left,
                uint64_t *old_interval);
int timerfd_get(struct file *f, uint64_t *left, uint64_t *interval);

#endif
