/*
 * Line editor and history. The terminal is in raw mode only while a line is typed. Keys: arrows,
 * Home, End, Delete, Backspace, ^A ^B ^D ^E ^F ^H ^K ^L ^N ^P ^U ^W, ^C (discards the line), Tab
 * (completes a file name). The terminal is assumed to have 8-bit characters. Of a line longer than
 * the screen, a part with the cursor is shown, which moves by half the screen at a time. Where the
 * terminal echoes nothing, nobody types: then lines are read as they come, and printed, so that a
 * recorded session can be read.
 */
#include "sh.h"

#include "../../lib/complete.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#define LINE_MAX_BYTES 4096
#define HISTORY        200
#define COLUMNS_MIN    8

static char *history[HISTORY];
static int history_count;

static char line[LINE_MAX_BYTES];
static size_t length, cursor;
static size_t first; /* of the bytes that are shown */
static const char *shown_prompt;

void history_add(const char *text)
{
    if (!*text || (history_count && !strcmp(history[history_count - 1], text)))
        return;
    if (history_count == HISTORY) {
        free(history[0]);
        memmove(history, history + 1, sizeof(history[0]) * (HISTORY - 1));
        history_count--;
    }
    history[history_count++] = strdup(text);
}

void history_print(void)
{
    for (int i = 0; i < history_count; i++)
        printf("%4d  %s\n", i + 1, history[i]);
}

static void out(const char *s, size_t n)
{
    while (n) {
        ssize_t w = write(1, s, n);

        if (w <= 0)
            return;
        s += w;
        n -= (size_t)w;
    }
}

static size_t columns(void)
{
    struct winsize w;

    if (ioctl(1, TIOCGWINSZ, &w) != 0 || !w.ws_col)
        return 80;
    return w.ws_col > COLUMNS_MIN ? w.ws_col : COLUMNS_MIN;
}

/* On a narrow screen the end of the prompt, so that half of the screen is left. */
static const char *prompt_on(size_t width)
{
    size_t n = strlen(shown_prompt);

    return shown_prompt + (n > width / 2 ? n - width / 2 : 0);
}

/* The columns for the line; its last one stays empty, lest the screen scrolls. */
static size_t room_on(size_t width) { return width - strlen(prompt_on(width)) - 1; }

/* Redraw the line: carriage return, prompt, what fits, erase the rest, cursor to its column. */
static void draw(void)
{
    char buffer[LINE_MAX_BYTES + 64];
    size_t width = columns(), room = room_on(width), shown;
    const char *prompt = prompt_on(width);
    int n;

    if (cursor < first || cursor - first > room)
        first = cursor > room / 2 ? cursor - room / 2 : 0;
    shown = length - first > room ? room : length - first;
    n = snprintf(buffer, sizeof(buffer), "\r%s%.*s\033[K\r\033[%zuC", prompt, (int)shown,
                 line + first, strlen(prompt) + cursor - first);
    out(buffer, (size_t)n);
}

static void insert(char c)
{
    if (length + 1 >= sizeof(line))
        return;
    memmove(line + cursor + 1, line + cursor, length - cursor);
    line[cursor++] = c;
    length++;
    if (cursor == length && length - first <= room_on(columns()))
        out(&c, 1); /* typing at the end needs no redrawing */
    else
        draw();
}

static void erase(size_t from, size_t to)
{
    memmove(line + from, line + to, length - to);
    length -= to - from;
    cursor = from;
    draw();
}

static void replace(const char *text)
{
    length = strlen(text);
    if (length >= sizeof(line))
        length = sizeof(line) - 1;
    memcpy(line, text, length);
    cursor = length;
    draw();
}

static char common[LINE_MAX_BYTES]; /* the beginning of all words that were found */
static int words_found;

static void word_found(const char *word)
{
    size_t n = 0;

    if (words_found++ == 0)
        snprintf(common, sizeof(common), "%s", word);
    else if (strcmp(common, word) == 0)
        words_found--;
    while (common[n] && common[n] == word[n])
        n++;
    common[n] = 0;
}

/* Complete a word of a command that /etc/complete has. Returns false if there is none. */
static bool complete_word(void)
{
    size_t typed;
    char text[LINE_MAX_BYTES];

    memcpy(text, line, cursor);
    text[cursor] = 0;
    words_found = 0;
    typed = complete_command(text, word_found);
    if (!words_found)
        return false;
    for (size_t i = typed; common[i]; i++)
        insert(common[i]);
    if (words_found == 1)
        insert(' ');
    return true;
}

