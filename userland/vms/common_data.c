/*
**  A page-file-backed global section that two processes share. The first creates
**  and maps it with version 2.3 and starts the second, which maps the section of
**  the same name and increments what it finds. A third version does not match.
*/
#define __NEW_STARLET 1

#include <descrip.h>
#include <gen64def.h>
#include <lib$routines.h>
#include <processes.h>
#include <psldef.h>
#include <secdef.h>
#include <seciddef.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdio.h>
#include <stdlib.h>
#include <stsdef.h>
#include <vadef.h>

#define SECTION_SIZE 65536

/* What the processes have in common. No padding: other languages read it, too. */
#pragma nomember_alignment save
#pragma nomember_alignment
struct common_block {
    char version;
    unsigned int counter;
    char writer;
    unsigned __int64 sum;
};
#pragma member_alignment restore

static $DESCRIPTOR64(section_name, "COMMON_DATA");
static GENERIC_64 p2_region = {VA$C_P2};
static struct common_block *block;
static unsigned __int64 length;

static int map_section(int match, int major, int minor)
{
    SECID ident;
    int status;
    void *va;

    ident.secid$l_match = match;
    ident.secid$v_major_id = major;
    ident.secid$v_minor_id = minor;
    status = sys$mgblsc_64(&section_name, &ident, &p2_region, 0, 0, PSL$C_USER,
                           SEC$M_EXPREG | SEC$M_WRT, &va, &length);
    if (status & 1)
        block = va;
    return status;
}

static void second_process(void)
{
    int status;

    status = map_section(SEC$K_MATEQU, 2, 4);
    printf("Version 2.4 and no other: %s\n", status == SS$_NOSUCHSEC ? "no such section" : "found");
    status = map_section(SEC$K_MATLEQ, 2, 1);
    if (!(status & 1))
        lib$stop(status);
    printf("Version 2.1 or a later one: found, %d bytes\n", (int)length);
    block->counter++;
    block->sum += 0x100000000;
    block->writer = 'B';
}

int main(int argc, char *argv[])
{
    SECID ident = {0};
    void *va;
    int status, child;

    if (argc > 1) {
        second_process();
        return EXIT_SUCCESS;
    }
    ident.secid$v_major_id = 2;
    ident.secid$v_minor_id = 3;
    status = SYS$CRMPSC_GPFILE_64(&section_name, &ident, 0, SECTION_SIZE, &p2_region, 0, PSL$C_USER,
                                  SEC$M_EXPREG | SEC$M_WRT, &va, &length);
    if (!$VMS_STATUS_SUCCESS(status))
        lib$signal(status);
    block = va;
    printf("The section was %s, its block has %d bytes\n",
           status == SS$_CREATED ? "created" : "there", (int)sizeof *block);
    block->counter = 41;
    block->writer = 'A';
    fflush(stdout);

    if (vfork() == 0) {
        execl(argv[0], argv[0], "MAP", (char *)0);
        _exit(EXIT_FAILURE);
    }
    wait(&child);
    printf("The second process ended with %d; counter %d, sum %Lx, writer %c\n", child,
           block->counter, block->sum, block->writer);

    status = sys$deltva_64(&p2_region, va, length, PSL$C_USER, &va, &length);
    if (!$VMS_STATUS_SUCCESS(status))
        lib$signal(status);
    status = map_section(SEC$K_MATALL, 0, 0);
    printf("After the last mapping: %s\n",
           status == SS$_NOSUCHSEC ? "the temporary section is gone" : "it is still there");
    return SS$_NORMAL;
}
