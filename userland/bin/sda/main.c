/*
 * sda [COMMAND]: one command, or the SDA> prompt, which reads lines of standard input. Exit status:
 * 0, or 1 when the command, or the last one of the prompt, failed.
 */
#include "sda.h"

#include <condition.h>
#include <ctype.h>
#include <megalith/prompt.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define LEAVE (-1)

static const struct facility {
    const char *name, *what;
    enum mega_facility facility;
    const char *noun; /* the second word of its verbs */
} facilities[] = {
    {"MTX", "mutexes: acquisitions, waits and callers", MEGA_TRACE_MTX, "TRACE"},
    {"SPL", "spinlocks: acquisitions, spins and callers", MEGA_TRACE_SPL, "TRACE"},
    {"PCS", "PC samples of each CPU", MEGA_TRACE_PCS, "TRACE"},
    {"FLT", "alignment faults in user mode, by instruction and process", MEGA_TRACE_FLT, "TRACE"},
    {"PRF", "events of translation buffers (START MONITOR ...)", MEGA_TRACE_PRF, "MONITOR"},
};
#define FACILITIES (sizeof(facilities) / sizeof(facilities[0]))

enum verb { LOAD, START, STOP, UNLOAD, SHOW };

static const struct {
    const char *first;
    bool noun; /* the facility's noun follows */
    enum verb verb;
    const char *lock_qualifiers, *pcs_qualifiers, *flt_qualifiers, *what;
} verbs[] = {
    {"LOAD", false, LOAD, "", "BUFFER=", "",
     "allocate the buffers: PCS /BUFFER=pages per CPU (128)"},
    {"START", true, START, "", "BUFFER= RATE=", "",
     "start a new trace, after LOAD if necessary\n"
     "      PCS /RATE=Hz (0: the clock's 1024)"},
    {"STOP", true, STOP, "", "", "", "stop; the results stay available"},
    {"SHOW", true, SHOW, "SUMMARY TOP=", "SUMMARY TOP= PROCESS= CPU= FROM= TO= PROGRAM=",
     "SUMMARY TOP= PROCESS= PROGRAM=",
     "show the results, also while it runs: /SUMMARY /TOP=n\n"
     "      PCS, FLT /PROCESS=pid /PROGRAM=file (symbols of user mode)\n"
     "      PCS /CPU=n /FROM=s /TO=s (seconds since the start)"},
    {"UNLOAD", false, UNLOAD, "", "", "", "stop, and free the buffers"},
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
        fail("NOINFO", "the kernel answered %s", mega$condition_message(status, 0));
        *failed = true;
    }
    return false;
}

static bool begins(const char *full, const char *word)
{
    return word && *word && strncasecmp(full, word, strlen(word)) == 0;
}

/* ---- parsing a command line ---- */

/* Split a line in place into words and qualifiers, which begin with a slash. */
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
        if (*p == '/') { /* the next word begins where this one ends */
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

/* The index of a qualifier, or -1. allowed() has replaced qualifiers by their full names. */
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
        return fail("IVQUAL", "/%s requires a number of at most %lu", name, (unsigned long)most),
               false;
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
        return fail("IVQUAL", "/%s requires a number of seconds", name), false;
    *out = (uint64_t)(seconds * 1e9);
    return true;
}

/* Look up a word in a list; it may be abbreviated, and an exact name takes precedence. Returns its
 * place in the list, or NULL if there is none or, with *many true, several. */
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

/* Check that each qualifier is in the list, and has a value if and only if the list has '='.
 * Replaces the qualifiers of the command by their full names. */
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

/* Report the result of a verb that changes something. */
static int told(const struct facility *f, enum verb verb, int status)
{
    static const struct {
        const char *ident, *text;
    } already[] = {[LOAD] = {"LOADED", "is loaded already"},
                   [START] = {"RUNNING", "runs already: STOP TRACE first"},
                   [STOP] = {"NOTRUNNING", "does not run: there is nothing to stop"},
                   [UNLOAD] = {"NOTLOADED", "is not loaded"}};
    static const char *const done[] = {
        [LOAD] = "loaded", [START] = "started", [STOP] = "stopped", [UNLOAD] = "unloaded"};

    if (status == SS$_NOTMODIFIED)
        return fail(already[verb].ident, "%s %s", f->name, already[verb].text);
    if (status == SS$_UNSUPPORTED)
        return fail("NOMODEL", "%s: nothing counts its events: scripts/run --tb-model", f->name);
    if (!(status & 1))
        return fail("REFUSED", "%s: the kernel answered %s", f->name,
                    mega$condition_message(status, 0));
    printf("%s %s%s\n", f->name,
           verb != START && verb != STOP   ? ""
           : f->facility == MEGA_TRACE_PRF ? "monitor "
                                           : "trace ",
           done[verb]);
    return 0;
}

