/*
 * ASTs: they are delivered in the order in which they were declared, not while they are disabled,
 * and not inside one another.
 */
#include <jpidef.h>
#include <lib$routines.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdio.h>
#include <stsdef.h>

static int depth, deepest;

static void check(int status)
{
    if (!$VMS_STATUS_SUCCESS(status))
        lib$signal(status);
}

static void say(int number)
{
    if (++depth > deepest)
        deepest = depth;
    printf("AST %d\n", number);
    depth--;
}

static void chain(int left)
{
    if (++depth > deepest)
        deepest = depth;
    if (left > 0)
        check(sys$dclast(chain, left - 1, 0));
    printf("%d left\n", left);
    depth--;
}

static void answered(int *pid) { printf("the process has a number: %s\n", *pid ? "yes" : "no"); }

int main(void)
{
    static int pid;
    static struct {
        unsigned short length, code;
        void *buffer;
        void *return_length;
    } items[2] = {{4, JPI$_PID, &pid, 0}};
    int status, i;

    status = sys$setast(0);
    printf("disabled; they were %s\n", status == SS$_WASSET ? "enabled" : "disabled");
    for (i = 1; i <= 3; i++)
        check(sys$dclast(say, i, 0));
    printf("three are declared\n");
    status = sys$setast(1);
    printf("enabled; they were %s\n", status == SS$_WASCLR ? "disabled" : "enabled");
    check(sys$dclast(chain, 2, 0));
    printf("deepest: %d\n", deepest);
    check(sys$getjpiw(0, 0, 0, items, 0, answered, (__int64)&pid));
    return SS$_NORMAL;
}
