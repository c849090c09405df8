/*
 * A region for private pages is created, expanded, protected, queried and deleted. It grows from
 * its high end down. Addresses are printed relative to the region.
 */
#define __NEW_STARLET 1

#include <efndef.h>
#include <far_pointers.h>
#include <gen64def.h>
#include <iledef.h>
#include <ints.h>
#include <iosbdef.h>
#include <lib$routines.h>
#include <prtdef.h>
#include <psldef.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdio.h>
#include <stsdef.h>
#include <syidef.h>
#include <vadef.h>

static int page_size;

static int get_page_size(void)
{
    IOSB iosb;
    ILE3 items[] = {{sizeof(page_size), SYI$_PAGE_SIZE, &page_size, 0}, {0, 0, 0, 0}};
    int status = sys$getsyiw(EFN$C_ENF, 0, 0, items, &iosb, 0, 0);

    return $VMS_STATUS_SUCCESS(status) ? iosb.iosb$w_status : status;
}

static void check(int status, const char *what)
{
    printf("%-32s %s\n", what, $VMS_STATUS_SUCCESS(status) ? "done" : "failed");
    if (!$VMS_STATUS_SUCCESS(status))
        lib$signal(status);
}

int main(void)
{
    unsigned __int64 length, region_length;
    CHAR_PQ region, pages;
    GENERIC_64 id;
    unsigned int old_protection;
    REGSUM summary;
    VOID_PQ va;
    int status;

    check(get_page_size(), "page size");
    status = sys$create_region_64(64 * page_size, VA$C_REGION_UCREATE_UOWN, VA$M_DESCEND, &id,
                                  (void **)&region, &region_length, 0);
    check(status, "create a region of 64 pages");
    status = sys$expreg_64(&id, 8 * page_size, PSL$C_USER, 0, (void **)&pages, &length);
    check(status, "expand it by 8 pages");
    printf("  pages from page %ld on, %ld of them\n", (pages - region) / page_size,
           (long)length / page_size);
    for (int i = 0; i < 8; i++)
        pages[i * page_size] = (char)('A' + i);

    status = sys$setprt_64(pages, 2 * page_size, PSL$C_USER, PRT$C_UR, &va, &length,
                           &old_protection);
    check(status, "protect 2 pages from writing");
    printf("  the protection was %s, the pages say %c%c\n",
           old_protection == PRT$C_UW ? "UW" : "something else", pages[0], pages[page_size]);

    status = sys$cretva_64(&id, region, 4 * page_size, PSL$C_USER, 0, &va, &length);
    check(status, "create 4 pages at its low end");
    status = sys$cretva_64(&id, region, page_size, PSL$C_USER, VA$M_NO_OVERMAP, &va, &length);
    printf("  again, not over what is there: %s\n",
           status == SS$_VA_IN_USE ? "in use" : "should not have been");

    status = sys$get_region_info(VA$_REGSUM_BY_ID, &id, 0, 0, sizeof(summary), &summary, &length);
    check(status, "region information");
    printf("  %ld pages, %s, first free page %ld\n", (long)summary.va$q_region_size / page_size,
           summary.va$l_flags & VA$M_DESCEND ? "descending" : "ascending",
           ((CHAR_PQ)summary.va$pq_first_free_va - region) / page_size);

    status = sys$deltva_64(&id, pages, 2 * page_size, PSL$C_USER, &va, &length);
    check(status, "delete the protected pages");
    printf("  the next page still says %c\n", pages[2 * page_size]);
    status = sys$delete_region_64(&id, PSL$C_USER, &va, &length);
    check(status, "delete the region");
    status = sys$expreg_64(&id, page_size, PSL$C_USER, 0, &va, &length);
    printf("  expand it once more: %s\n", status == SS$_IVREGID ? "no such region" : "?");
    return SS$_NORMAL;
}
