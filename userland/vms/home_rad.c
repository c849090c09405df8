/*
**  A memory-resident section whose pages come from the resource affinity domain
**  that is the home of the process.
*/
#define __NEW_STARLET 1

#include <descrip>
#include <gen64def>
#include <iledef>
#include <jpidef>
#include <lib$routines>
#include <psldef>
#include <secdef>
#include <ssdef>
#include <starlet>
#include <stdio>
#include <syidef>
#include <vadef>

static $DESCRIPTOR(section_name, "HOME_SECTION");

static int get_rads(int *max_rads, int *home_rad)
{
    ILE3 syi[2] = {{4, SYI$_RAD_MAX_RADS, 0, 0}, {0, 0, 0, 0}};
    ILE3 jpi[2] = {{4, JPI$_HOME_RAD, 0, 0}, {0, 0, 0, 0}};
    int status;

    syi[0].ile3$ps_bufaddr = max_rads;
    jpi[0].ile3$ps_bufaddr = home_rad;
    status = sys$getsyiw(0, 0, 0, syi, 0, 0, 0);
    if (!(status & 1))
        return status;
    return sys$getjpiw(0, 0, 0, jpi, 0, 0, 0);
}

static int create_section(int rad, void **va)
{
    unsigned __int64 length, section_length = 8 * 1024 * 1024;
    GENERIC_64 region_id;
    void *region_va;
    int status;

    status = sys$create_region_64(section_length, VA$C_REGION_UCREATE_UOWN, VA$M_SHARED_PTS,
                                  &region_id, &region_va, &length);
    if (!(status & 1))
        return status;
    return sys$crmpsc_gdzro_64(&section_name, 0, 0, section_length, &region_id, 0, PSL$C_USER,
                               SEC$M_SYSGBL | SEC$M_EXPREG | SEC$M_RAD_HINT, va, &length, 0, 0, 0,
                               1 << rad);
}

main()
{
    int status, max_rads, home_rad;
    int *counter;
    void *va;

    status = get_rads(&max_rads, &home_rad);
    if (!(status & 1))
        lib$stop(status);
    printf("%d RADs, the home is RAD %d\n", max_rads, home_rad);
    status = create_section(max_rads, &va);
    printf("In a RAD that does not exist: %s\n", status == SS$_BADRAD ? "SS$_BADRAD" : "?");
    status = create_section(home_rad, &va);
    if (!(status & 1))
        lib$stop(status);
    counter = va;
    printf("In the home RAD: %s, the first longword is %d\n",
           status == SS$_CREATED_SHPT ? "created with shared page tables" : "created", *counter);
    ++*counter;
    return SS$_NORMAL;
}
