/*
 * A mailbox with a logical name: a subprocess finds it by the name and sends letters; an end of
 * file is the last one. The status block of each read tells how long the letter is and who sent it.
 */
#include <descrip.h>
#include <iodef.h>
#include <lib$routines.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stsdef.h>
#include <sys/wait.h>
#include <unistd.h>

#define LONGEST 64

typedef struct {
    unsigned short status, count;
    unsigned int pid;
} io_status_block;

static $DESCRIPTOR(box, "POST_OFFICE");

static void check(int status)
{
    if (!$VMS_STATUS_SUCCESS(status))
        lib$signal(status);
}

static void sender(void)
{
    static char *letters[] = {"Dear parent,", "all is well here.", ""};
    io_status_block iosb;
    unsigned short chan;
    int i;

    check(sys$assign(&box, &chan, 0, 0));
    for (i = 0; i < 3; i++) {
        check(sys$qiow(0, chan, IO$_WRITEVBLK, &iosb, 0, 0, letters[i], strlen(letters[i]), 0, 0, 0,
                       0));
        check(iosb.status);
        if (iosb.pid != (unsigned int)getppid())
            printf("a stranger has read letter %d\n", i);
    }
    check(sys$qiow(0, chan, IO$_WRITEOF, &iosb, 0, 0, 0, 0, 0, 0, 0, 0));
    check(sys$dassgn(chan));
    exit(SS$_NORMAL);
}

int main(void)
{
    io_status_block iosb;
    unsigned short chan, again;
    char letter[LONGEST];
    pid_t child;
    int status, n = 0;

    check(sys$crembx(0, &chan, LONGEST, 4 * LONGEST, 0, 0, &box));
    child = fork();
    if (child == 0)
        sender();
    for (;;) {
        check(sys$qiow(0, chan, IO$_READVBLK, &iosb, 0, 0, letter, sizeof letter, 0, 0, 0, 0));
        if (iosb.status == SS$_ENDOFFILE)
            break;
        check(iosb.status);
        printf("letter %d of %d characters from %s: \"%.*s\"\n", ++n, iosb.count,
               iosb.pid == (unsigned int)child ? "the subprocess" : "a stranger", iosb.count,
               letter);
    }
    printf("end of file after %d letters\n", n);
    waitpid(child, 0, 0);
    check(
        sys$qiow(0, chan, IO$_READVBLK | IO$M_NOW, &iosb, 0, 0, letter, sizeof letter, 0, 0, 0, 0));
    printf("the box is %s\n", iosb.status == SS$_ENDOFFILE ? "empty" : "not empty");
    check(sys$dassgn(chan));
    status = sys$assign(&box, &again, 0, 0);
    printf("and gone: %s\n", $VMS_STATUS_SUCCESS(status) ? "no" : "yes");
    return SS$_NORMAL;
}
