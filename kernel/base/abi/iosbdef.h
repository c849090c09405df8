/* The status block of services that may complete later. */
#ifndef IOSBDEF_H
#define IOSBDEF_H

typedef struct _iosb {
    union {
        struct {
            unsigned short iosb$w_status;
            unsigned short iosb$w_bcnt;
        };
        unsigned int iosb$l_getxxi_status; /* of $GETJPI and $GETSYI */
    };
    union {
        unsigned int iosb$l_dev_depend;
        unsigned int iosb$l_reserved;
    };
} IOSB;

#endif
