/*
 * Messages of condition values: "%SYSTEM-F-INSFLPGS, insufficient fluid pages". The texts are those
 * of <messages.def>.
 */
#ifndef RTL_MESSAGE_H
#define RTL_MESSAGE_H

#include <rtl/optional.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The message of a condition value. flags says what of it: 1 text, 2 name, 4 severity, 8 facility;
 * 0 is all. outadr, unless 0, gets four bytes, of which the second is the number of parameters that
 * the text's directives take. SS$_MSGNOTFND (a success): there is none, and the buffer has a line
 * that says so. SS$_BUFFEROVF (a success): it was cut off.
 */
int sys$getmsg(unsigned int msgid, unsigned short *msglen, void *bufadr, unsigned int flags,
               unsigned char *outadr);
/*
 * Writes messages to standard error. msgvec: a longword with the number of longwords that follow,
 * and in its high word flags as above. For each message its condition value and, but for those of
 * facility 0, a longword with the number of parameters (low word) and new flags (high word); then
 * the parameters. A message behind the first begins with a hyphen.
 *
 * actrtn, unless 0, gets each line as a descriptor, with actprm, before it is written; an even
 * result keeps it from being written. facnam, unless 0, replaces the facility of the first message.
 */
int sys$putmsg(void *msgvec, int (*actrtn)(), void *facnam, unsigned long actprm);

/* As sys$getmsg, into a string of any class; message_id and flags by reference. */
int lib$sys_getmsg(const unsigned int *message_id, unsigned short *message_length,
                   void *destination_string, const unsigned int *flags, unsigned int *out_array);

#define sys$getmsg(...)     MEGA_UP_TO(5, sys$getmsg, (0, 0), __VA_ARGS__)
#define sys$putmsg(...)     MEGA_UP_TO(4, sys$putmsg, (0, 0, 0), __VA_ARGS__)
#define lib$sys_getmsg(...) MEGA_UP_TO(5, lib$sys_getmsg, (0, 0), __VA_ARGS__)

#ifdef __cplusplus
}
#endif

#endif
