/*
 * sysman [COMMAND WORDS...]: one command, or the SYSMAN> prompt, which reads lines of standard
 * input. Exit status: 0, or 1 when the command, or the last one of the prompt, failed.
 */
#include "sysman.h"

#include <megalith/prompt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static enum status help(const struct command *c);
static enum status leave(const struct command *c);

#define ENTRY_QUALIFIERS                                                              \
    "SIZE= ALLOCATE NOALLOCATE ZERO NOZERO PAGE_TABLES NOPAGE_TABLES GLOBAL_SECTION " \
    "NOGLOBAL_SECTION GROUP= SYSGBL"

/* A command: its verb, and the second word of those commands that have one. */
static const struct verb {
    const char *first, *second, *usage;
    unsigned least, most; /* number of words after them */
    const char *qualifiers;
    enum status (*fn)(const struct command *c);
    const char *help;
} verbs[] = {
    {"RESERVED_MEMORY", "SHOW", "[name]", 0, 1, "", reserved_show,
     "Show the reservations of the running system. Sizes are in pages; a\n"
     "    reservation with page tables has a second line for them."},
    {"RESERVED_MEMORY", "FREE", "name [/GROUP=n | /SYSGBL | /NOGLOBAL_SECTION]", 1, 1,
     "GROUP= SYSGBL NOGLOBAL_SECTION", reserved_free,
     "Free the unused part of a reservation: pages that were allocated go to the\n"
     "    free list, others only to the fluid page count. Sections of that name made\n"
     "    later are FLUID. The next boot reserves the memory again, unless\n"
     "    REMOVE has removed the entry.\n"
     "      /GROUP=n           the entry of group n (octal)\n"
     "      /SYSGBL            the entry of the system (default)\n"
     "      /NOGLOBAL_SECTION  the entry for a driver, which no section uses"},
    {"RESERVED_MEMORY", "ADD", "name [size] [qualifiers]", 1, 2,
     ENTRY_QUALIFIERS " RAD=", stored_add,
     "Add an entry to the registry on the system disk; it counts from the next\n"
     "    boot on. Sizes are in MB.\n"
     "      /SIZE=n            the size, if it does not stand behind the name\n"
     "      /[NO]ALLOCATE      take contiguous, aligned pages at boot (default: no)\n"
     "      /[NO]ZERO          zero them at boot; implies /ALLOCATE (default: no)\n"
     "      /[NO]PAGE_TABLES   reserve shared page tables too (default: yes)\n"
     "      /[NO]GLOBAL_SECTION  for a section (default), or for a driver\n"
     "      /GROUP=n /SYSGBL   for a section of that UIC group (octal), or of all\n"
     "      /RAD=n             the domain that the pages should come from"},
    {"RESERVED_MEMORY", "MODIFY", "name [qualifiers]", 1, 1,
     ENTRY_QUALIFIERS " RAD= NEW_RAD= NONEW_RAD", stored_modify,
     "Change an entry on the system disk; what is not given keeps its value.\n"
     "    Qualifiers as for ADD, but /RAD is the part that is in this domain.\n"
     "      /NEW_RAD=n         the domain from now on (/NONEW_RAD: no preference)"},
    {"RESERVED_MEMORY", "REMOVE", "name [/GROUP=n | /SYSGBL | /NOGLOBAL_SECTION] [/RAD=n]", 1, 1,
     "GROUP= SYSGBL NOGLOBAL_SECTION RAD=", stored_remove,
     "Remove an entry from the system disk, or with /RAD one part of it."},
    {"RESERVED_MEMORY", "EXTEND", "name [size] [/RAD=n]", 1, 2,
     "SIZE= RAD= GROUP= SYSGBL NOGLOBAL_SECTION", stored_extend,
     "Add a further part to an entry on the system disk, in another domain."},
    {"RESERVED_MEMORY", "LIST", "[name]", 0, 1, "", stored_list,
     "List the registry on the system disk, which the next boot reads."},
    {"PARAMETERS", "SHOW", "[name]", 0, 1, "DYNAMIC CURRENT", parameters_show,
     "Show system parameters with the values in force, or, after USE, in the work\n"
     "    area. A name may end in *.\n"
     "      /DYNAMIC           only those that can be changed while the system runs\n"
     "      /CURRENT           the values on the system disk"},
    {"PARAMETERS", "SET", "name value", 1, 2, "CURRENT DEFAULT", parameters_set,
     "Set a dynamic parameter; it takes effect at once and lasts until the next\n"
     "    boot. After USE: set a parameter in the work area. The value may have %X,\n"
     "    %O or 0x before it and K, M, G or T after it.\n"
     "      /CURRENT           set it on the system disk, from the next boot on\n"
     "      /DEFAULT           instead of a value: the default"},
    {"PARAMETERS", "USE", "[ACTIVE | CURRENT | DEFAULT]", 0, 1, "", parameters_use,
     "Fill the work area, which SHOW and SET are about from then on, with the\n"
     "    values in force, those on the system disk, or the defaults."},
    {"PARAMETERS", "WRITE", "ACTIVE | CURRENT", 1, 1, "", parameters_write,
     "Write the work area, or without USE the values in force, to the system disk\n"
     "    (CURRENT, from the next boot on), or put its dynamic parameters to use\n"
     "    (ACTIVE, until the next boot)."},
    {"HELP", NULL, "[command]", 0, 2, "", help, "Describe the commands."},
    {"EXIT", NULL, "", 0, 0, "", leave, "Leave. So does the end of input."},
};
#define VERBS (sizeof(verbs) / sizeof(verbs[0]))

