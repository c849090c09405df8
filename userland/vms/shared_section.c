/*
 * A memory-resident section with shared page tables in two processes: the steps of the guides to
 * very large memory. Without an argument the program creates the section and starts itself again
 * with an argument, so that the second process maps the existing section.
 */
#define __NEW_STARLET 1

#include <descrip.h>
#include <far_pointers.h>
#include <gen64def.h>
#include <ints.h>
#include <lib$routines.h>
#include <processes.h>
#include <psldef.h>
#include <secdef.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdio.h>
#include <string.h>
#include <stsdef.h>
#include <vadef.h>
#include <wait.h>

#define MEGABYTE     (1024 * 1024)
#define SECTION_SIZE (16 * MEGABYTE)
#define REGION_SIZE  (2 * SECTION_SIZE)

#define ON_ERROR_STOP                 \
    if (!$VMS_STATUS_SUCCESS(status)) \
    lib$stop(status)

static $DESCRIPTOR64(section_name, "GUIDE_SECTION");

static GENERIC_64 region_id;
static VOID_PQ region_va, section_va;
static unsigned __int64 region_length, section_length;

static void create_shared_region(void)
{
    int status;

    status = sys$create_region_64(REGION_SIZE, VA$C_REGION_UCREATE_UOWN, VA$M_SHARED_PTS,
                                  &region_id, &region_va, &region_length);
    ON_ERROR_STOP;
    printf("Region of %lu bytes, at a multiple of its length: %s\n", region_length,
           (unsigned __int64)region_va % REGION_SIZE == 0 ? "yes" : "no");
}

static void creator(char *program)
{
    struct _secid ident = {SEC$K_MATEQU, (1 << 24) + 7};
    unsigned __int64 reserved;
    int status, child_status;
    UINT64_PQ counter;

    create_shared_region();
    status = sys$crmpsc_gdzro_64(&section_name, &ident, 0, SECTION_SIZE, &region_id, 0, PSL$C_USER,
                                 SEC$M_DZRO | SEC$M_SYSGBL | SEC$M_PERM | SEC$M_EXPREG, &section_va,
                                 &section_length, 0, 0, &reserved);
    ON_ERROR_STOP;
    printf("Section created%s, %lu bytes mapped, %lu reserved\n",
           status == SS$_CREATED_SHPT ? " with shared page tables" : "", section_length, reserved);
    counter = section_va;
    *counter = 1997;
    fflush(stdout);
    if (vfork() == 0) {
        execl(program, program, "MAP", (char *)0);
        _exit(2);
    }
    wait(&child_status);
    printf("The other process counted to %lu\n", *counter);

    status = sys$deltva_64(&region_id, section_va, section_length, PSL$C_USER, &section_va,
                           &section_length);
    ON_ERROR_STOP;
    status = sys$dgblsc(SEC$M_SYSGBL, &section_name, &ident);
    ON_ERROR_STOP;
    status = sys$delete_region_64(&region_id, PSL$C_USER, &region_va, &region_length);
    ON_ERROR_STOP;
    status = sys$mgblsc_64(&section_name, &ident, &region_id, 0, 0, PSL$C_USER,
                           SEC$M_WRT | SEC$M_SYSGBL | SEC$M_EXPREG, &section_va, &section_length);
    printf("Deleted: %s\n", status == SS$_NOSUCHSEC ? "there is no such section" : "it is there");
}

static void mapper(void)
{
    struct _secid ident = {SEC$K_MATLEQ, (1 << 24) + 3};
    UINT64_PQ counter;
    int status;

    create_shared_region();
    status = sys$mgblsc_64(&section_name, &ident, &region_id, 0, 0, PSL$C_USER,
                           SEC$M_SYSGBL | SEC$M_EXPREG, &section_va, &section_length);
    printf("Mapped for reading: %s\n",
           status == SS$_NOSHPTS ? "not with these page tables" : "it should not be");
    status = sys$mgblsc_64(&section_name, &ident, &region_id, 0, 0, PSL$C_USER,
                           SEC$M_WRT | SEC$M_SYSGBL | SEC$M_EXPREG, &section_va, &section_length);
    ON_ERROR_STOP;
    counter = section_va;
    printf("Mapped %lu bytes, found %lu\n", section_length, *counter);
    ++*counter;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "MAP") == 0)
        mapper();
    else
        creator(argv[0]);
    return SS$_NORMAL;
}
