/*
 * dgblsc [--group] NAME...: delete permanent global sections, by $DGBLSC: of the system, or of the
 * caller's group. A section that is still mapped keeps its memory until its last mapping ends, but
 * its name is free at once. Goes on after an error, and ends with status 1 then.
 */
#include <condition.h>
#include <descrip.h>
#include <secdef.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool delete_one(const char *name, unsigned flags)
{
    struct dsc$descriptor_s d = {
        .dsc$b_dtype = DSC$K_DTYPE_T, .dsc$b_class = DSC$K_CLASS_S, .dsc$a_pointer = (char *)name};
    size_t length = strlen(name);
    int status = SS$_IVLOGNAM;

    if (length <= UINT16_MAX) {
        d.dsc$w_length = (unsigned short)length;
        status = sys$dgblsc(flags, &d, 0);
    }
    if (status & 1)
        return true;
    fprintf(stderr, "dgblsc: %s: %s\n", name, mega$condition_message(status, 0));
    return false;
}

int main(int argc, char **argv)
{
    unsigned flags = SEC$M_SYSGBL;
    int first = 1, failed = 0;

    if (argc > 1 && strcmp(argv[1], "--group") == 0) {
        flags = 0;
        first = 2;
    }
    if (argc <= first || argv[first][0] == '-') {
        fprintf(stderr, "usage: dgblsc [--group] NAME...\n");
        return 2;
    }
    for (int i = first; i < argc; i++)
        failed |= !delete_one(argv[i], flags);
    return failed;
}
