/* Routines in inner modes, which user programs do not have (docs/choices.md). */
#include <rtl/process.h>
#include <ssdef.h>

int sys$cmkrnl(int (*routin)(void), unsigned int *arglst)
{
    (void)routin;
    (void)arglst;
    return SS$_NOCMKRNL;
}

int sys$cmkrnl_64(int (*routin_64)(void), unsigned __int64 *arglst_64)
{
    (void)routin_64;
    (void)arglst_64;
    return SS$_NOCMKRNL;
}

int sys$cmexec(int (*routin)(void), unsigned int *arglst)
{
    (void)routin;
    (void)arglst;
    return SS$_NOCMEXEC;
}

int sys$cmexec_64(int (*routin_64)(void), unsigned __int64 *arglst_64)
{
    (void)routin_64;
    (void)arglst_64;
    return SS$_NOCMEXEC;
}
