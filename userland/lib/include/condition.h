/* Names and texts of condition values, for messages. Not a service of OpenVMS. */
#ifndef CONDITION_H
#define CONDITION_H

#ifdef __cplusplus
extern "C" {
#endif

/* Returns "SS$_INSFLPGS, condition value 9292 (0x244C)", without the name if <ssdef.h> does not
 * define the value. The text is in a buffer of the calling thread, valid until its next call. */
const char *mega$condition_text(int status);
/* Returns "SS$_INSFLPGS", or NULL if <ssdef.h> does not define the value. */
const char *mega$condition_name(int status);

/* Returns "%SYSTEM-F-INSFLPGS, insufficient fluid pages", or those parts of it that the flags of
 * sys$getmsg name (0: all); of a message with parameters what comes before them. The text is in a
 * buffer of the calling thread, valid until its next call. */
const char *mega$condition_message(int status, unsigned parts);

/* Unless NULL, called after each service with the name of the service ("sys$dgblsc") and the
 * condition value that it returned. Used by <tap.h>. */
extern void (*mega$service_hook)(const char *service, int status);

#ifdef __cplusplus
}
#endif

#endif
