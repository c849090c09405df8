/* The clock of the library's time routines. */
#include "clock.h"

#include <time.h>

/* Days from 17-NOV-1858 to 1-JAN-1970: from the modified Julian date's origin to the clock's. */
#define ORIGIN_DAYS 40587

int64_t mega$clock(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return ORIGIN_DAYS * TICKS_PER_DAY + now.tv_sec * TICKS_PER_SECOND + now.tv_nsec / 100;
}
