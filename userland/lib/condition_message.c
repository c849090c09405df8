/* The message of a condition value, for programs that tell the user what a service has answered.
 * The texts are those of $GETMSG and of `help`. */
#include <condition.h>
#include <descrip.h>
#include <starlet.h>
#include <stdio.h>
#include <string.h>

#define LINE_MAX_ 256

/* What a text says before its parameters, which nobody has here: "access violation" of
 * "access violation, reason mask=!XB, ...", "... fault" of "... fault at PC=!XH". */
static void cut(char *line)
{
    char *end = strchr(line, '!');

    if (!end)
        return;
    while (end > line && strncmp(end, ", ", 2) != 0 && strncmp(end, " at ", 4) != 0)
        end--;
    *end = '\0';
}

const char *mega$condition_message(int status, unsigned parts)
{
    static _Thread_local char line[LINE_MAX_];
    struct dsc$descriptor_s text = {sizeof(line) - 1, DSC$K_DTYPE_T, DSC$K_CLASS_S, line};
    unsigned short n = 0;

    sys$getmsg((unsigned)status, &n, &text, parts, NULL);
    line[n] = '\0';
    cut(line);
    return line;
}
