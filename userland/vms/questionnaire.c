/*
 * A terminal by $ASSIGN and $QIO: carriage control of FORTRAN, prompts, the offset to the
 * terminator, and the end of the input.
 */
#include <descrip.h>
#include <iodef.h>
#include <lib$routines.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdio.h>
#include <string.h>
#include <stsdef.h>

struct terminal_status {
    unsigned short status, offset, terminator, terminator_size;
};

static unsigned short in, out;

static void check(int status)
{
    if (!$VMS_STATUS_SUCCESS(status))
        lib$signal(status);
}

static void write_line(char control, char *text)
{
    struct terminal_status iosb;

    check(sys$qiow(0, out, IO$_WRITEVBLK, &iosb, 0, 0, text, strlen(text), 0, control, 0, 0));
    check(iosb.status);
}

int main(void)
{
    $DESCRIPTOR(input, "SYS$INPUT");
    $DESCRIPTOR(output, "SYS$OUTPUT");
    static char *questions[] = {"Your name", "Your quest", "Another question"};
    struct terminal_status iosb;
    char answer[40], line[80];
    int i;

    check(sys$assign(&input, &in, 0, 0));
    check(sys$assign(&output, &out, 0, 0));
    write_line(0, "Three questions\n");
    for (i = 0; i < 3; i++) {
        write_line(0, questions[i]);
        write_line(0, "? ");
        check(sys$qiow(0, in, IO$_READVBLK, &iosb, 0, 0, answer, sizeof answer, 0, 0, 0, 0));
        if (iosb.status == SS$_ENDOFFILE) {
            write_line(0, "no more answers\n");
            break;
        }
        check(iosb.status);
        sprintf(line, "%d characters, terminator %d of size %d: %.*s\n", iosb.offset,
                iosb.terminator, iosb.terminator_size, iosb.offset, answer);
        write_line(0, line);
    }
    write_line('$', "dollar");
    write_line('+', " plus");
    write_line(' ', "blank");
    write_line('0', "zero");
    write_line(0, "\n");
    check(sys$dassgn(in));
    check(sys$dassgn(out));
    return SS$_NORMAL;
}
