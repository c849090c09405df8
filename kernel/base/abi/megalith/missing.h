/*
 * What OpenVMS programs name and this system does not have: the use of such a name is an error of
 * the compiler, which names it. docs/services.md says why each is missing.
 */
#ifndef MEGALITH_MISSING_H
#define MEGALITH_MISSING_H

#define MEGA_MISSING_TEXT "not implemented in Megalith; see docs/services.md"
#define MEGA_NOT_HERE     __attribute__((unavailable(MEGA_MISSING_TEXT)))

/* A constant, in an enumeration: with its value, or in a list without commas. */
#define MEGA_MISSING_CODE(name, value) name MEGA_NOT_HERE = value
#define MEGA_MISSING_NAME(name)        name MEGA_NOT_HERE,
/* A routine, whatever arguments the program gives it. */
#define MEGA_MISSING(name) int name() MEGA_NOT_HERE;
/* A structure, a type. */
#define MEGA_MISSING_STRUCT(tag) \
    struct tag {                 \
        int mega$missing;        \
    } MEGA_NOT_HERE;
#define MEGA_MISSING_TYPE(name) typedef int name MEGA_NOT_HERE;

#endif
