/*
**  $GETSYI: the processors, the architecture and the memory of the system, by both
**  forms of item lists.
*/
#define __NEW_STARLET 1

#include <efndef>
#include <iledef>
#include <iosbdef>
#include <lib$routines>
#include <ssdef>
#include <starlet>
#include <stdio>
#include <string>
#include <stsdef>
#include <syidef>

static int count_bits(unsigned __int64 mask)
{
    int n;

    for (n = 0; mask != 0; n++)
        mask &= mask - 1;
    return n;
}

main()
{
    unsigned int active, available, max_cpus, primary, arch_type, page_size, memsize, page_files;
    unsigned char cluster_member;
    unsigned __int64 active_mask, available_mask, boottime, length = 0;
    char nodename[16] = "", arch_name[16] = "";
    unsigned short name_length;
    IOSB iosb;
    int status;

    ILE3 items[] = {{sizeof active, SYI$_ACTIVECPU_CNT, &active, 0},
                    {sizeof available, SYI$_AVAILCPU_CNT, &available, 0},
                    {sizeof active_mask, SYI$_ACTIVE_CPU_MASK, &active_mask, 0},
                    {sizeof available_mask, SYI$_AVAIL_CPU_MASK, &available_mask, 0},
                    {sizeof max_cpus, SYI$_MAX_CPUS, &max_cpus, 0},
                    {sizeof primary, SYI$_PRIMARY_CPUID, &primary, 0},
                    {sizeof arch_type, SYI$_ARCH_TYPE, &arch_type, 0},
                    {sizeof arch_name - 1, SYI$_ARCH_NAME, arch_name, &name_length},
                    {sizeof page_size, SYI$_PAGE_SIZE, &page_size, 0},
                    {sizeof memsize, SYI$_MEMSIZE, &memsize, 0},
                    {sizeof page_files, SYI$_PAGEFILE_PAGE, &page_files, 0},
                    {0, 0, 0, 0}};
    ILEB_64 wide[] = {{1, SYI$_NODENAME, -1, sizeof nodename - 1, nodename, &length},
                      {1, SYI$_BOOTTIME, -1, sizeof boottime, &boottime, 0},
                      {1, SYI$_CLUSTER_MEMBER, -1, sizeof cluster_member, &cluster_member, 0},
                      {0}};

    status = sys$getsyiw(EFN$C_ENF, 0, 0, items, &iosb, 0, 0);
    if ($VMS_STATUS_SUCCESS(status))
        status = iosb.iosb$w_status;
    if (!$VMS_STATUS_SUCCESS(status))
        LIB$STOP(status);
    status = SYS$GETSYIW(EFN$C_ENF, 0, 0, wide, &iosb, 0, 0);
    if (!$VMS_STATUS_SUCCESS(status))
        LIB$STOP(status);

    printf("Node %s (%Ld characters), %s\n", nodename, length,
           cluster_member ? "in a cluster" : "in no cluster");
    printf("Architecture %d, %s (%d characters)\n", arch_type, arch_name, name_length);
    printf("%d of %d processors are active, mask %Lx of %Lx\n", active, available, active_mask,
           available_mask);
    printf("The masks agree with the counts: %s\n",
           count_bits(active_mask) == active && count_bits(available_mask) == available ? "yes"
                                                                                        : "no");
    printf("The primary, %d, is active: %s; there could be %s\n", primary,
           active_mask >> primary & 1 ? "yes" : "no", max_cpus >= active ? "as many" : "fewer");
    printf("Pages of %d bytes, %s of memory, %d pages in page files\n", page_size,
           memsize > 1000 ? "thousands" : "none", page_files);
    printf("Booted: %s\n", boottime > 0x00B4A3BEDFB1C000 ? "in this decade" : "long ago");
    return SS$_NORMAL;
}
