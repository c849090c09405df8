/*
 * Memory of the C library, also for AST routines. malloc and its relatives hold locks and change
 * lists; a routine that came between would wait for ever, or find half of a change. So ASTs are put
 * off meanwhile, and while fork has all these locks. Programs are linked with --wrap for these
 * names, so that the C library's own calls come here too.
 */
#include "hold.h"

#include <stdlib.h>
#include <unistd.h>

#define HOLDING(type, name, parameters, arguments) \
    type __real_##name parameters;                 \
    type __wrap_##name parameters;                 \
    type __wrap_##name parameters                  \
    {                                              \
        type result;                               \
                                                   \
        mega$hold_asts();                          \
        result = __real_##name arguments;          \
        mega$release_asts();                       \
        return result;                             \
    }

HOLDING(void *, malloc, (size_t size), (size))
HOLDING(void *, calloc, (size_t n, size_t size), (n, size))
HOLDING(void *, realloc, (void *at, size_t size), (at, size))
HOLDING(void *, memalign, (size_t alignment, size_t size), (alignment, size))
HOLDING(void *, aligned_alloc, (size_t alignment, size_t size), (alignment, size))
HOLDING(int, posix_memalign, (void **at, size_t alignment, size_t size), (at, alignment, size))
HOLDING(pid_t, fork, (void), ())

void __real_free(void *at);
void __wrap_free(void *at);
void __wrap_free(void *at)
{
    mega$hold_asts();
    __real_free(at);
    mega$release_asts();
}
