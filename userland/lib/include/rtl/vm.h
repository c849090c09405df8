/*
 * Memory in zones. Sizes and zones are longwords by reference, in the forms that end in _64
 * quadwords. base_address is where the address of a block is, of 64 bits in both forms. Zone 0 is
 * there from the start.
 */
#ifndef RTL_VM_H
#define RTL_VM_H

#include <ints.h>
#include <rtl/optional.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Allocates a block. LIB$_BADBLOSIZ: a size that is not above 0, or above that of a zone with
 * blocks of one size; LIB$_INSVIRMEM; LIB$_PAGLIMEXC; LIB$_BADBLOADR: there is no such zone. */
int lib$get_vm(const int *number_of_bytes, void *base_address, const unsigned int *zone_id);
/* Frees a block. The size must be that of the block; it can be left out (0) for a zone with
 * boundary tags. LIB$_BADBLOADR: there is no block at this address, or no such zone. */
int lib$free_vm(const int *number_of_bytes, void *base_address, const unsigned int *zone_id);
/* Creates a zone. All arguments but the first can be left out, at the end or as 0: flags are
 * LIB$M_VM_ constants of <libvmdef.h>; block sizes are multiples of block_size (default 8), and
 * algorithm_argument is that of LIB$K_VM_FIXED, and must be there, from 1 to 128 and 1 to 16,
 * for LIB$K_VM_QUICK_FIT and LIB$K_VM_FREQ_SIZES, too; alignment is a power of 2, from 4 to 512
 * (default 8); page_limit counts 512 bytes, and so does initial_size, which LIB$M_VM_NO_EXTEND
 * makes the limit (LIB$_INSVIRMEM). The others are not looked at, but a routine that is to get
 * pages gives LIB$_INVARG. In the form that ends in _64 the defaults are 16, the least 16 and 8. */
int lib$create_vm_zone(unsigned int *zone_id, const int *algorithm, const int *algorithm_argument,
                       const int *flags, const int *extend_size, const int *initial_size,
                       const int *block_size, const int *alignment, const int *page_limit,
                       const int *smallest_block_size, const void *zone_name, int (*get_page)(),
                       int (*free_page)());
/* Frees all blocks of a zone, and, but for reset, the zone. LIB$_BADBLOADR: there is none;
 * LIB$_INVOPEZON: zone 0. */
int lib$delete_vm_zone(const unsigned int *zone_id);
int lib$reset_vm_zone(const unsigned int *zone_id);

int lib$get_vm_64(const __int64 *number_of_bytes, void *base_address, const __int64 *zone_id);
int lib$free_vm_64(const __int64 *number_of_bytes, void *base_address, const __int64 *zone_id);
int lib$create_vm_zone_64(__int64 *zone_id, const __int64 *algorithm,
                          const __int64 *algorithm_argument, const __int64 *flags,
                          const __int64 *extend_size, const __int64 *initial_size,
                          const __int64 *block_size, const __int64 *alignment,
                          const __int64 *page_limit, const __int64 *smallest_block_size,
                          const void *zone_name, int (*get_page)(), int (*free_page)());
int lib$delete_vm_zone_64(const __int64 *zone_id);
int lib$reset_vm_zone_64(const __int64 *zone_id);

#define lib$get_vm(...)     MEGA_UP_TO(3, lib$get_vm, (0), __VA_ARGS__)
#define lib$free_vm(...)    MEGA_UP_TO(3, lib$free_vm, (0), __VA_ARGS__)
#define lib$get_vm_64(...)  MEGA_UP_TO(3, lib$get_vm_64, (0), __VA_ARGS__)
#define lib$free_vm_64(...) MEGA_UP_TO(3, lib$free_vm_64, (0), __VA_ARGS__)
#define lib$create_vm_zone(...) \
    MEGA_UP_TO(13, lib$create_vm_zone, (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), __VA_ARGS__)
#define lib$create_vm_zone_64(...) \
    MEGA_UP_TO(13, lib$create_vm_zone_64, (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), __VA_ARGS__)

#ifdef __cplusplus
}
#endif

#endif
