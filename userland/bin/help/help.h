/* Shared by the files of help. */
#ifndef HELP_H
#define HELP_H

struct topic {
    const char *name; /* as it is typed */
    const char *what; /* a line of the list of topics */
    const char *text;
};
/* Ends with an entry without a name. */
extern const struct topic topics[];

/* What the condition value says, and what to do; NULL: there is no text for it. */
const char *condition_help(int status);

#endif
