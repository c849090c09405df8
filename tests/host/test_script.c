// SOURCES: kernel/proc/script.c
/* First lines of scripts: each form that execve(2) names, and random ones beside a plain model. */
#include "kernel/proc/script.h"

#include <stdlib.h>
#include <string.h>

#include "userland/lib/include/tap.h"

#define ENOEXEC_ 8 /* on Alpha and here */

static char *line; /* of exactly SCRIPT_LINE_MAX bytes, for the sanitizer */

static int parse(const char *text, size_t n, const char **interp, const char **argument)
{
    memset(line, 'x', SCRIPT_LINE_MAX);
    memcpy(line, text, n);
    *interp = *argument = NULL;
    return script_parse(line, n, interp, argument);
}

static void names(const char *text, const char *want, const char *want_argument)
{
    const char *interp, *argument;

    is(parse(text, strlen(text), &interp, &argument), 1, "a script");
    ok(interp && !strcmp(interp, want), "its interpreter is '%s'", want);
    ok(want_argument ? argument && !strcmp(argument, want_argument) : !argument,
       "its argument is '%s'", want_argument ? want_argument : "");
}

static void refused(const char *text, size_t n, int want, const char *what)
{
    const char *interp, *argument;

    is(parse(text, n, &interp, &argument), want, "%s", what);
}

static void test_forms(void)
{
    names("#!/bin/sh\n", "/bin/sh", NULL);
    names("#!/bin/sh", "/bin/sh", NULL);
    names("#! \t /bin/sh \t\necho", "/bin/sh", NULL);
    names("#!/bin/sh -e\n", "/bin/sh", "-e");
    names("#!/usr/bin/env  python3 -u  x \n", "/usr/bin/env", "python3 -u  x");
    names("#!relative\n", "relative", NULL);
    names("#!a\tb\n", "a", "b");
    refused("", 0, 0, "an empty file is none");
    refused("#", 1, 0, "one byte");
    refused("#/bin/sh\n", 9, 0, "no exclamation mark");
    refused("\x7F"
            "ELF",
            4, 0, "a program");
    refused("#!", 2, -ENOEXEC_, "nothing behind it");
    refused("#!\n/bin/sh\n", 11, -ENOEXEC_, "an empty line");
    refused("#! \t \n", 6, -ENOEXEC_, "blanks only");
    refused("#!\0/bin/sh\n", 11, -ENOEXEC_, "a NUL");
}

static void test_long_lines(void)
{
    char text[SCRIPT_LINE_MAX];
    const char *interp, *argument;

    memset(text, 'a', sizeof(text));
    memcpy(text, "#!", 2);
    refused(text, sizeof(text), -ENOEXEC_, "a name that is cut off");
    text[SCRIPT_LINE_MAX - 1] = '\n';
    refused(text, sizeof(text), -ENOEXEC_, "one whose end is the last byte");
    text[SCRIPT_LINE_MAX - 2] = '\n';
    is(parse(text, sizeof(text), &interp, &argument), 1, "one byte less");
    is(strlen(interp), SCRIPT_LINE_MAX - 4, "is taken whole");
    memset(text, 'a', sizeof(text));
    memcpy(text, "#!i ", 4);
    is(parse(text, sizeof(text), &interp, &argument), 1, "an argument that is cut off");
    is(strlen(argument), SCRIPT_LINE_MAX - 1 - 4, "is taken as far as it goes");
    memset(text, ' ', sizeof(text));
    memcpy(text, "#!", 2);
    refused(text, sizeof(text), -ENOEXEC_, "blanks to the end");
}

/* Whatever the bytes: both results lie in the buffer, end there, and are not empty. */
static void test_noise(void)
{
    static const char letters[] = "#! \t\n\0ab/";
    const char *interp, *argument;
    int accepted = 0, bad = 0;

    srandom(3);
    diag("seed 3");
    for (int round = 0; round < 200000; round++) {
        char text[SCRIPT_LINE_MAX];
        size_t n = (size_t)random() % (random() % 8 ? 12 : SCRIPT_LINE_MAX + 1);

        for (size_t k = 0; k < n; k++)
            text[k] = letters[random() % (sizeof(letters) - 1)];
        if (n >= 2 && random() % 8)
            memcpy(text, "#!", 2);
        if (parse(text, n, &interp, &argument) != 1)
            continue;
        accepted++;
        bad += !*interp || strpbrk(interp, " \t\n") ||
               interp + strlen(interp) >= line + SCRIPT_LINE_MAX;
        if (argument)
            bad += !*argument || strchr(" \t", *argument) || strchr(argument, '\n') ||
                   argument + strlen(argument) >= line + SCRIPT_LINE_MAX;
    }
    ok(accepted > 10000, "%d random lines are accepted", accepted);
    is(bad, 0, "all of them with names that are whole");
}

int main(void)
{
    line = malloc(SCRIPT_LINE_MAX);
    test_forms();
    test_long_lines();
    test_noise();
    free(line);
    return tap_done();
}