enum status fail(const char *ident, const char *format, ...)
{
    va_list ap;

    fflush(stdout);
    fprintf(stderr, "%%SYSMAN-E-%s, ", ident);
    va_start(ap, format);
    vfprintf(stderr, format, ap);
    va_end(ap);
    fputc('\n', stderr);
    return FAILED;
}

static bool begins(const char *full, const char *word)
{
    return *word && strncasecmp(full, word, strlen(word)) == 0;
}

/* ---- parsing a command line ---- */

/* Parse one token at p, and remove its quotes in place. Returns the address of the character that
 * ended it, or NULL if a quote is not closed. */
static char *token(char *p, char **end)
{
    char *to = p;
    bool quoted = false;

    for (; *p && (quoted || !strchr(" \t/!", *p)); p++)
        if (*p == '"')
            quoted = !quoted;
        else
            *to++ = *p;
    *end = to;
    return quoted ? NULL : p;
}

bool split(char *line, struct command *c)
{
    char *p = line;
    bool slash = false; /* the last token ended at a slash */

    *c = (struct command){.words = 0};
    for (;;) {
        char *text, *end, stop;

        if (!slash) {
            p += strspn(p, " \t");
            slash = *p == '/';
            if (!*p || *p == '!')
                return true;
            p += slash;
        }
        text = p;
        p = token(p, &end);
        if (!p)
            return fail("UNCLOSED", "a quote is not closed"), false;
        if (slash ? c->qualifiers == MAX_QUALIFIERS : c->words == MAX_WORDS)
            return fail("MAXPARM", "too many words"), false;
        stop = *p;
        *end = 0; /* may overwrite the character that ended the token */
        if (slash) {
            size_t n = strcspn(text, "=:");

            c->value[c->qualifiers] = text[n] ? text + n + 1 : NULL;
            text[n] = 0;
            c->qualifier[c->qualifiers++] = text;
        } else {
            c->word[c->words++] = text;
        }
        if (!stop || stop == '!')
            return true;
        slash = stop == '/';
        p++;
    }
}

int given(const struct command *c, const char *name)
{
    for (unsigned i = 0; i < c->qualifiers; i++)
        if (begins(name, c->qualifier[i]))
            return (int)i;
    return -1;
}

bool number(const char *text, int radix, int64_t *value)
{
    static const char suffixes[] = "KMGT";
    bool negative = *text == '-';
    const char *suffix;
    char *end;
    int64_t n;

    text += negative;
    if (strncasecmp(text, "%X", 2) == 0 || strncasecmp(text, "0x", 2) == 0)
        radix = 16, text += 2;
    else if (strncasecmp(text, "%O", 2) == 0)
        radix = 8, text += 2;
    else if (strncasecmp(text, "%D", 2) == 0)
        radix = 10, text += 2;
    if (!*text || strchr("+- \t", *text))
        return false;
    n = (int64_t)strtoul(text, &end, radix);
    if (end == text || n < 0)
        return false;
    if (*end) {
        suffix = strchr(suffixes, *end & ~0x20);
        if (!suffix || end[1] || __builtin_mul_overflow(n, 1024L << 10 * (suffix - suffixes), &n))
            return false;
    }
    *value = negative ? -n : n;
    return true;
}

