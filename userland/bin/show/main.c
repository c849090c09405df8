/*
 * show DISPLAY [NAME] [/QUALIFIER...]: words and qualifiers in any order and case, with or without
 * blanks between them. They may be abbreviated as long as they are unique.
 */
#include "show.h"

#include <condition.h>
#include <ctype.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define QUALIFIERS_MAX 16
#define COLUMNS        80 /* of a narrow terminal */

uint64_t page_size = 8192;
const char *table_value;

static const struct {
    const char *name;
    int (*fn)(unsigned, const char *);
    unsigned qualifiers;
    bool takes_name;
    const char *help;
} displays[] = {
    {"MEMORY", show_memory,
     Q_FULL | Q_ALL | Q_PHYSICAL | Q_RESERVED | Q_POOL | Q_GLOBAL | Q_FILES | Q_VALIDATE, false,
     "memory, reservations, pools, global section tables"},
    {"SECTION", show_section, Q_FULL, true, "global sections"},
    {"PROCESS", show_process, Q_ALL | Q_FULL, true, "processes"},
    {"SYSTEM", show_system, 0, false, "processes as a table of states"},
    {"REGION", show_region, 0, true, "regions of a process: PID, or the shell's"},
    {"CPU", show_cpu, Q_FULL, false, "processors and translation buffers"},
    {"PARAMETER", show_parameter, 0, true, "system parameters"},
    {"LOGICAL", show_logical, Q_FULL | Q_PROCESS | Q_JOB | Q_GROUP | Q_SYSTEM | Q_TABLE, true,
     "logical names: NAME (may have * and %), or those of table NAME"},
    {"PCI", show_pci, 0, false, "PCI devices"},
    {"DEVICE", show_device, Q_FULL, true, "disks and partitions: all, or NAME"},
    {"SPINLOCK", show_spinlock, Q_START | Q_STOP | Q_FULL, false,
     "spinlocks by name, and by place"},
    {"IPL", show_ipl, Q_START | Q_STOP | Q_FULL, false,
     "longest times at raised IPL, and by place"},
    {"USERS", show_users, Q_FULL, false, "what each user holds, and its limits"},
    {"ACCOUNTING", show_accounting, Q_FULL, true,
     "what processes used that have ended: all, or PID"},
    {"MUTEX", show_mutex, Q_START | Q_STOP, false, "mutexes by name"},
};

static const struct {
    const char *name;
    unsigned bit;
} qualifiers[] = {
    {"FULL", Q_FULL},         {"ALL", Q_ALL},     {"PHYSICAL", Q_PHYSICAL},
    {"RESERVED", Q_RESERVED}, {"POOL", Q_POOL},   {"START", Q_START},
    {"PROCESS", Q_PROCESS},   {"JOB", Q_JOB},     {"GROUP", Q_GROUP},
    {"SYSTEM", Q_SYSTEM},     {"STOP", Q_STOP},   {"GLOBAL", Q_GLOBAL},
    {"VALIDATE", Q_VALIDATE}, {"FILES", Q_FILES}, {"TABLE=name", Q_TABLE},
};

bool ask(unsigned item, int64_t index, void *buffer, uint64_t length)
{
    int status = mega$info(item, index, buffer, length);

    if (status & 1)
        return true;
    if (status != SS$_NONEXPR) {
        fprintf(stderr, "%%SHOW-F-NOINFO, the kernel answered %s\n",
                mega$condition_message(status, 0));
        exit(2);
    }
    return false;
}

double megabytes(uint64_t pages) { return (double)pages * (double)page_size / 1048576.0; }

const char *format_count(char text[24], uint64_t value, unsigned width)
{
    static const char units[] = "KMGTPE";
    int n = snprintf(text, 24, "%lu", (unsigned long)value);

    for (unsigned unit = 0; n > (int)width && units[unit]; unit++) {
        value /= 1000;
        n = snprintf(text, 24, "%lu%c", (unsigned long)value, units[unit]);
    }
    return text;
}

const char *format_duration(char text[DURATION_SIZE], uint64_t ns)
{
    unsigned long hundredths = ns / 10000000, seconds = hundredths / 100, hours = seconds / 3600;

    if (hours < 100)
        snprintf(text, DURATION_SIZE, "%02lu:%02lu:%02lu.%02lu", hours, seconds / 60 % 60,
                 seconds % 60, hundredths % 100);
    else
        snprintf(text, DURATION_SIZE, "%5lu:%02lu:%02lu", hours, seconds / 60 % 60, seconds % 60);
    return text;
}

