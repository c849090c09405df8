/*
 * The commands define and deassign, for the simple shell (bin/sh) and as programs (bin/define.c,
 * bin/deassign.c).
 */
#include <megalith/logical_commands.h>

#include <condition.h>
#include <descrip.h>
#include <iledef.h>
#include <lnmdef.h>
#include <psldef.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define STRINGS_MAX 128

static const char own_table[] = "LNM$PROCESS";

struct options {
    const char *table;
    unsigned char mode;
    bool all;
    unsigned name_attributes, text_attributes; /* LNM$M_* */
};

/* Is the word the name of a qualifier or an abbreviation of it? */
static bool is(const char *word, const char *qualifier)
{
    return strlen(word) >= 2 && !strncasecmp(word, qualifier, strlen(word));
}

/* Parse attributes: names separated by commas, which may be abbreviated. False: unknown name. */
static bool take_attributes(const char *list, unsigned *attributes)
{
    static const struct {
        const char *name;
        unsigned bit;
    } known[] = {{"CONFINE", LNM$M_CONFINE},
                 {"NO_ALIAS", LNM$M_NO_ALIAS},
                 {"CONCEALED", LNM$M_CONCEALED},
                 {"TERMINAL", LNM$M_TERMINAL}};

    while (*list) {
        size_t n = strcspn(list, ",()"), found = 0;

        for (size_t i = 0; n && i < sizeof(known) / sizeof(known[0]); i++)
            if (!strncasecmp(list, known[i].name, n)) {
                *attributes |= known[i].bit;
                found++;
            }
        if (n && found != 1)
            return false;
        list += n + (list[n] != '\0');
    }
    return true;
}

/* Is the word /NAME=value? The part before the equals sign may be abbreviated. */
static bool take_value(struct options *o, const char *word, const char *value)
{
    unsigned given = 0;
    size_t n = (size_t)(value - word);

    if (n < 2 || !value[1])
        return false;
    if (!strncasecmp(word, "/TABLE", n)) {
        o->table = value + 1;
        return true;
    }
    if (!take_attributes(value + 1, &given))
        return false;
    if (!strncasecmp(word, "/NAME_ATTRIBUTES", n)) {
        o->name_attributes = given;
        return !(given & ~(unsigned)(LNM$M_CONFINE | LNM$M_NO_ALIAS));
    }
    o->text_attributes = given;
    return !strncasecmp(word, "/TRANSLATION_ATTRIBUTES", n) &&
           !(given & ~(unsigned)(LNM$M_CONCEALED | LNM$M_TERMINAL));
}

static bool take_option(struct options *o, const char *word)
{
    const char *value = strchr(word, '=');
    static const struct {
        const char *name, *table;
    } tables[] = {{"/PROCESS", own_table},
                  {"/JOB", "LNM$JOB"},
                  {"/GROUP", "LNM$GROUP"},
                  {"/SYSTEM", "LNM$SYSTEM"}};
    static const struct {
        const char *name;
        unsigned char mode;
    } modes[] = {{"/USER_MODE", PSL$C_USER},
                 {"/SUPERVISOR_MODE", PSL$C_SUPER},
                 {"/EXECUTIVE_MODE", PSL$C_EXEC}};

    if (value)
        return take_value(o, word, value);
    if (is(word, "/ALL")) {
        o->all = true;
        return true;
    }
    /* /S alone is ambiguous: tables come first, so that it means /SYSTEM, as with DCL. */
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
        if (is(word, tables[i].name)) {
            o->table = tables[i].table;
            return true;
        }
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
        if (is(word, modes[i].name)) {
            o->mode = modes[i].mode;
            return true;
        }
    return false;
}

/* Parse a word of one or more qualifiers without blanks between them. Modifies the word. */
static bool take_word(struct options *o, char *word)
{
    while (word && *word) {
        char *next = strchr(word + 1, '/');
        bool fine;

        if (next)
            *next = '\0';
        fine = take_option(o, word);
        if (!fine) {
            fprintf(stderr, "%%DCL-W-IVQUAL, unknown qualifier or value: %s\n", word);
            return false;
        }
        if (next)
            *next = '/';
        word = next;
    }
    return true;
}

