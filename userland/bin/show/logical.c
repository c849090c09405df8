/* show logical: names, tables and what they stand for. */
#include "show.h"

#include <descrip.h>
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

static void print_attributes(const struct mega_logical *m)
{
    static const struct {
        unsigned bit;
        const char *name;
    } names[] = {{LNM$M_NO_ALIAS, "no_alias"},
                 {LNM$M_CONFINE, "confine"},
                 {LNM$M_TABLE, "table"},
                 {LNM$M_CONCEALED, "concealed"},
                 {LNM$M_TERMINAL, "terminal"}};

    printf(" [%s", mode_name(m->mode));
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if ((m->attributes | m->text_attributes) & names[i].bit)
            printf(",%s", names[i].name);
    printf("]");
}

/* One name with all it stands for. */
static void print_name(void *table, int64_t index, struct mega_logical *m, bool full)
{
    printf("  \"%s\"", m->name);
    if (full)
        print_attributes(m);
    if (m->is_table) {
        printf(" [table, %u names", m->names);
        if (m->quota)
            printf(", %lu of %lu bytes left", (unsigned long)m->left, (unsigned long)m->quota);
        printf("]");
    }
    if (m->translation >= 0)
        printf(" = \"%s\"", m->text);
    putchar('\n');
    for (int64_t t = 1; mega$logical(table, index, t, m) & 1; t++)
        printf("\t= \"%s\"\n", m->text);
}

/* Print the names of one table (NULL: all), or those called `only`. The number of those found. */
static unsigned print_table(const char *table, const char *only, bool full)
{
    struct dsc64$descriptor_s d = describe(table ? table : "");
    void *where = table ? &d : NULL;
    struct mega_logical m;
    char last[sizeof(m.table)] = "";
    unsigned found = 0;
    int status;

    for (int64_t i = 0; (status = mega$logical(where, i, 0, &m)) & 1; i++) {
        if (only && strcmp(only, m.name) != 0)
            continue;
        if (strcmp(last, m.table) != 0) {
            printf("%s(%s)\n", found ? "\n" : "", m.table);
            strcpy(last, m.table);
        }
        print_name(where, i, &m, full);
        found++;
    }
    return found;
}

int show_logical(unsigned qualifiers, const char *name)
{
    const char *table = qualifiers & Q_PROCESS  ? "LNM$PROCESS"
                        : qualifiers & Q_JOB    ? "LNM$JOB"
                        : qualifiers & Q_GROUP  ? "LNM$GROUP"
                        : qualifiers & Q_SYSTEM ? "LNM$SYSTEM"
                                                : NULL;
    bool full = (qualifiers & Q_FULL) != 0;

    if (print_table(table, name, full))
        return 0;
    if (name && !table && print_table(name, NULL, full)) /* a table's name */
        return 0;
    if (name) {
        fprintf(stderr, "%%SHOW-S-NOTRAN, no translation for logical name %s\n", name);
        return 1;
    }
    return 0;
}
