/*
 * define and deassign in the shell, where names are those of the shell's own process by default
 * (<megalith/logical_commands.h>). Programs that the shell starts get copies; user-mode names are
 * deleted when the next program that the shell waits for has ended, as DCL does it.
 */
#include "logical.h"

#include <string.h>

#ifdef __alpha__

#include <descrip.h>
#include <megalith/logical_commands.h>
#include <psldef.h>
#include <starlet.h>

#define TABLE "LNM$PROCESS"

static bool user_names; /* the process may have user-mode names */

int do_define(int argc, char **argv) { return mega$define(argc, argv, TABLE, &user_names); }

int do_deassign(int argc, char **argv) { return mega$deassign(argc, argv, TABLE); }

size_t logical_verb(const char *word)
{
    size_t n = strcspn(word, "/");

    if ((n == 6 && !strncmp(word, "define", n)) || (n == 8 && !strncmp(word, "deassign", n)))
        return n;
    return strlen(word);
}

void logical_program_ended(void)
{
    static unsigned char user = PSL$C_USER;
    static struct dsc64$descriptor_s table = {1,  DSC64$K_DTYPE_T,   DSC64$K_CLASS_S,
                                              -1, sizeof(TABLE) - 1, TABLE};

    if (user_names)
        sys$dellnm(&table, NULL, &user);
    user_names = false;
}

#else

void logical_program_ended(void) {}

size_t logical_verb(const char *word) { return strlen(word); }

#endif
