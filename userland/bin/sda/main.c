/*
 * sda [COMMAND]: one command, or the SDA> prompt, which reads lines of standard input. Exit status:
 * 0, or 1 when the command, or the last one of the prompt, failed.
 */
#include "sda.h"

#include <condition.h>
#include <ctype.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define LEAVE (-1)

static const struct {
    const char *name, *what;
    enum mega_facility facility;
} facilities[] = {
    {"MTX", "mutexes: locks, waits, and who calls", MEGA_TRACE_MTX},
    {"SPL", "spinlocks: the same", MEGA_TRACE_SPL},
    {"PCS", "PC samples of each CPU", MEGA_TRACE_PCS},
    {"FLT", "alignment faults of user mode: where, who, how often", MEGA_TRACE_FLT},
};
#define FACILITIES (sizeof(facilities) / sizeof(facilities[0]))

enum verb { LOAD, START, STOP, UNLOAD, SHOW };

static const struct {
    const char *first, *second;
    enum verb verb;
    const char *lock_qualifiers, *pcs_qualifiers, *flt_qualifiers, *what;
} verbs[] = {
    {"LOAD", NULL, LOAD, "", "BUFFER=", "", "take memory: PCS /BUFFER=pages of each CPU (128)"},
    {"START", "TRACE", START, "", "BUFFER= RATE=", "",
     "begin anew, loading if need be: PCS /RATE=Hz (0: the clock's 1024)"},
    {"STOP", "TRACE", STOP, "", "", "", "stop; what was traced stays"},
    {"SHOW", "TRACE", SHOW, "SUMMARY TOP=", "SUMMARY TOP= PROCESS= CPU= FROM= TO= PROGRAM=",
     "SUMMARY TOP= PROCESS= PROGRAM=",
     "show it, also while it runs: /SUMMARY /TOP=n; PCS, FLT /PROCESS=pid\n"
     "      /PROGRAM=file (symbols of user mode); PCS /CPU=n /FROM=s /TO=s (since the start)"},
    {"UNLOAD", NULL, UNLOAD, "", "", "", "stop, and give the memory back"},
};
#define VERBS (sizeof(verbs) / sizeof(verbs[0]))

int fail(const char *ident, const char *format, ...)
{
    va_list ap;

    fflush(stdout);
    fprintf(stderr, "%%SDA-E-%s, ", ident);
    va_start(ap, format);
    vfprintf(stderr, format, ap);
    va_end(ap);
    fputc('\n', stderr);
    return 1;
}

bool ask(unsigned item, int64_t index, void *buffer, uint64_t length, bool *failed)
{
    int status = mega$info(item, index, buffer, length);

    if (status & 1)
        return true;
    if (status != SS$_NONEXPR) {
        fail("NOINFO", "the kernel answered %s", mega$condition_text(status));
        *failed = true;
    }
    return false;
}

static bool begins(const char *full, const char *word)
{
    return word && *word && strncasecmp(full, word, strlen(word)) == 0;
}

/* ---- a line taken apart ---- */

/* In place: words, and qualifiers behind slashes. */
static bool split(char *p, struct command *c)
{
    *c = (struct command){.words = 0};
    for (p += strspn(p, " \t"); *p && *p != '!';) {
        bool slash = *p == '/';
        char *text = p += slash, *equals;

        p += strcspn(p, " \t/=");
        if (*p == '=' && slash) /* a value that begins with a slash is a path */
            p += p[1] == '/' ? strcspn(p, " \t") : strcspn(p, " \t/");
        if (slash ? c->qualifiers == MAX_WORDS : c->words == MAX_WORDS)
            return fail("MAXPARM", "too many words"), false;
        if (slash)
            c->qualifier[c->qualifiers++] = text;
        else
            c->word[c->words++] = text;
        if (p == text)
            return fail("SYNTAX", "a word is missing"), false;
        if (*p == '/') { /* the next one begins where this one ends */
            memmove(p + 1, p, strlen(p) + 1);
            *p++ = 0;
        } else if (*p) {
            *p++ = 0;
            p += strspn(p, " \t");
        }
        equals = slash ? strchr(text, '=') : NULL;
        if (equals) {
            *equals = 0;
            c->value[c->qualifiers - 1] = equals + 1;
        }
    }
    return true;
}

/* Qualifiers are the names of a verb's list by then (allowed()). */
static int find(const struct command *c, const char *name)
{
    for (unsigned i = 0; i < c->qualifiers; i++)
        if (strncmp(name, c->qualifier[i], strlen(name)) == 0 &&
            strcspn(c->qualifier[i], " =") == strlen(name))
            return (int)i;
    return -1;
}

bool given(const struct command *c, const char *name) { return find(c, name) >= 0; }

const char *value_of(const struct command *c, const char *name)
{
    int i = find(c, name);

    return i >= 0 ? c->value[i] : NULL;
}