/* ---- finding the command ---- */

static bool abbreviates(const struct verb *v, const struct command *c)
{
    return begins(v->first, c->word[0]) &&
           (!v->second || (c->words > 1 && begins(v->second, c->word[1])));
}

/* Check each qualifier: it must be an unambiguous abbreviation of one in the verb's list, and have
 * a value if and only if the list says so. */
static bool allowed(const struct verb *v, const struct command *c, unsigned i)
{
    const char *p = v->qualifiers, *found = NULL;
    bool takes = false;

    while (*p) {
        size_t n = strcspn(p, " ");
        size_t name = n - (p[n - 1] == '=');

        if (*c->qualifier[i] && strlen(c->qualifier[i]) <= name &&
            strncasecmp(p, c->qualifier[i], strlen(c->qualifier[i])) == 0) {
            if (found)
                return fail("ABKEYW", "qualifier /%s is ambiguous", c->qualifier[i]), false;
            found = p;
            takes = name < n;
        }
        p += n + strspn(p + n, " ");
    }
    if (!found)
        return fail("IVQUAL", "%s takes no qualifier /%s", v->second, c->qualifier[i]), false;
    if (takes != (c->value[i] && *c->value[i]))
        return fail("IVQUAL", "/%s %s value", c->qualifier[i], takes ? "needs a" : "takes no"),
               false;
    return true;
}

enum status execute(const struct command *c)
{
    const struct verb *v = NULL;
    struct command rest = *c;
    unsigned used;

    if (c->words == 0)
        return c->qualifiers ? fail("IVVERB", "a command begins with a word") : DONE;
    for (unsigned i = 0; i < VERBS; i++) {
        if (!abbreviates(&verbs[i], c))
            continue;
        if (v)
            return fail("ABKEYW", "'%s' is ambiguous", c->word[v->second ? 1 : 0]);
        v = &verbs[i];
    }
    for (unsigned i = 0; !v && c->words == 1 && i < VERBS; i++)
        if (begins(verbs[i].first, c->word[0]))
            return fail("IVVERB", "%s needs one more word; HELP %s lists them", verbs[i].first,
                        verbs[i].first);
    if (!v)
        return fail("IVVERB", "there is no command '%s%s%s'; HELP lists them", c->word[0],
                    c->words > 1 ? " " : "", c->words > 1 ? c->word[1] : "");
    used = v->second ? 2 : 1;
    rest.words -= used;
    memmove(rest.word, c->word + used, rest.words * sizeof(rest.word[0]));
    if (rest.words < v->least || rest.words > v->most)
        return fail("SYNTAX", "usage: %s%s%s %s", v->first, v->second ? " " : "",
                    v->second ? v->second : "", v->usage);
    for (unsigned i = 0; v->qualifiers && i < c->qualifiers; i++)
        if (!allowed(v, c, i))
            return FAILED;
    return v->fn(&rest);
}

static enum status help(const struct command *c)
{
    bool found = false;

    for (unsigned i = 0; i < VERBS; i++) {
        const struct verb *v = &verbs[i];

        if ((c->words > 0 && !begins(v->first, c->word[0])) ||
            (c->words > 1 && !(v->second && begins(v->second, c->word[1]))))
            continue;
        found = true;
        printf("%s%s%s %s\n    %s\n", v->first, v->second ? " " : "", v->second ? v->second : "",
               v->usage, v->help);
    }
    return found ? DONE : fail("NOHELP", "there is no such command");
}

static enum status leave(const struct command *c)
{
    (void)c;
    return LEAVE;
}

/* ---- the prompt ---- */

static int prompt(void)
{
    enum status status = DONE;
    char *line = NULL;
    size_t size = 0;

    while (mega$prompt_line("SYSMAN> ", &line, &size) >= 0) {
        struct command c;

        status = split(line, &c) ? execute(&c) : FAILED;
        if (status == LEAVE)
            break;
    }
    free(line);
    return status == FAILED;
}

int main(int argc, char **argv)
{
    struct command c;
    size_t n = 1;
    char *line;

    if (argc == 1)
        return prompt();
    for (int i = 1; i < argc; i++)
        n += strlen(argv[i]) + 1;
    line = calloc(1, n);
    if (!line)
        return 1;
    for (int i = 1; i < argc; i++)
        strcat(strcat(line, argv[i]), i + 1 < argc ? " " : "");
    return !split(line, &c) || execute(&c) == FAILED;
}
