/*
 * help [TOPIC | COMMAND | CONDITION]: what there is to try in this system, what a command can do,
 * or what a condition value says. CONDITION is SS$_NAME in any case, or its number, decimal or 0x.
 */
#include "help.h"

#include <condition.h>
#include <ctype.h>
#include <descrip.h>
#include <starlet.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define CONDITION_MOST 0x10000 /* above all values of <ssdef.h> */
#define WIDTH          78

static void list_topics(void)
{
    printf("This is Megalith, for very large memory, with a shell of the usual kind.\n\n");
    for (const struct topic *t = topics; t->name; t++)
        printf("  help %-18s%s\n", t->name, t->what);
    printf("  help %-18s%s\n", "INSFLPGS", "what a condition value says (or its number)");
    printf("  help %-18s%s\n", "show", "what a command can do: show, sysman, sda, ls, awk, ...");
}

/* Print a paragraph, broken between words. */
static void fill(const char *text)
{
    size_t column = 0;

    while (*text) {
        size_t n = strcspn(text, " ");

        if (column && column + 1 + n > WIDTH) {
            putchar('\n');
            column = 0;
        }
        column += (size_t)printf("%s%.*s", column ? " " : "  ", (int)n, text);
        text += n + (text[n] == ' ');
    }
    putchar('\n');
}

/* The value that a word names. False: none. */
static bool condition_of(const char *word, int *status)
{
    char *end;
    long n = strtol(word, &end, 0);

    if (isdigit((unsigned char)*word)) {
        *status = (int)n;
        return !*end && n >= 0 && n < CONDITION_MOST && mega$condition_name((int)n);
    }
    for (int k = 0; k < CONDITION_MOST; k++) {
        const char *name = mega$condition_name(k);

        if (name && (strcasecmp(name, word) == 0 || strcasecmp(name + strlen("SS$_"), word) == 0)) {
            *status = k;
            return true;
        }
    }
    return false;
}

/* Name, number and message; of a message with parameters ("..., reason mask=!XB", "... at PC=!XH")
 * the part before them. */
static void tell(int status)
{
    char line[256];
    struct dsc$descriptor_s text = {sizeof(line) - 1, DSC$K_DTYPE_T, DSC$K_CLASS_S, line};
    unsigned short n;
    char *end;

    sys$getmsg((unsigned)status, &n, &text, 1, NULL);
    line[n] = '\0';
    if ((end = strchr(line, '!'))) {
        while (end > line && strncmp(end, ", ", 2) != 0 && strncmp(end, " at ", 4) != 0)
            end--;
        *end = '\0';
    }
    printf("%s: %s\n", mega$condition_text(status), line);
}

/* Let a command say what it can do: one of ours that knows, or a program of BusyBox, which is a
 * link to it. Returns if there is no such command. */
static void ask_command(const char *name)
{
    static const char *const ours[] = {"show", "sysman", "sda"};
    char path[64], target[16];
    ssize_t n;

    for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
        if (strcasecmp(name, ours[i]) == 0)
            execlp(ours[i], ours[i], "help", NULL);
    if (strchr(name, '/') || snprintf(path, sizeof(path), "/bin/%s", name) >= (int)sizeof(path))
        return;
    n = readlink(path, target, sizeof(target));
    if (n == (ssize_t)strlen("busybox") && !memcmp(target, "busybox", (size_t)n)) {
        dup2(1, 2); /* where BusyBox says it */
        execl(path, name, "--help", NULL);
    }
}

int main(int argc, char **argv)
{
    const char *text;
    int status;

    if (argc < 2) {
        list_topics();
        return 0;
    }
    for (const struct topic *t = topics; argc == 2 && t->name; t++)
        if (strcasecmp(t->name, argv[1]) == 0) {
            fputs(t->text, stdout);
            return 0;
        }
    if (argc != 2 || !condition_of(argv[1], &status)) {
        if (argc == 2)
            ask_command(argv[1]);
        fprintf(stderr, "help: nothing is known of %s; help lists the topics\n", argv[1]);
        return 1;
    }
    tell(status);
    text = condition_help(status);
    fill(text ? text : "No service of this system returns it.");
    return 0;
}