bool number_of(const struct command *c, const char *name, uint64_t most, uint64_t dflt,
               uint64_t *out)
{
    const char *text = value_of(c, name);
    char *end;

    *out = dflt;
    if (!text)
        return true;
    *out = strtoul(text, &end, 0);
    if (!isdigit((unsigned char)*text) || *end || *out > most)
        return fail("IVQUAL", "/%s wants a number up to %lu", name, (unsigned long)most), false;
    return true;
}

bool seconds_of(const struct command *c, const char *name, uint64_t dflt, uint64_t *out)
{
    const char *text = value_of(c, name);
    double seconds;
    char *end;

    *out = dflt;
    if (!text)
        return true;
    seconds = strtod(text, &end);
    if (*end || end == text || !(seconds >= 0 && seconds < 1e9))
        return fail("IVQUAL", "/%s wants seconds", name), false;
    *out = (uint64_t)(seconds * 1e9);
    return true;
}

/* The place in the list of what the word abbreviates; an exact name counts before others. NULL:
 * nothing, or *many is true and it is several. */
static const char *listed(const char *list, const char *word, bool *many)
{
    const char *found = NULL;

    *many = false;
    for (const char *p = list; *p;) {
        size_t n = strcspn(p, " "), name = n - (p[n - 1] == '=');

        if (strlen(word) == name && begins(p, word)) {
            *many = false;
            return p;
        }
        if (strlen(word) < name && begins(p, word)) {
            *many = found != NULL;
            found = p;
        }
        p += n + strspn(p + n, " ");
    }
    return *many ? NULL : found;
}

/* Each qualifier is one of the list, and has a value where the list has '='. The command's
 * qualifiers become the list's. */
static bool allowed(struct command *c, const char *list, const char *verb)
{
    for (unsigned i = 0; i < c->qualifiers; i++) {
        bool many, takes;
        const char *found = listed(list, c->qualifier[i], &many);

        if (!found)
            return fail("IVQUAL", "%s %s qualifier /%s", verb,
                        many ? "has several that begin like" : "takes no", c->qualifier[i]),
                   false;
        takes = found[strcspn(found, " =")] == '=';
        if (takes != (c->value[i] && *c->value[i]))
            return fail("IVQUAL", "/%s %s value", c->qualifier[i], takes ? "needs a" : "takes no"),
                   false;
        c->qualifier[i] = (char *)found;
    }
    return true;
}

/* ---- the commands ---- */

void print_times(const struct mega_trace *t)
{
    printf("Traced for %.3f seconds; the trace %s.\n", (double)t->lasted_ns / 1e9,
           t->running ? "is running" : "has stopped");
}

static int control(enum mega_facility f, enum mega_trace_verb verb, uint64_t number)
{
    return mega$control(MEGA_CTL_TRACE, f, verb, number, 0, 0);
}

/* What a verb that changes something came to. */
static int told(const char *name, enum verb verb, int status)
{
    static const struct {
        const char *ident, *text;
    } already[] = {[LOAD] = {"LOADED", "is loaded already"},
                   [START] = {"RUNNING", "runs already: STOP TRACE first"},
                   [STOP] = {"NOTRUNNING", "does not run: there is nothing to stop"},
                   [UNLOAD] = {"NOTLOADED", "is not loaded"}};
    static const char *const done[] = {[LOAD] = "loaded",
                                       [START] = "trace started",
                                       [STOP] = "trace stopped",
                                       [UNLOAD] = "unloaded"};

    if (status == SS$_NOTMODIFIED)
        return fail(already[verb].ident, "%s %s", name, already[verb].text);
    if (!(status & 1))
        return fail("REFUSED", "%s: the kernel answered %s", name, mega$condition_text(status));
    printf("%s %s\n", name, done[verb]);
    return 0;
}

static int start(enum mega_facility f, const char *name, uint64_t pages, uint64_t rate)
{
    int status = control(f, MEGA_TRACE_START, rate);

    if (status == SS$_NONEXPR) {
        status = control(f, MEGA_TRACE_LOAD, pages);
        if (status & 1)
            status = control(f, MEGA_TRACE_START, rate);
    } else if ((status & 1) && pages) {
        printf("The buffers stay as they were loaded.\n");
    }
    return told(name, START, status);
}

static int show(enum mega_facility f, const char *name, const struct command *c)
{
    struct mega_trace t;
    bool failed = false;

    if (!ask(MEGA_INFO_TRACE, f, &t, sizeof(t), &failed))
        return 1;
    if (!t.loaded)
        return fail("NOTLOADED", "%s is not loaded: %s START TRACE begins", name, name);
    if (!t.started_ns)
        return fail("NOTRACE", "%s has traced nothing yet: %s START TRACE begins", name, name);
    if (f == MEGA_TRACE_PCS)
        return show_samples(&t, c);
    return f == MEGA_TRACE_FLT ? show_faults(&t, c) : show_locks(f, &t, c);
}