static int start(const struct facility *f, uint64_t pages, uint64_t rate)
{
    int status = control(f->facility, MEGA_TRACE_START, rate);

    if (status == SS$_NONEXPR) {
        status = control(f->facility, MEGA_TRACE_LOAD, pages);
        if (status & 1)
            status = control(f->facility, MEGA_TRACE_START, rate);
    } else if ((status & 1) && pages) {
        printf("The buffers keep their size.\n");
    }
    return told(f, START, status);
}

static int show(const struct facility *f, const struct command *c)
{
    struct mega_trace t;
    bool failed = false;

    if (!ask(MEGA_INFO_TRACE, f->facility, &t, sizeof(t), &failed))
        return 1;
    if (!t.loaded)
        return fail("NOTLOADED", "%s is not loaded: %s START %s begins", f->name, f->name, f->noun);
    if (!t.started_ns)
        return fail("NOTRACE", "%s has traced nothing yet: %s START %s begins", f->name, f->name,
                    f->noun);
    switch (f->facility) {
    case MEGA_TRACE_PCS:
        return show_samples(&t, c);
    case MEGA_TRACE_FLT:
        return show_faults(&t, c);
    case MEGA_TRACE_PRF:
        return show_events(&t);
    default:
        return show_locks(f->facility, &t, c);
    }
}

static int perform(const struct facility *f, enum verb verb, const struct command *c)
{
    uint64_t pages, rate;

    if (!number_of(c, "BUFFER", MEGA_TRACE_PAGES_MAX, 0, &pages) ||
        !number_of(c, "RATE", MEGA_TRACE_RATE_MAX, 0, &rate))
        return 1;
    switch (verb) {
    case LOAD:
        return told(f, verb, control(f->facility, MEGA_TRACE_LOAD, pages));
    case START:
        return start(f, pages, rate);
    case STOP:
        return told(f, verb, control(f->facility, MEGA_TRACE_STOP, 0));
    case UNLOAD:
        return told(f, verb, control(f->facility, MEGA_TRACE_UNLOAD, 0));
    case SHOW:
        break;
    }
    return show(f, c);
}

static int help(void)
{
    printf("FACILITY VERB [/QUALIFIER...], words abbreviated as long as they are unique:\n");
    for (size_t i = 0; i < FACILITIES; i++)
        printf("  %s  %s\n", facilities[i].name, facilities[i].what);
    for (size_t i = 0; i < VERBS; i++)
        printf("    %s%s: %s\n", verbs[i].first, verbs[i].noun ? " TRACE" : "", verbs[i].what);
    printf("  HELP, EXIT (so does the end of input)\n");
    return 0;
}

static int execute(struct command *c)
{
    const struct facility *f = facilities;
    size_t v, found = VERBS;

    if (!c->words)
        return c->qualifiers ? fail("IVVERB", "a command begins with a word") : 0;
    if (c->words == 1 && begins("EXIT", c->word[0]))
        return LEAVE;
    if (begins("HELP", c->word[0]))
        return help();
    while (f < facilities + FACILITIES && !begins(f->name, c->word[0]))
        f++;
    if (f == facilities + FACILITIES)
        return fail("IVVERB", "there is no facility %s: MTX, SPL, PCS, FLT, PRF", c->word[0]);
    if (c->words == 1)
        return fail("IVVERB", "%s needs a verb; HELP lists them", f->name);
    for (v = 0; v < VERBS; v++) {
        if (!begins(verbs[v].first, c->word[1]))
            continue;
        if (found < VERBS)
            return fail("ABKEYW", "'%s' is ambiguous", c->word[1]);
        found = v;
    }
    if (found == VERBS)
        return fail("IVVERB", "%s has no verb %s; HELP lists them", f->name, c->word[1]);
    v = found;
    if (c->words != (verbs[v].noun ? 3 : 2) || (verbs[v].noun && !begins(f->noun, c->word[2])))
        return fail("SYNTAX", "usage: %s %s%s%s", f->name, verbs[v].first, verbs[v].noun ? " " : "",
                    verbs[v].noun ? f->noun : "");
    if (!allowed(c,
                 f->facility == MEGA_TRACE_PCS   ? verbs[v].pcs_qualifiers
                 : f->facility == MEGA_TRACE_FLT ? verbs[v].flt_qualifiers
                 : f->facility == MEGA_TRACE_PRF ? ""
                                                 : verbs[v].lock_qualifiers,
                 verbs[v].first))
        return 1;
    return perform(f, verbs[v].verb, c);
}

/* Execute a line. It is copied into a buffer with room for the separators that split() inserts. */
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
    char *line = NULL;
    size_t size = 0;
    int status = 0, last = 0;

    while (status != LEAVE) {
        last = status;
        if (mega$prompt_line("SDA> ", &line, &size) < 0)
            break;
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
