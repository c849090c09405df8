/* Input and output of lines, timers, arithmetic on quadwords, queues with interlock. */
#ifndef RTL_MISC_H
#define RTL_MISC_H

#include <ints.h>
#include <rtl/optional.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Writes a line to standard output. */
int lib$put_output(const void *message_string);
/* Reads a line from standard input into a string of any class, without its end; on a terminal after
 * a prompt. RMS$_EOF at the end; LIB$_INPSTRTRU if the line was longer than the string. */
int lib$get_input(void *resultant_string, const void *prompt_string,
                  unsigned short *resultant_length);

/* Starts to count. Without a handle one timer that all use; with one that is 0 a new timer, whose
 * number is stored. */
int lib$init_timer(unsigned int *handle);
/* Shows what has passed since, all of it (0) or one of: 1 elapsed time, 2 CPU time, 3 buffered and
 * 4 direct I/O, 5 page faults. action, unless 0, gets the line as a
 * descriptor, and the argument, instead of standard output. */
int lib$show_timer(const unsigned int *handle, const int *code, int (*action)(),
                   unsigned long user_argument);
/* The same as a number: 1 a delta time (quadword), 2 in hundredths of a second (longword). */
int lib$stat_timer(const int *code, void *value, const unsigned int *handle);
int lib$free_timer(unsigned int *handle);

/* Divides a quadword by a longword. SS$_INTDIV: by 0; SS$_INTOVF: the quotient is no longword. */
int lib$ediv(const int *divisor, const __int64 *dividend, int *quotient, int *remainder);
/* *product = *multiplier * *multiplicand + *addend */
int lib$emul(const int *multiplier, const int *multiplicand, const int *addend, __int64 *product);

/*
 * Queues. The header, two longwords (in the forms that end in q, quadwords) that are 0 at first,
 * and the first two of each entry hold the distances to the next and the last one, so that
 * processes can have a queue at different addresses of their own. They are aligned to quadwords
 * (octawords). Between longwords header and entries must be less than 2 GiB apart.
 *
 * Insertion and removal, at the head (hi) and at the tail (ti), are atomic: bit 0 of the header is
 * set meanwhile, and who finds it set tries again, *retry_count times (default 10), and returns
 * LIB$_SECINTFAI then. SS$_NORMAL; LIB$_ONEENTQUE: it is the first one, or was the last one;
 * LIB$_QUEWASEMP; SS$_ROPRAND: an address that cannot be that of a header or entry.
 */
int lib$insqhi(void *entry, void *header, const unsigned int *retry_count);
int lib$insqti(void *entry, void *header, const unsigned int *retry_count);
int lib$remqhi(void *header, void *remque_address, const unsigned int *retry_count);
int lib$remqti(void *header, void *remque_address, const unsigned int *retry_count);
int lib$insqhiq(void *entry, void *header, const unsigned int *retry_count);
int lib$insqtiq(void *entry, void *header, const unsigned int *retry_count);
int lib$remqhiq(void *header, void *remque_address, const unsigned int *retry_count);
int lib$remqtiq(void *header, void *remque_address, const unsigned int *retry_count);

#define lib$get_input(...)  MEGA_UP_TO(3, lib$get_input, (0, 0), __VA_ARGS__)
#define lib$stat_timer(...) MEGA_UP_TO(3, lib$stat_timer, (0), __VA_ARGS__)
#define lib$insqhi(...)     MEGA_UP_TO(3, lib$insqhi, (0), __VA_ARGS__)
#define lib$insqti(...)     MEGA_UP_TO(3, lib$insqti, (0), __VA_ARGS__)
#define lib$remqhi(...)     MEGA_UP_TO(3, lib$remqhi, (0), __VA_ARGS__)
#define lib$remqti(...)     MEGA_UP_TO(3, lib$remqti, (0), __VA_ARGS__)
#define lib$insqhiq(...)    MEGA_UP_TO(3, lib$insqhiq, (0), __VA_ARGS__)
#define lib$insqtiq(...)    MEGA_UP_TO(3, lib$insqtiq, (0), __VA_ARGS__)
#define lib$remqhiq(...)    MEGA_UP_TO(3, lib$remqhiq, (0), __VA_ARGS__)
#define lib$remqtiq(...)    MEGA_UP_TO(3, lib$remqtiq, (0), __VA_ARGS__)
#define lib$init_timer(...) MEGA_UP_TO(1, lib$init_timer, (0), __VA_ARGS__)
#define lib$show_timer(...) MEGA_UP_TO(4, lib$show_timer, (0, 0, 0, 0), __VA_ARGS__)

#ifdef __cplusplus
}
#endif

#endif
