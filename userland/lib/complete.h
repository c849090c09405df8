/*
 * Completion of the words of commands by /etc/complete, of which each line is a command: its words,
 * then its qualifiers. All of this is in a header, and needs nothing but the C library, because
 * both shells include it in their line editors: userland/bin/sh/edit.c and, by
 * scripts/megalith/run/busybox.py, that of BusyBox.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define COMPLETE_FILE  "/etc/complete"
#define COMPLETE_WORDS 16

struct complete_line {
    unsigned words, qualifiers;
    const char *word[COMPLETE_WORDS], *qualifier[COMPLETE_WORDS]; /* a qualifier with its slash */
};

/* Divides text, in place. A slash begins a qualifier, but in the first word it is part of a path,
 * which is left out: /bin/show is show. */
static void complete_split(char *text, struct complete_line *into)
{
    char *save = NULL;

    *into = (struct complete_line){.words = 0};
    for (char *w = strtok_r(text, " \t\n", &save); w; w = strtok_r(NULL, " \t\n", &save)) {
        char *slash = into->words ? NULL : strrchr(w, '/');

        if (slash)
            w = slash + 1;
        if (*w == '/' && into->qualifiers < COMPLETE_WORDS)
            into->qualifier[into->qualifiers++] = w;
        else if (*w != '/' && into->words < COMPLETE_WORDS)
            into->word[into->words++] = w;
    }
}

static bool complete_begins(const char *full, const char *part)
{
    return strncasecmp(full, part, strlen(part)) == 0;
}

/* Calls found(word) for each word or qualifier that could stand where the text ends, perhaps
 * several times for the same one. Returns the number of bytes at the end of text that such a word
 * begins with; letters of either case are the same. text: what stands before the cursor; only its
 * last command counts. */
static size_t complete_command(const char *text, void (*found)(const char *word))
{
    size_t last = strlen(text), begin = last, length;
    struct complete_line typed, line;
    char *copy, *part, *row = NULL;
    size_t room = 0;
    FILE *file;

    while (begin && !strchr("|;&(`", text[begin - 1]))
        begin--;
    while (last > begin && !strchr(" \t", text[last - 1]))
        last--;
    length = strlen(text + last);
    copy = strndup(text + begin, last - begin);
    part = strdup(text + last);
    file = fopen(COMPLETE_FILE, "r");
    if (copy && part && file) {
        complete_split(copy, &typed);
        while (typed.words && getline(&row, &room, file) > 0) {
            unsigned same = 0;

            complete_split(row, &line);
            if (!line.words || strcmp(line.word[0], typed.word[0]) != 0)
                continue;
            while (same < line.words && same < typed.words &&
                   complete_begins(line.word[same], typed.word[same]))
                same++;
            if (*part != '/' && same == typed.words && same < line.words &&
                complete_begins(line.word[same], part))
                found(line.word[same]);
            for (unsigned i = 0; *part == '/' && same == line.words && i < line.qualifiers; i++)
                if (complete_begins(line.qualifier[i], part))
                    found(line.qualifier[i]);
        }
    }
    if (file)
        fclose(file);
    free(row);
    free(copy);
    free(part);
    return length;
}