/* Parse the options, including those attached to the verb, and move the other words to the front.
 * Returns their number, or -1 after an error message. */
static int take_options(struct options *o, int argc, char **argv, const char *table)
{
    char *glued = strchr(argv[0], '/');
    int words = 0;

    *o = (struct options){.table = table, .mode = PSL$C_SUPER};
    if (!take_word(o, glued))
        return -1;
    for (int i = 1; i < argc; i++)
        if (argv[i][0] != '/' || words == 1) /* a string may begin with a slash */
            argv[words++] = argv[i];
        else if (!take_word(o, argv[i]))
            return -1;
    return words;
}

static struct dsc64$descriptor_s describe(const char *s)
{
    return (struct dsc64$descriptor_s){1,  DSC64$K_DTYPE_T, DSC64$K_CLASS_S,
                                       -1, strlen(s),       (char *)s};
}

static int complain(const char *name, int status)
{
    if (status & 1)
        return 0;
    fprintf(stderr, "%s: %s\n", mega$condition_message(status, 0), name);
    return 1;
}

/* Would names of that table end with this program? Prints a message then. */
static bool is_lost(const char *table, const char *usual)
{
    static const char *const own[] = {own_table, "LNM$PROCESS_TABLE", "LNM$FILE_DEV"};
    bool found = false;

    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
        found |= strcasecmp(table, own[i]) == 0;
    if (!found || strcmp(usual, own_table) == 0)
        return false;
    fprintf(stderr, "%%DCL-W-NOTHERE, names of a process end with it, and this command is one; "
                    "there are /JOB, /GROUP and /SYSTEM\n");
    return true;
}

int mega$define(int argc, char **argv, const char *table_name, bool *user_mode)
{
    ILEB_64 items[STRINGS_MAX + 2] = {{0}};
    struct dsc64$descriptor_s table, name;
    struct options o;
    unsigned n = 0;
    int status, words = take_options(&o, argc, argv, table_name);

    if (words < 0 || is_lost(o.table, table_name))
        return 1;
    if (words != 2) {
        fprintf(stderr, "%%DCL-W-INSFPRM, define [/qualifier...] name string[,string...]\n");
        return 1;
    }
    items[n++] = (ILEB_64){1,   LNM$_ATTRIBUTES, -1, sizeof(o.text_attributes), &o.text_attributes,
                           NULL};
    for (char *s = argv[1], *next; s; s = next) { /* a string may be empty */
        next = strchr(s, ',');
        if (next)
            *next++ = '\0';
        if (n == STRINGS_MAX + 1)
            return complain(argv[0], SS$_BADPARAM);
        items[n++] = (ILEB_64){1, LNM$_STRING, -1, strlen(s), s, NULL};
    }
    table = describe(o.table);
    name = describe(argv[0]);
    status = sys$crelnm(&o.name_attributes, &table, &name, &o.mode, items);
    if ((status & 1) && o.mode == PSL$C_USER)
        *user_mode = true;
    if (status == SS$_SUPERSEDE)
        printf("%%DCL-I-SUPERSEDE, previous value of %s has been superseded\n", argv[0]);
    return complain(argv[0], status);
}

int mega$deassign(int argc, char **argv, const char *table_name)
{
    struct dsc64$descriptor_s table, name;
    struct options o;
    int words = take_options(&o, argc, argv, table_name);

    if (words < 0 || is_lost(o.table, table_name))
        return 1;
    if (words != !o.all) {
        fprintf(stderr, "%%DCL-W-INSFPRM, deassign [/qualifier...] name, or /ALL\n");
        return 1;
    }
    table = describe(o.table);
    if (o.all)
        return complain(o.table, sys$dellnm(&table, NULL, &o.mode));
    name = describe(argv[0]);
    return complain(argv[0], sys$dellnm(&table, &name, &o.mode));
}
