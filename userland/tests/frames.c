/*
 * frames NAME FIRST_PFN PAGES [user]: what an application does with memory that PHYSICAL_MEMORY
 * excludes from use by the system. It maps the given frames as a page-frame section NAME, prints
 * what it finds in the first frame, and writes the first letters of NAME there. With `user` it
 * gives up its privileges first. Exit status 0 if the mapping succeeds, 1 if it is refused. An
 * example for docs/physical-memory.md.
 */
#include <condition.h>
#include <descrip.h>
#include <psldef.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <vadef.h>

#define PAGE 8192UL

int main(int argc, char **argv)
{
    struct dsc$descriptor_s name = {0, DSC$K_DTYPE_T, DSC$K_CLASS_S, NULL};
    GENERIC_64 region = {{0}};
    unsigned __int64 length;
    uint64_t first, npages;
    char word[9] = "", *text;
    void *va;
    int status;

    if (argc < 4) {
        fprintf(stderr, "usage: frames NAME FIRST_PFN PAGES [user]\n");
        return 2;
    }
    name.dsc$a_pointer = argv[1];
    name.dsc$w_length = (unsigned short)strlen(argv[1]);
    first = strtoul(argv[2], NULL, 0);
    npages = strtoul(argv[3], NULL, 0);
    if (argc > 4 && (setgid(100) != 0 || setuid(100) != 0))
        return 2;
    status = sys$create_region_64(npages * PAGE, VA$C_REGION_UCREATE_UOWN, 0, &region, &va,
                                  &length);
    if (status == SS$_NORMAL)
        status = sys$crmpsc_gpfn_64(&name, 0, 0, first, npages, &region, 0, PSL$C_USER,
                                    SEC$M_EXPREG | SEC$M_WRT, &va, &length);
    if (!(status & 1)) {
        printf("%s: %s\n", argv[1], mega$condition_text(status));
        return 1;
    }
    memcpy(word, va, 8);
    text = word[0] ? word : "nothing";
    printf("%s: mapped %lu frames from PFN %lu, found %s\n", argv[1], (unsigned long)npages,
           (unsigned long)first, text);
    memset(va, 0, 8);
    strncpy(va, argv[1], 8);
    return 0;
}
