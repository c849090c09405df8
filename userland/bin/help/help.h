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

struct condition {
    int status;
    const char *name; /* SS$_INSFLPGS */
    const char *help; /* what to do; NULL: there is no text for it */
};
/* The condition value of a name, with its prefix or without, or of a number; NULL: none. */
const struct condition *condition_find(const char *word);

#endif
