/* Units of times, and the clock, for the files of the library. */
#ifndef CLOCK_H
#define CLOCK_H

#include <stdint.h>

#define TICKS_PER_SECOND 10000000L
#define TICKS_PER_DAY    (86400 * TICKS_PER_SECOND)
#define DELTA_DAYS_MAX   9999 /* the text of a delta has four digits for days */

/* The current time in units of 100 nanoseconds since 17-NOV-1858. Unit tests have their own. */
int64_t mega$clock(void);

#endif
