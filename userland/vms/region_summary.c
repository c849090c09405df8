/*
**  A region is created in P0 space and another in P2 space, each is filled from
**  its low or high end by SYS$EXPREG_64, and $GET_REGION_INFO finds them by their
**  identification, by an address in them, and by an address below.
*/
#define __NEW_STARLET 1

#pragma pointer_size save
#pragma pointer_size 64

#include <gen64def>
#include <lib$routines>
#include <psldef>
#include <ssdef>
#include <starlet>
#include <stdio>
#include <stsdef>
#include <vadef>

#define PAGES 16

static struct _regsum regsum;
static GENERIC_64 region_id;
static void *start_va, *return_va;
static unsigned __int64 region_length, return_length, page_size = 8192;

static void show_region(const char *how, int function, void *va)
{
    int status;

    status = SYS$GET_REGION_INFO(function, &region_id, va, 0, sizeof(struct _regsum), &regsum,
                                 &return_length);
    if (!$VMS_STATUS_SUCCESS(status))
        LIB$SIGNAL(status);

    printf("%s: %Ld bytes of a summary of %d, %Ld pages,%s%s%s, owner mode %d, create mode %d\n",
           how, return_length, VA$C_REGSUM_LENGTH, regsum.va$q_region_size / page_size,
           regsum.va$v_p0_space ? " P0 space" : "", regsum.va$v_descend ? " descending" : "",
           regsum.va$v_permanent ? " permanent" : "", regsum.va$v_owner_mode,
           regsum.va$v_create_mode);
    printf("    its start is %s, the first free page is %Ld\n",
           regsum.va$pq_start_va == start_va ? "right" : "wrong",
           ((char *)regsum.va$pq_first_free_va - (char *)start_va) / (__int64)page_size);
}

static void one_region(unsigned int flags)
{
    int status, i;
    char *byte;
    GENERIC_64 id;

    status = SYS$CREATE_REGION_64(PAGES * page_size, VA$C_REGION_UCREATE_UOWN, flags, &region_id,
                                  &start_va, &region_length);
    if (!$VMS_STATUS_SUCCESS(status))
        LIB$STOP(status);

    status = SYS$EXPREG_64(&region_id, 3 * page_size, PSL$C_USER, 0, &return_va, &return_length);
    if (!$VMS_STATUS_SUCCESS(status))
        LIB$STOP(status);
    for (byte = return_va, i = 0; i < return_length; i++)
        byte[i] = i;
    printf("\nThe pages lie at %Lx from the start, %Lx bytes long, the last byte is %x\n",
           (unsigned __int64)(byte - (char *)start_va), return_length,
           byte[return_length - 1] & 0xFF);

    id = region_id;
    show_region("By identification", VA$_REGSUM_BY_ID, 0);
    show_region("By an address in it", VA$_REGSUM_BY_VA, (char *)start_va + page_size);
    printf("    the identification is %s\n",
           regsum.va$q_region_id == id.gen64$q_quadword ? "the same" : "another");
    show_region("By the next address", VA$_NEXT_REGSUM_BY_VA, start_va);

    status = SYS$CRETVA_64(&region_id, return_va, page_size, PSL$C_USER, VA$M_NO_OVERMAP,
                           &return_va, &return_length);
    printf("Created again: %s\n", status == SS$_VA_IN_USE ? "SS$_VA_IN_USE" : "another status");

    status = SYS$DELETE_REGION_64(&region_id, PSL$C_USER, &return_va, &return_length);
    if (!$VMS_STATUS_SUCCESS(status))
        LIB$STOP(status);
    printf("%Ld pages were deleted\n", return_length / page_size);
}

main()
{
    one_region(VA$M_P0_SPACE);
    one_region(VA$M_DESCEND);
    return SS$_NORMAL;
}

#pragma pointer_size restore
