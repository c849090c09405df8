/*
 * What OpenVMS programs name and this system does not have: the use of such a name is an error of
 * the compiler, which names it. docs/services.md says why each is missing.
 */
#ifndef MEGALITH_MISSING_H
#define MEGALITH_MISSING_H

#define MEGA_MISSING_TEXT "not implemented in Megalith; see docs/services.md"
#define MEGA_NOT_HERE     __attribute__((unavailable(MEGA_MISSING_TEXT)))

/* A constant, in an enumeration. */
#define MEGA_MISSING_CODE(name, value) name MEGA_NOT_HERE = value
/* A routine, whatever arguments the program gives it. */
#define MEGA_MISSING(name) int name() MEGA_NOT_HERE;

#endif
