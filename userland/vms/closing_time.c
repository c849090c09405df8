/*
 * Exit handlers: called in the opposite order when the program ends, with the reason, but not one
 * that was cancelled.
 */
#include <lib$routines.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdio.h>
#include <stsdef.h>

struct exit_block {
    struct exit_block *link;
    int (*handler)();
    int count;
    int *status;
    char *what;
};

static void check(int status)
{
    if (!$VMS_STATUS_SUCCESS(status))
        lib$signal(status);
}

static int close_up(int *status, char *what)
{
    printf("%s, because of %d\n", what, *status);
    return SS$_NORMAL;
}

static int reason;
static struct exit_block door = {0, close_up, 2, &reason, "the door is locked"};
static struct exit_block lights = {0, close_up, 2, &reason, "the lights are out"};
static struct exit_block music = {0, close_up, 2, &reason, "the music stops"};

int main(void)
{
    check(sys$dclexh(&door));
    check(sys$dclexh(&lights));
    check(sys$dclexh(&music));
    check(sys$canexh(&music));
    printf("cancelled twice: %s\n",
           sys$canexh(&music) == SS$_NOHANDLER ? "SS$_NOHANDLER" : "accepted");
    printf("the guests have gone\n");
    sys$exit(SS$_NORMAL);
}