void print_duration(uint64_t ns)
{
    char text[DURATION_SIZE];

    fputs(format_duration(text, ns), stdout);
}

static int usage(void)
{
    printf("show DISPLAY [NAME] [/QUALIFIER...]\n");
    for (size_t i = 0; i < sizeof(displays) / sizeof(displays[0]); i++) {
        size_t column = (size_t)printf("  %-10s %s", displays[i].name, displays[i].help);

        for (size_t j = 0; j < sizeof(qualifiers) / sizeof(qualifiers[0]); j++) {
            if (!(displays[i].qualifiers & qualifiers[j].bit))
                continue;
            if (column + strlen(" /") + strlen(qualifiers[j].name) >= COLUMNS)
                column = (size_t)printf("\n%12s", "") - 1;
            column += (size_t)printf(" /%s", qualifiers[j].name);
        }
        putchar('\n');
    }
    return 0;
}

static int find_display(const char *word)
{
    int found = -1;

    for (size_t i = 0; i < sizeof(displays) / sizeof(displays[0]); i++) {
        if (strncasecmp(displays[i].name, word, strlen(word)) != 0)
            continue;
        if (found >= 0) {
            fprintf(stderr, "%%SHOW-W-ABKEYW, ambiguous: %s\n", word);
            return -1;
        }
        found = (int)i;
    }
    if (found < 0)
        fprintf(stderr, "%%SHOW-W-IVKEYW, unknown display: %s\n", word);
    return found;
}

/* Only /TABLE=name has a value; the name is cut off the word and kept in table_value. */
static unsigned find_qualifier(char *word, unsigned allowed)
{
    char *value = strchr(word, '=');
    unsigned found = 0;

    if (value)
        *value++ = '\0';
    for (size_t i = 0; i < sizeof(qualifiers) / sizeof(qualifiers[0]); i++)
        if ((qualifiers[i].bit & allowed) && *word &&
            !strncasecmp(qualifiers[i].name, word, strlen(word)))
            found |= qualifiers[i].bit;
    if (!found || (found & (found - 1))) {
        fprintf(stderr, "%%SHOW-W-IVQUAL, %s qualifier: /%s\n", found ? "ambiguous" : "unknown",
                word);
        exit(1);
    }
    if ((found == Q_TABLE) != (value && *value)) {
        fprintf(stderr, "%%SHOW-W-IVQUAL, /%s %s value\n", word,
                found == Q_TABLE ? "needs a" : "takes no");
        exit(1);
    }
    if (found == Q_TABLE)
        table_value = value;
    return found;
}

int main(int argc, char **argv)
{
    char words[2][256], *line, *p, *qualifier[QUALIFIERS_MAX];
    unsigned count = 0, nqualifiers = 0, given = 0;
    size_t n = 1;
    int d;

    for (int i = 1; i < argc; i++)
        n += strlen(argv[i]) + 1;
    line = calloc(1, n);
    for (int i = 1; i < argc; i++)
        strcat(strcat(line, argv[i]), " ");
    for (p = line + strspn(line, " "); *p; p += strspn(p, " ")) {
        bool slash = *p == '/';
        size_t len = strcspn(p + slash, " /");
        char *word = p + slash;

        if (slash ? nqualifiers == QUALIFIERS_MAX : count == 2 || len >= sizeof(words[0])) {
            fprintf(stderr, "%%SHOW-W-MAXPARM, too many or too long words\n");
            return 1;
        }
        p = word + len;
        if (slash) {
            qualifier[nqualifiers] = strndup(word, len);
            if (!qualifier[nqualifiers++])
                return 2;
        } else {
            memcpy(words[count], word, len);
            words[count++][len] = 0;
        }
    }
    if (!count || !strcasecmp(words[0], "help"))
        return usage();
    d = find_display(words[0]);
    if (d < 0)
        return 1;
    for (unsigned i = 0; i < nqualifiers; i++)
        given |= find_qualifier(qualifier[i], displays[d].qualifiers);
    if (count == 2 && !displays[d].takes_name) {
        fprintf(stderr, "%%SHOW-W-MAXPARM, SHOW %s takes no name\n", displays[d].name);
        return 1;
    }
    return displays[d].fn(given, count == 2 ? words[1] : NULL);
}
