/*
 * The configuration on the system disk: read, changed and written as a whole. What is written
 * counts at the next boot. Two sysmans exclude each other by a lock on the device file, from the
 * reading to the writing, so neither loses what the other has changed.
 */
#ifndef SYSMAN_DISK_H
#define SYSMAN_DISK_H

#include "sysman.h"
#include "sysman/config.h"

/* Find the system disk, lock its configuration, and read it into *c: of the copies that are whole
 * the newer one, or an empty configuration, with a warning, if none is. to_write: not if a copy
 * that would be replaced may be newer than what was read. Returns false after an error message;
 * then there is nothing to close. */
bool disk_open(struct config *c, bool to_write);
/* Write *c in place of the older copy, wait until it is safe, and close. Returns DONE, or FAILED
 * after an error message: the configuration that was read is still there. Killed at any moment, it
 * leaves the old configuration or *c. */
enum status disk_write(const struct config *c);
void disk_close(void);
/* The number of the configuration that was read last, or written since; 0: there was none. */
uint64_t disk_number(void);
/* The partition's name, while it is open. */
const char *disk_name(void);

#endif
