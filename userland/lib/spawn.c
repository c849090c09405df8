/*
 * lib$spawn: a command in a subprocess of $CREPRC, with the caller's descriptors and environment. A
 * command that names a program is that program, so that its final condition value is the
 * program's; everything else is for the shell.
 */
#include "descriptor.h"

#include <clidef.h>
#include <efndef.h>
#include <libdef.h>
#include <megalith/spawn.h>
#include <ssdef.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "service.h"

#undef lib$spawn

#define SHELL "/bin/sh"
extern char **environ;

#define WORDS     64
#define IMAGE_MAX 256
/* What the shell has a meaning for: such a command is not taken apart here. */
#define SPECIAL "\"'\\$`;&|<>()*?[]#~{}!\n"
#define FLAGS_ALL                                                                     \
    (CLI$M_NOWAIT | CLI$M_NOCLISYM | CLI$M_NOLOGNAM | CLI$M_NOKEYPAD | CLI$M_NOTIFY | \
     CLI$M_NOCONTROL | CLI$M_TRUSTED | CLI$M_AUTHPRIV | CLI$M_SUBSYSTEM)

struct command {
    char *text, *words; /* copies, one of them cut into words */
    char image[IMAGE_MAX];
    char *argv[WORDS + 1];
};

static bool is_program(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* Looks for a program as the shell does. */
static bool find_program(const char *word, char image[IMAGE_MAX])
{
    const char *path = getenv("PATH");

    if (strchr(word, '/'))
        return snprintf(image, IMAGE_MAX, "%s", word) < IMAGE_MAX && is_program(image);
    for (path = path ? path : "/bin"; *path;) {
        size_t n = strcspn(path, ":");

        if (snprintf(image, IMAGE_MAX, "%.*s/%s", (int)n, n ? path : ".", word) < IMAGE_MAX &&
            is_program(image))
            return true;
        path += n + (path[n] == ':');
    }
    return false;
}

/* Cuts a plain command into words, and finds its program. */
static bool is_plain(struct command *c)
{
    char *rest = NULL, *word;
    size_t n = 0;

    if (strpbrk(c->text, SPECIAL))
        return false;
    for (word = strtok_r(c->words, " \t", &rest); word; word = strtok_r(NULL, " \t", &rest)) {
        if (n == WORDS)
            return false;
        c->argv[n++] = word;
    }
    c->argv[n] = NULL;
    return n && !strchr(c->argv[0], '=') && find_program(c->argv[0], c->image);
}

static int read_command(const void *descriptor, struct command *c)
{
    struct text t;

    memset(c, 0, sizeof(*c));
    if (descriptor) {
        if (!mega$text_of(descriptor, &t))
            return LIB$_INVSTRDES;
        c->text = strndup(t.at, t.length);
        c->words = strndup(t.at, t.length);
        if (!c->text || !c->words)
            return LIB$_INSVIRMEM;
    }
    if (!c->text || !is_plain(c)) {
        strcpy(c->image, SHELL);
        c->argv[0] = (char *)"sh";
        c->argv[1] = c->text ? (char *)"-c" : NULL;
        c->argv[2] = c->text;
        c->argv[3] = NULL;
    }
    return SS$_NORMAL;
}

static int create(const struct command *c, const void *input, const void *output, const void *name,
                  unsigned int *pid, const struct mega_spawn *s)
{
    const struct {
        unsigned short length;
        unsigned char type, class;
        const char *text;
    } image = {(unsigned short)strlen(c->image), 14, 1, c->image};
    quad block[] = {16,
                    (quad)pid,
                    (quad)&image,
                    (quad)input,
                    (quad)output,
                    (quad)output,
                    0,
                    0,
                    (quad)name,
                    4,
                    0,
                    0,
                    0,
                    0,
                    0,
                    0,
                    (quad)s};

    return call(VMS_CREPRC, (quad)block, 0, 0, 0, 0, 0);
}

/* Waits until *ended is not 0, whoever sets the flag meanwhile, and without it if its cluster is
 * left: *ended is on the stack, so it is waited for in any case. */
static void wait_for(int efn, volatile const int *ended)
{
    while (!*ended)
        if (call(VMS_SYNCH, (quad)efn, (quad)ended, 0, 0, 0, 0) != SS$_NORMAL)
            efn = EFN$C_ENF;
}

/* Starts the command; waits for its end, if that is asked for, by the flag. */
static int run(const struct command *c, const void *input, const void *output, unsigned int flags,
               const void *name, unsigned int *pid, int *completion, int efn, quad astadr,
               quad astprm)
{
    char *none = NULL;
    volatile int value = 0, ended = 0;
    bool waits = !(flags & CLI$M_NOWAIT);
    struct mega_spawn s = {
        .argv = (quad)c->argv,
        .envp = (quad)(flags & CLI$M_NOCLISYM ? &none : environ),
        .status = waits ? (quad)&value : (quad)completion,
        .ended = waits ? (quad)&ended : 0,
        .efn = (quad)efn,
        .astadr = astadr,
        .astprm = astprm,
    };
    int status = create(c, input, output, name, pid, &s);

    if (status == SS$_NORMAL && waits) {
        wait_for(efn, &ended);
        if (completion)
            *completion = value;
    }
    return status;
}

int lib$spawn(const void *command_string, const void *input_file, const void *output_file,
              const unsigned int *flags, const void *process_name, unsigned int *process_id,
              int *completion_status_address, const unsigned char *byte_integer_event_flag_num,
              mega_ast_routine AST_address, unsigned __int64 varying_AST_argument,
              const void *prompt_string, const void *cli, const void *table)
{
    const unsigned char *flag = byte_integer_event_flag_num;
    unsigned int how = flags ? *flags : 0;
    int efn = flag ? *flag : EFN$C_ENF, status, own = 0;
    struct command c;

    (void)prompt_string; /* the shell has its own */
    if ((how & ~FLAGS_ALL) || cli || table)
        return LIB$_INVARG;
    if (!flag && !(how & CLI$M_NOWAIT)) {
        status = lib$get_ef(&own);
        if (status != SS$_NORMAL)
            return status;
        efn = own;
    }
    status = read_command(command_string, &c);
    if (status == SS$_NORMAL)
        status = run(&c, input_file, output_file, how, process_name, process_id,
                     completion_status_address, efn, ast_routine(AST_address),
                     varying_AST_argument);
    free(c.text);
    free(c.words);
    if (own)
        lib$free_ef(&own);
    return status;
}
