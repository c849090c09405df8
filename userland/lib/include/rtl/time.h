/*
 * Times: system services and library routines. A time is a quadword of 100-nanosecond units. From 0
 * on it is absolute, counted from 17-NOV-1858 00:00; a negative one is a delta, whose length is its
 * amount. Times are passed by reference. The system's time is that of the machine's clock; there
 * are no time zones.
 *
 * Text: " 1-JAN-2001 12:34:56.78" (23 characters), "   5 12:34:56.78" (16). An argument that must
 * be there and is 0 gives SS$_ACCVIO. docs/services.md lists the condition values.
 */
#ifndef RTL_TIME_H
#define RTL_TIME_H

#include <rtl/optional.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The current time. flags, of later versions, are not looked at. */
int sys$gettim(void *timadr, unsigned int flags);
/* Year, month, day, hour, minute, second, hundredths of a time, or of now if timadr is 0. For a
 * delta, year and month are 0 and the day is the number of days. SS$_IVTIME for 10,000 days. */
int sys$numtim(unsigned short *timbuf, void *timadr);
/* Text of a time, or of now if timadr is 0; hundredths are cut off. With bit 0 of cvtflg only the
 * time of day. A shorter buffer gets the first characters, and SS$_BUFFEROVF, a success, is
 * returned; timlen, unless 0, gets the number of characters written. SS$_IVTIME for a delta of
 * 10,000 days, and after 31-DEC-9999. */
int sys$asctim(unsigned short *timlen, void *timbuf, void *timadr, char cvtflg);
/* The time of a text, SS$_IVTIME if it is none. With a hyphen in its first word it is absolute, and
 * fields left out are those of now; without it is a delta, and they are 0. */
int sys$bintim(void *timbuf, void *timadr);

/* Days since 17-NOV-1858 of a time, and hundredths of a second since its midnight; of now if
 * user_time is 0. The days of a delta are negative. */
int lib$day(int *number_of_days, const void *user_time, int *day_time);
/* 1 is Monday, 7 Sunday. */
int lib$day_of_week(const void *user_time, unsigned int *day_number);
int lib$add_times(const void *time1, const void *time2, void *resultant_time);
int lib$sub_times(const void *time1, const void *time2, void *resultant_time);
int lib$mult_delta_time(const int *multiplier, void *delta_time);
int lib$multf_delta_time(const float *multiplier, void *delta_time);
/* Operations are LIB$K_ constants of <libdtdef.h>. float is the format of IEEE here. */
int lib$cvt_from_internal_time(const unsigned int *operation, unsigned int *resultant_time,
                               const void *input_time);
int lib$cvt_to_internal_time(const unsigned int *operation, const int *input_time,
                             void *resultant_time);
int lib$cvtf_from_internal_time(const unsigned int *operation, float *resultant_time,
                                const void *input_time);
int lib$cvtf_to_internal_time(const unsigned int *operation, const float *input_time,
                              void *resultant_time);
/* The time of seven words as sys$numtim writes them. */
int lib$cvt_vectim(const unsigned short *input_time, void *resultant_time);
/* Text of now, or of a time, into a string of any class (see <str$routines.h>). */
int lib$date_time(void *date_time_string);
int lib$sys_asctim(unsigned short *resultant_length, void *time_string, const void *user_time,
                   const unsigned int *flags);

#define sys$gettim(...)                 MEGA_UP_TO(2, sys$gettim, (0), __VA_ARGS__)
#define sys$asctim(...)                 MEGA_UP_TO(4, sys$asctim, (0, 0), __VA_ARGS__)
#define lib$day(...)                    MEGA_UP_TO(3, lib$day, (0, 0), __VA_ARGS__)
#define lib$sys_asctim(...)             MEGA_UP_TO(4, lib$sys_asctim, (0, 0), __VA_ARGS__)
#define lib$cvt_from_internal_time(...) MEGA_UP_TO(3, lib$cvt_from_internal_time, (0), __VA_ARGS__)
#define lib$cvts_from_internal_time     lib$cvtf_from_internal_time
#define lib$cvts_to_internal_time       lib$cvtf_to_internal_time

#ifdef __cplusplus
}
#endif

#endif
