/* Parts of a UIC or an identifier, such as JPI$_UIC returns (STARLET; docs/openvms.md). */
#ifndef UICDEF_H
#define UICDEF_H

#define UIC$K_UIC_FORMAT  0
#define UIC$K_ID_FORMAT   2
#define UIC$K_WILD_MEMBER 0xFFFF
#define UIC$K_WILD_GROUP  0x3FFF

typedef union _uicdef {
    unsigned int uic$l_uic;
    struct {
        unsigned uic$v_member : 16;
        unsigned uic$v_group : 14;
        unsigned uic$v_format : 2;
    };
    unsigned int uic$l_longword;
} UICDEF;

/* The name of the union without __NEW_STARLET. */
#define uicdef _uicdef

#endif
