/*
 * Condition handlers: one that mends what it can, one that turns a signal into a result, one that
 * leaves the procedures in between, and a fault of the machine.
 */
#include <chfdef.h>
#include <lib$routines.h>
#include <libdef.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdio.h>
#include <stsdef.h>

static int depth_of_search;

static int clean_up(struct chf$signal_array *sigargs, struct chf$mech_array *mechargs)
{
    static int unwind = SS$_UNWIND;

    if (lib$match_cond(&sigargs->chf$l_sig_name, &unwind))
        printf("    search is left\n");
    (void)mechargs;
    return SS$_RESIGNAL;
}

static int search(int depth)
{
    lib$establish(clean_up);
    if (depth == 0)
        lib$signal(SS$_NOLOGNAM);
    else
        search(depth - 1);
    depth_of_search++; /* after each return */
    return SS$_NORMAL;
}

static int give_up(struct chf$signal_array *sigargs, struct chf$mech_array *mechargs)
{
    static int wanted[] = {SS$_NOLOGNAM, SS$_NOLOGTAB};

    switch (lib$match_cond(&sigargs->chf$l_sig_name, &wanted[0], &wanted[1])) {
    case 1:
        printf("    given up at depth %d\n", mechargs->chf$l_mch_depth);
        mechargs->chf$q_mch_savr0 = SS$_NOLOGNAM;
        sys$unwind(0, 0);
        break;
    default:
        break;
    }
    return SS$_RESIGNAL;
}

static int try_search(void)
{
    lib$establish(give_up);
    return search(2);
}

static int tell(struct chf$signal_array *sigargs, struct chf$mech_array *mechargs)
{
    (void)mechargs;
    printf("    a warning, with %d arguments\n", sigargs->chf$l_sig_args - 3);
    return SS$_CONTINUE;
}

static void warn(void)
{
    lib$establish(tell);
    lib$signal(LIB$_STRTRU, 2, 10, 20);
    printf("    and the program goes on\n");
}

static int divide(int by)
{
    lib$establish(lib$sig_to_ret);
    return 100 / by ? SS$_NORMAL : SS$_ABORT;
}

static int load(volatile int *where)
{
    lib$establish(lib$sig_to_ret);
    return *where ? SS$_NORMAL : SS$_ABORT;
}

int main(void)
{
    volatile int zero = 0, one = 1;
    int status;

    printf("a search:\n");
    status = try_search();
    printf("    result %s, %d returns\n", status == SS$_NOLOGNAM ? "NOLOGNAM" : "?",
           depth_of_search);
    printf("a warning:\n");
    warn();
    printf("divisions:\n");
    status = divide(zero);
    printf("    by zero %s\n", status == SS$_INTDIV ? "INTDIV" : "?");
    printf("    by one %s\n", divide(one) == SS$_NORMAL ? "NORMAL" : "?");
    printf("addresses:\n");
    printf("    0 %s\n", load(0) == SS$_ACCVIO ? "ACCVIO" : "?");
    printf("    that of a variable %s\n", load(&one) == SS$_NORMAL ? "NORMAL" : "?");
    lib$signal(SS$_NOTINSEC);
    printf("an informational condition does not end the program\n");
    lib$signal(SS$_INSFLPGS);
    printf("but this one does\n");
    return SS$_NORMAL;
}
