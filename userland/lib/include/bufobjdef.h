/* Handles of buffer objects, of $CREATE_BUFOBJ_64. */
#ifndef BUFOBJDEF_H
#define BUFOBJDEF_H

#include <gen64def.h>

struct _bufobj {
    unsigned int bufobj$l_handle[2];
};
typedef struct _generic_64 BUFOBJ_HANDLE;

#endif
