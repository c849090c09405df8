/* What virtio 1.2, 5.2 says of disks, as far as it is used: features, configuration, requests. */
#ifndef KERNEL_DRIVERS_VIRTIO_BLK_H
#define KERNEL_DRIVERS_VIRTIO_BLK_H

#include "kernel/base/types.h"

#define BLK_F_SEGMENTS   (1u << 2) /* the device says how many a request may have */
#define BLK_F_READ_ONLY  (1u << 5)
#define BLK_F_BLOCK_SIZE (1u << 6)
#define BLK_F_FLUSH      (1u << 9)

enum { BLK_CONFIG_SECTORS = 0, BLK_CONFIG_SEGMENTS = 12, BLK_CONFIG_BLOCK_SIZE = 20 };
enum { BLK_READ = 0, BLK_WRITE = 1, BLK_FLUSH = 4 };
enum { BLK_STATUS_OK = 0, BLK_STATUS_NONE = 0xFF /* the device has written none */ };

#define BLK_UNIT 512u /* bytes in which the device counts, whatever its sectors are */

/* A request is this, the data, and a byte in which the device says how it went. */
struct blk_header {
    uint32_t type, priority;
    uint64_t unit;
};

#endif
