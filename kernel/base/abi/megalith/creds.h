/*
 * Identity and rights of a process, for MEGA_CTL_SET_CREDS. A rights identifier is a bit here and a
 * name to users. The list MEGA_RIGHTS is the only place that relates the two: a new identifier
 * needs one line in it.
 */
#ifndef MEGALITH_CREDS_H
#define MEGALITH_CREDS_H

#include <stdint.h>

#define MEGA_UIC_GROUP_MAX  037777u
#define MEGA_UIC_MEMBER_MAX 0177777u

#define MEGA_RIGHT_MEM_RESIDENT_USER  0x1ul
#define MEGA_RIGHT_BUFFER_OBJECT_USER 0x2ul
/* X(identifier, bit) */
#define MEGA_RIGHTS(X)                                       \
    X("VMS$MEM_RESIDENT_USER", MEGA_RIGHT_MEM_RESIDENT_USER) \
    X("VMS$BUFFER_OBJECT_USER", MEGA_RIGHT_BUFFER_OBJECT_USER)
#define MEGA_RIGHTS_ALL (MEGA_RIGHT_MEM_RESIDENT_USER | MEGA_RIGHT_BUFFER_OBJECT_USER)

struct mega_creds {
    uint32_t uic_group, uic_member;  /* the POSIX group and user ids become the same */
    uint64_t privileges, authorised; /* PRV$M_*; privileges is a subset of authorised */
    uint64_t rights;                 /* MEGA_RIGHT_* */
};

#endif
