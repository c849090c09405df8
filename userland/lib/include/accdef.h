/* The message that a process leaves when it ends, to the mailbox of $CREPRC. Offsets in
   bytes: message type 0 and size 2, final status 4, process 8, job 12, time 16, account 24,
   user 32, CPU time 44, owner 80. */
#ifndef ACCDEF_H
#define ACCDEF_H

#include <megalith/missing.h>

enum {
    MEGA_MISSING_CODE(ACC$K_TERMLEN, 84),
};

#endif
