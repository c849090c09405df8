/*
 * What lib$spawn tells $CREPRC besides the arguments of the manual: the address of this structure,
 * as the 16th. The process gets the caller's descriptors then, and the flag, the status and the AST
 * follow its end.
 */
#ifndef MEGALITH_SPAWN_H
#define MEGALITH_SPAWN_H

#include <stdint.h>

struct mega_spawn {
    uint64_t argv, envp;     /* as for execve */
    uint64_t status;         /* of a longword for the condition value that it ends with, or 0 */
    uint64_t ended;          /* of a longword that is 1 once the value is stored, or 0 */
    uint64_t efn;            /* event flag, or EFN$C_ENF */
    uint64_t astadr, astprm; /* 0: no AST */
};

#endif
