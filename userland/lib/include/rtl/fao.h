/*
 * Formatted ASCII output: the parameters replace the directives of a control string. A directive
 * begins with an exclamation mark: !UL is a longword in decimal, !8AS a string in a field of 8
 * characters, !3(UL) three longwords; docs/services.md lists them.
 *
 * SS$_BUFFEROVF (a success): the buffer got the first characters. SS$_BADPARAM: there is no such
 * directive, or a number is beyond 65,535; what was formatted before it is in the buffer. outlen,
 * unless 0, gets the number of characters written.
 */
#ifndef RTL_FAO_H
#define RTL_FAO_H

#ifdef __cplusplus
extern "C" {
#endif

/* Parameters are arguments, a quadword each. */
int sys$fao(void *ctrstr, unsigned short *outlen, void *outbuf, ...);
/* Parameters are the longwords of an array, extended by their signs: a quadword needs @, and an
 * address must lie below 2 GiB or above all others, as few do. */
int sys$faol(void *ctrstr, unsigned short *outlen, void *outbuf, void *prmlst);
/* Parameters are the quadwords of an array. */
int sys$faol_64(void *ctrstr, unsigned short *outlen, void *outbuf, void *prmlst_64);

/* The same, into a string of any class. */
int lib$sys_fao(void *character_string, unsigned short *resultant_length, void *resultant_string,
                ...);
int lib$sys_faol(void *character_string, unsigned short *resultant_length, void *resultant_string,
                 void *directive_arguments);
int lib$sys_faol_64(void *character_string, unsigned short *resultant_length,
                    void *resultant_string, void *directive_arguments);

#ifdef __cplusplus
}
#endif

#endif
