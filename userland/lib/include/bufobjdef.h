/* Handles of buffer objects, of $CREATE_BUFOBJ_64. */
#ifndef BUFOBJDEF_H
#define BUFOBJDEF_H

#include <gen64def.h>

typedef struct _bufobj {
    unsigned int bufobj$l_handle[2];
} BUFOBJ;
typedef struct _generic_64 BUFOBJ_HANDLE;

/* The name without __NEW_STARLET. */
#if defined(MEGALITH_DIALECT_H) && !defined(__NEW_STARLET)
#define bufobj _bufobj
#endif

#endif