static void complete_name(void)
{
    size_t start = cursor, same;
    char pattern[LINE_MAX_BYTES + 1];
    glob_t found;

    while (start && !strchr(" \t;&|<>", line[start - 1]))
        start--;
    if (start == cursor || memchr(line + start, '*', cursor - start))
        return;
    memcpy(pattern, line + start, cursor - start);
    pattern[cursor - start] = '*';
    pattern[cursor - start + 1] = 0;
    if (glob(pattern, GLOB_MARK, NULL, &found) != 0)
        return;
    same = strlen(found.gl_pathv[0]);
    for (size_t i = 1; i < found.gl_pathc; i++) {
        size_t n = 0;

        while (n < same && found.gl_pathv[i][n] == found.gl_pathv[0][n])
            n++;
        same = n;
    }
    for (size_t i = cursor - start; i < same; i++)
        insert(found.gl_pathv[0][i]);
    if (found.gl_pathc == 1 && found.gl_pathv[0][same - 1] != '/')
        insert(' ');
    globfree(&found);
}

/* Returns one byte of input, or -1 at its end. */
static int key(void)
{
    unsigned char c;

    for (;;) {
        ssize_t r = read(0, &c, 1);

        if (r == 1)
            return c;
        if (r == 0 || errno != EINTR)
            return -1;
    }
}

enum { KEY_UP = 256, KEY_DOWN, KEY_RIGHT, KEY_LEFT, KEY_HOME, KEY_END, KEY_DELETE, KEY_NONE };

/* Parse an escape sequence such as Escape [ A. */
static int escape_sequence(void)
{
    int c = key();

    if (c != '[' && c != 'O')
        return KEY_NONE;
    c = key();
    switch (c) {
    case 'A':
        return KEY_UP;
    case 'B':
        return KEY_DOWN;
    case 'C':
        return KEY_RIGHT;
    case 'D':
        return KEY_LEFT;
    case 'H':
        return KEY_HOME;
    case 'F':
        return KEY_END;
    }
    if (c >= '0' && c <= '9') {
        int digit = c;

        while (c >= 0 && c != '~' && (c < '@' || c > 'z'))
            c = key();
        return digit == '1' || digit == '7'   ? KEY_HOME
               : digit == '4' || digit == '8' ? KEY_END
               : digit == '3'                 ? KEY_DELETE
                                              : KEY_NONE;
    }
    return KEY_NONE;
}

/* Handle one key. Returns 0: go on; 1: the line is complete; -1: end of input; -2: line
 * discarded. */
static int handle(int c, int *place)
{
    size_t start;

    switch (c) {
    case -1:
        return length ? 1 : -1;
    case '\r':
    case '\n':
        return 1;
    case 3:
        return -2;
    case 4:
        if (!length)
            return -1;
        /* fall through */
    case KEY_DELETE:
        if (cursor < length)
            erase(cursor, cursor + 1);
        return 0;
    case 8:
    case 127:
        if (cursor)
            erase(cursor - 1, cursor);
        return 0;
    case 1:
    case KEY_HOME:
        cursor = 0;
        break;
    case 5:
    case KEY_END:
        cursor = length;
        break;
    case 2:
    case KEY_LEFT:
        cursor -= cursor > 0;
        break;
    case 6:
    case KEY_RIGHT:
        cursor += cursor < length;
        break;
    case 11:
        erase(cursor, length);
        return 0;
    case 21:
        erase(0, cursor);
        return 0;
    case 23:
        for (start = cursor; start && line[start - 1] == ' ';)
            start--;
        while (start && line[start - 1] != ' ')
            start--;
        erase(start, cursor);
        return 0;
    case 12:
        out("\033[H\033[2J", 7);
        break;
    case 16:
    case KEY_UP:
        if (*place > 0)
            replace(history[--*place]);
        return 0;
    case 14:
    case KEY_DOWN:
        if (*place < history_count)
            ++*place;
        replace(*place < history_count ? history[*place] : "");
        return 0;
    case '\t':
        if (!complete_word())
            complete_name();
        return 0;
    default:
        if (c >= ' ' && c < 256)
            insert((char)c);
        return 0;
    }
    draw();
    return 0;
}

/* Handle one byte where nobody types; results as those of handle(). */
static int handle_untyped(int c)
{
    if (c == -1 || c == 4)
        return length ? 1 : -1;
    if (c == '\r' || c == '\n')
        return 1;
    if (length + 1 < sizeof(line))
        line[length++] = (char)c;
    return 0;
}

char *edit_line(const char *prompt)
{
    struct termios old, raw;
    int place = history_count, done = 0;

    fflush(NULL);
    shown_prompt = prompt;
    length = cursor = first = 0;
    if (tcgetattr(0, &old) < 0)
        return NULL;
    raw = old;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ISIG);
    raw.c_iflag &= ~(tcflag_t)IXON;
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    tcsetattr(0, TCSADRAIN, &raw);
    prompt = prompt_on(columns());
    out(prompt, strlen(prompt));
    while (!done) {
        int c = key();

        done = !(old.c_lflag & ECHO) ? handle_untyped(c)
                                     : handle(c == 27 ? escape_sequence() : c, &place);
    }
    if (!(old.c_lflag & ECHO))
        out(line, length);
    tcsetattr(0, TCSADRAIN, &old);
    out(done == -2 ? "^C\n" : "\n", done == -2 ? 3 : 1);
    if (done == -2)
        interrupted = true;
    if (done < 0)
        return NULL;
    line[length] = 0;
    return strdup(line);
}