static int perform(enum mega_facility f, const char *name, enum verb verb, const struct command *c)
{
    uint64_t pages, rate;

    if (!number_of(c, "BUFFER", MEGA_TRACE_PAGES_MAX, 0, &pages) ||
        !number_of(c, "RATE", MEGA_TRACE_RATE_MAX, 0, &rate))
        return 1;
    switch (verb) {
    case LOAD:
        return told(name, verb, control(f, MEGA_TRACE_LOAD, pages));
    case START:
        return start(f, name, pages, rate);
    case STOP:
        return told(name, verb, control(f, MEGA_TRACE_STOP, 0));
    case UNLOAD:
        return told(name, verb, control(f, MEGA_TRACE_UNLOAD, 0));
    case SHOW:
        break;
    }
    return show(f, name, c);
}

static int help(void)
{
    printf("FACILITY VERB [/QUALIFIER...], words abbreviated as long as they are unique:\n");
    for (size_t i = 0; i < FACILITIES; i++)
        printf("  %s  %s\n", facilities[i].name, facilities[i].what);
    for (size_t i = 0; i < VERBS; i++)
        printf("    %s%s%s: %s\n", verbs[i].first, verbs[i].second ? " " : "",
               verbs[i].second ? verbs[i].second : "", verbs[i].what);
    printf("  HELP, EXIT (so does the end of input)\n");
    return 0;
}

static int execute(struct command *c)
{
    size_t f = 0, v, found = VERBS;

    if (!c->words)
        return c->qualifiers ? fail("IVVERB", "a command begins with a word") : 0;
    if (c->words == 1 && begins("EXIT", c->word[0]))
        return LEAVE;
    if (begins("HELP", c->word[0]))
        return help();
    while (f < FACILITIES && !begins(facilities[f].name, c->word[0]))
        f++;
    if (f == FACILITIES)
        return fail("IVVERB", "there is no facility %s: MTX, SPL, PCS, FLT", c->word[0]);
    if (c->words == 1)
        return fail("IVVERB", "%s needs a verb; HELP lists them", facilities[f].name);
    for (v = 0; v < VERBS; v++) {
        if (!begins(verbs[v].first, c->word[1]))
            continue;
        if (found < VERBS)
            return fail("ABKEYW", "'%s' is ambiguous", c->word[1]);
        found = v;
    }
    if (found == VERBS)
        return fail("IVVERB", "%s has no verb %s; HELP lists them", facilities[f].name, c->word[1]);
    v = found;
    if (c->words != (verbs[v].second ? 3 : 2) ||
        (verbs[v].second && !begins(verbs[v].second, c->word[2])))
        return fail("SYNTAX", "usage: %s %s%s%s", facilities[f].name, verbs[v].first,
                    verbs[v].second ? " " : "", verbs[v].second ? verbs[v].second : "");
    if (!allowed(c,
                 facilities[f].facility == MEGA_TRACE_PCS   ? verbs[v].pcs_qualifiers
                 : facilities[f].facility == MEGA_TRACE_FLT ? verbs[v].flt_qualifiers
                                                            : verbs[v].lock_qualifiers,
                 verbs[v].first))
        return 1;
    return perform(facilities[f].facility, facilities[f].name, verbs[v].verb, c);
}

/* The line is copied with room for what split() moves. */
static int execute_line(const char *line)
{
    char *copy = malloc(2 * strlen(line) + 1);
    struct command c;
    int status = 1;

    if (!copy)
        return fail("INSFMEM", "no memory for the command");
    strcpy(copy, line);
    if (split(copy, &c))
        status = execute(&c);
    free(copy);
    return status;
}

static int prompt(void)
{
    bool terminal = isatty(0);
    char *line = NULL;
    size_t size = 0;
    int status = 0, last = 0;

    while (status != LEAVE) {
        last = status;
        if (terminal) {
            printf("SDA> ");
            fflush(stdout);
        }
        if (getline(&line, &size, stdin) < 0)
            break;
        line[strcspn(line, "\r\n")] = 0;
        status = execute_line(line);
    }
    free(line);
    return last;
}

int main(int argc, char **argv)
{
    size_t n = 1;
    char *line;
    int status;

    if (argc == 1)
        return prompt();
    for (int i = 1; i < argc; i++)
        n += strlen(argv[i]) + 1;
    line = calloc(1, n);
    if (!line)
        return 1;
    for (int i = 1; i < argc; i++)
        strcat(strcat(line, argv[i]), i + 1 < argc ? " " : "");
    status = execute_line(line);
    free(line);
    return status == LEAVE ? 0 : status;
}
