/* The status block of services that may complete later, for headers that need no more of
 * <iosbdef.h>: programs that do not include that one may have an IOSB of their own. */
#ifndef MEGALITH_IOSB_H
#define MEGALITH_IOSB_H

struct _iosb {
    union {
        struct {
            unsigned short iosb$w_status;
            unsigned short iosb$w_bcnt;
            union {
                unsigned int iosb$l_dev_depend;
                unsigned int iosb$l_pid; /* who wrote or read the message of a mailbox */
            };
        };
        struct {
            union {
                unsigned int iosb$l_getxxi_status; /* of $GETJPI and $GETSYI */
                unsigned int iosb$l_reg_status;
            };
            unsigned int iosb$l_reserved;
        };
#pragma pack(push, 2)
        struct { /* of disks */
            unsigned short : 16;
            unsigned int iosb$l_bcnt;
            unsigned short iosb$w_dev_depend_high;
        };
#pragma pack(pop)
    };
};

#endif
