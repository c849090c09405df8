/*
 * show logical [NAME] [/TABLE=name | /PROCESS | /JOB | /GROUP | /SYSTEM] [/FULL]
 *
 * Without NAME, shows all names. A NAME with * (any characters) or % (any character) shows the
 * names that match. Another NAME is shown with its translations and, in turn, the translations of
 * these, up to LNM$C_MAXDEPTH names deep, unless a definition is marked as terminal. If NAME is the
 * name of a table and no table is given, shows that table.
 */
#include "show.h"

#include <descrip.h>
#include <filled.h>
#include <fnmatch.h>
#include <iledef.h>
#include <lnmdef.h>
#include <psldef.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static struct dsc64$descriptor_s describe(const char *s)
{
    return (struct dsc64$descriptor_s){1,  DSC64$K_DTYPE_T, DSC64$K_CLASS_S,
                                       -1, strlen(s),       (char *)s};
}

static const char *mode_name(unsigned mode)
{
    static const char *const names[] = {"kernel", "exec", "super", "user"};

    return mode <= PSL$C_USER ? names[mode] : "?";
}

/* Format the attributes of a name, after a blank. */
static void format_attributes(char text[64], const struct mega_logical *m)
{
    static const struct {
        unsigned bit;
        const char *name;
    } names[] = {{LNM$M_NO_ALIAS, "no_alias"},
                 {LNM$M_CONFINE, "confine"},
                 {LNM$M_TABLE, "table"},
                 {LNM$M_CONCEALED, "concealed"},
                 {LNM$M_TERMINAL, "terminal"}};
    size_t n = (size_t)snprintf(text, 64, " [%s", mode_name(m->mode));

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if ((m->attributes | m->text_attributes) & names[i].bit)
            n += (size_t)snprintf(text + n, 64 - n, ",%s", names[i].name);
    snprintf(text + n, 64 - n, "]");
}

#define INDENT 8 /* of the further translations of a name */

/* Print one name with all its translations. */
static void print_name(void *table, const struct mega_logical *name, bool full)
{
    char attributes[64] = "", of_table[96] = "", quota[64] = "";
    struct mega_logical m = *name;

    if (full)
        format_attributes(attributes, &m);
    if (m.quota)
        snprintf(quota, sizeof(quota), ", %lu of %lu bytes left", (unsigned long)m.left,
                 (unsigned long)m.quota);
    if (m.is_table)
        snprintf(of_table, sizeof(of_table), " [table, %u names%s]", m.names, quota);
    if (m.translation >= 0)
        mega$print_filled(INDENT, "  \"%s\"%s%s = \"%s\"", m.name, attributes, of_table, m.text);
    else
        mega$print_filled(INDENT, "  \"%s\"%s%s", m.name, attributes, of_table);
    for (int64_t t = 1; mega$logical(table, MEGA_LOGICAL_SAME, t, &m) & 1; t++)
        printf("\t= \"%s\"\n", m.text);
}

/* Convert a pattern with * and % into a pattern for fnmatch. */
static char *pattern_of(const char *name)
{
    char *pattern = malloc(2 * strlen(name) + 1), *to = pattern;

    for (; pattern && *name; name++) {
        if (strchr("?[]\\", *name))
            *to++ = '\\';
        *to++ = *name == '%' ? '?' : *name;
    }
    if (pattern)
        *to = '\0';
    return pattern;
}

/* Print the names of one table (NULL: all) that match (NULL: all). Returns how many there were. */
static unsigned print_table(const char *table, const char *pattern, bool full)
{
    struct dsc64$descriptor_s d = describe(table ? table : "");
    void *where = table ? &d : NULL;
    struct mega_logical m;
    char last[sizeof(m.table)] = "";
    uint64_t seen = 0;
    unsigned found = 0;
    int status = mega$logical(where, 0, 0, &m);

    while (status & 1) {
        if (!pattern || fnmatch(pattern, m.name, 0) == 0) {
            if (strcmp(last, m.table) != 0) {
                printf("%s(%s)\n", found ? "\n" : "", m.table);
                strcpy(last, m.table);
            }
            print_name(where, &m, full);
            found++;
        }
        seen++;
        status = mega$logical(where, MEGA_LOGICAL_NEXT, 0, &m);
        if (status == SS$_NONEXPR) /* the last name was deleted meanwhile: continue by index */
            status = mega$logical(where, (int64_t)seen, 0, &m);
    }
    return found;
}

/* ---- following the translations of a name ---- */

#define FOLLOWED_MAX 256 /* lines: lists that translate to lists could grow without bound */

static unsigned followed;

/* Print the translations of a name, and recursively theirs; depth is the number of names before it.
 * False: too many. */
static bool follow(const char *table, const char *name, unsigned depth)
{
    struct dsc64$descriptor_s t = describe(table), n = describe(name);
    bool fine = true;
    unsigned max = 0;

    for (unsigned i = 0; i <= max && fine; i++) {
        char text[256], where[32];
        unsigned short length = 0, where_length = 0;
        unsigned attributes = 0;
        ILE3 items[] = {{4, LNM$_INDEX, &i, NULL},
                        {4, LNM$_ATTRIBUTES, &attributes, NULL},
                        {4, LNM$_MAX_INDEX, &max, NULL},
                        {255, LNM$_STRING, text, &length},
                        {31, LNM$_TABLE, where, &where_length},
                        {0}};

        if (!(sys$trnlnm(NULL, &t, &n, NULL, items) & 1) || (int)max < 0)
            return true;
        text[length] = where[where_length] = '\0';
        if (!(attributes & LNM$M_EXISTS))
            continue;
        if (depth) {
            if (depth >= LNM$C_MAXDEPTH || ++followed > FOLLOWED_MAX)
                return false;
            mega$print_filled(INDENT, "%u \"%s\" = \"%s\" (%s)", depth, name, text, where);
        }
        if (!(attributes & LNM$M_TERMINAL) && length)
            fine = follow(table, text, depth + 1);
    }
    return fine;
}

static bool no_table(const char *table)
{
    struct dsc64$descriptor_s t = describe(table);

    return sys$trnlnm(NULL, &t, &t, NULL, NULL) == SS$_IVLOGTAB;
}

int show_logical(unsigned qualifiers, const char *name)
{
    const char *table = qualifiers & Q_TABLE     ? table_value
                        : qualifiers & Q_PROCESS ? "LNM$PROCESS"
                        : qualifiers & Q_JOB     ? "LNM$JOB"
                        : qualifiers & Q_GROUP   ? "LNM$GROUP"
                        : qualifiers & Q_SYSTEM  ? "LNM$SYSTEM"
                                                 : NULL;
    bool full = (qualifiers & Q_FULL) != 0, wild = name && strpbrk(name, "*%");
    char *pattern = name ? pattern_of(name) : NULL;
    unsigned found = print_table(table, pattern, full);

    free(pattern);
    if (!found && table && no_table(table)) {
        fprintf(stderr, "%%SHOW-W-NOLOGTAB, no logical name table %s\n", table);
        return 1;
    }
    if (found && name && !wild && !follow(table ? table : "LNM$FILE_DEV", name, 0)) {
        fprintf(stderr, "%%SHOW-W-TOOMANYLNAM, %s is followed no further\n", name);
        return 1;
    }
    if (!found && name && !table && !wild) /* try it as the name of a table */
        found = print_table(name, NULL, full);
    if (!found && name) {
        fprintf(stderr, "%%SHOW-S-NOTRAN, no translation for logical name %s\n", name);
        return 1;
    }
    return 0;
}
