/* Calling system services: what the stubs are made of. */
#ifndef SERVICE_H
#define SERVICE_H

#include <condition.h>
#include <megalith/services.h>
#include <starlet.h>

typedef unsigned long quad;

/* The kernel returns the condition value in $0. The clobbers are the registers that a system call
 * may change. */
static inline int call(quad number, quad a0, quad a1, quad a2, quad a3, quad a4, quad a5)
{
    register quad v0 __asm__("$0") = number;
    register quad r16 __asm__("$16") = a0;
    register quad r17 __asm__("$17") = a1;
    register quad r18 __asm__("$18") = a2;
    register quad r19 __asm__("$19") = a3;
    register quad r20 __asm__("$20") = a4;
    register quad r21 __asm__("$21") = a5;

    __asm__ volatile("callsys"
                     : "+r"(v0), "+r"(r16), "+r"(r17), "+r"(r18), "+r"(r19), "+r"(r20), "+r"(r21)
                     :
                     : "$1", "$2", "$3", "$4", "$5", "$6", "$7", "$8", "$22", "$23", "$24", "$25",
                       "$27", "$28", "memory");
    return (int)v0;
}

static inline int tell(const char *service, int status)
{
    if (mega$service_hook)
        mega$service_hook(service, status);
    return status;
}

/* __func__ is the name of the stub, which is the name of the service. */
#define service(number, a0, a1, a2, a3, a4, a5) tell(__func__, call(number, a0, a1, a2, a3, a4, a5))

#define BLOCK(number, ...)                             \
    ({                                                 \
        quad block_[] = {0, __VA_ARGS__};              \
        block_[0] = sizeof(block_) / sizeof(quad) - 1; \
        service(number, (quad)block_, 0, 0, 0, 0, 0);  \
    })

/* An argument that names an AST routine. Before the first, the kernel is told where such routines
 * return to (ast_return.S), and how they are put off (hold.h). A child keeps that, and a new
 * program tells it anew. */
void mega$ast_return(void);
void mega$tell_ast_return(void);
extern int mega$ast_return_told;

static inline quad ast_routine(mega_ast_routine routine)
{
    if (routine && !mega$ast_return_told)
        mega$tell_ast_return();
    return (quad)routine;
}

#endif
