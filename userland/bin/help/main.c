/*
 * help [TOPIC | COMMAND | CONDITION]: what there is to try in this system, what a command can do,
 * or what a condition value says. CONDITION is the name of a value in any case, with its prefix
 * or without, or its number, decimal or 0x.
 */
#include "help.h"

#include <condition.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define WIDTH 78

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

/* Name, number and message. */
static void tell(const struct condition *c)
{
    printf("%s, condition value %d (0x%X): %s\n", c->name, c->status, (unsigned)c->status,
           mega$condition_message(c->status, 1));
    if (c->help)
        fill(c->help);
    else
        fill(strncmp(c->name, "SS$_", 4) == 0 ? "No service of this system returns it."
                                              : "It belongs to routines of the library.");
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
    const struct condition *found;

    if (argc < 2) {
        list_topics();
        return 0;
    }
    for (const struct topic *t = topics; argc == 2 && t->name; t++)
        if (strcasecmp(t->name, argv[1]) == 0) {
            fputs(t->text, stdout);
            return 0;
        }
    found = argc == 2 ? condition_find(argv[1]) : NULL;
    if (!found) {
        if (argc == 2)
            ask_command(argv[1]);
        fprintf(stderr, "help: nothing is known of %s; help lists the topics\n", argv[1]);
        return 1;
    }
    tell(found);
    return 0;
}
