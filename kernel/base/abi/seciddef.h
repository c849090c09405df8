/* The identification of a section: how versions must match, and the version (STARLET;
   docs/openvms.md). */
#ifndef SECIDDEF_H
#define SECIDDEF_H

#define SECID$M_MINOR_ID 0xFFFFFF
#define SECID$M_MAJOR_ID 0xFF000000
#define SECID$K_LENGTH   8
#define SECID$C_LENGTH   8
#define SECID$S_SECID    8

typedef struct _secid {
    unsigned int secid$l_match; /* SEC$K_MATALL, SEC$K_MATEQU or SEC$K_MATLEQ in bits 1:0 */
    union {
        unsigned int secid$l_version;
        struct {
            unsigned secid$v_minor_id : 24;
            unsigned secid$v_major_id : 8;
        };
    };
} SECID;

/* The name without __NEW_STARLET. */
#if defined(MEGALITH_DIALECT_H) && !defined(__NEW_STARLET)
#define secid _secid
#endif

#endif
