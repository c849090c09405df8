/* The prompt of programs that know OpenVMS: SYSMAN, SDA, lib$get_input. */
#include <megalith/prompt.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#define CTRL_D     4
#define CTRL_Z     26
#define LINE_BYTES 4097 /* the terminal's longest line, and a NUL */

/* ^D ends a line here, so that it can be told from ^Z. */
static bool set_keys(struct termios *old)
{
    struct termios t;

    if (tcgetattr(STDIN_FILENO, old) < 0)
        return false;
    t = *old;
    t.c_cc[VEOF] = CTRL_Z;
    t.c_cc[VEOL] = CTRL_D;
    t.c_cc[VSUSP] = _POSIX_VDISABLE;
    return tcsetattr(STDIN_FILENO, TCSADRAIN, &t) == 0;
}

/* A terminal gives one line for each read(2), which a ^D ends as well as a newline; getline would
 * wait for the newline. */
static ssize_t read_line(char **line, size_t *size)
{
    ssize_t n;
    char *larger;

    if (*size < LINE_BYTES) {
        if (!(larger = realloc(*line, LINE_BYTES)))
            return -1;
        *line = larger;
        *size = LINE_BYTES;
    }
    n = read(STDIN_FILENO, *line, *size - 1);
    if (n <= 0 || **line == CTRL_D)
        return -1;
    (*line)[n] = 0;
    return n;
}

ssize_t mega$prompt_line(const char *prompt, char **line, size_t *size)
{
    struct termios old;
    ssize_t n;

    if (!set_keys(&old)) {
        fflush(stdout);
        n = getline(line, size, stdin);
    } else {
        fputs(prompt, stdout);
        fflush(stdout);
        n = read_line(line, size);
        tcsetattr(STDIN_FILENO, TCSADRAIN, &old);
    }
    if (n < 0)
        return -1;
    n = (ssize_t)strcspn(*line, "\r\n\004");
    (*line)[n] = 0;
    return n;
}
