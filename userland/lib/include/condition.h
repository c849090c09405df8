/* Condition values in words, for messages. Not a service of OpenVMS. */
#ifndef CONDITION_H
#define CONDITION_H

#ifdef __cplusplus
extern "C" {
#endif

/* "SS$_INSFLPGS, condition value 9292 (0x244C)"; a value that <ssdef.h> does not have comes without
 * a name. The text is the calling thread's and stays until its next call. */
const char *mega$condition_text(int status);
/* "SS$_INSFLPGS", or NULL. */
const char *mega$condition_name(int status);

/* Unless NULL, called after each service with its name ("sys$dgblsc") and what it returned. For
 * <tap.h>. */
extern void (*mega$service_hook)(const char *service, int status);

#ifdef __cplusplus
}
#endif

#endif
