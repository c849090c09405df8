/*
 * What <iodef.h>, <cmbdef.h>, <dvidef.h>, <devdef.h>, <dcdef.h> and <agndef.h> define of what is
 * here (STARLET; docs/openvms.md). The headers of the library have the rest, as errors.
 */
#ifndef MEGALITH_DEVICES_H
#define MEGALITH_DEVICES_H

/* Functions of $QIO. */
#define IO$_WRITEPBLK  11
#define IO$_READPBLK   12
#define IO$_WRITELBLK  32
#define IO$_READLBLK   33
#define IO$_SETMODE    35
#define IO$_SENSEMODE  39
#define IO$_WRITEOF    40
#define IO$_WRITEVBLK  48
#define IO$_READVBLK   49
#define IO$_READPROMPT 55

/* Their modifiers, for mailboxes. */
#define IO$M_FCODE          0x3F
#define IO$M_FMODIFIERS     0xFFC0
#define IO$M_NOW            0x40
#define IO$M_STREAM         0x80
#define IO$M_READERCHECK    0x100
#define IO$M_WRITERCHECK    0x200
#define IO$M_NORSWAIT       0x400
#define IO$M_MB_ROOM_NOTIFY 0x40
#define IO$M_READATTN       0x80
#define IO$M_WRTATTN        0x100
#define IO$M_SETPROT        0x200
#define IO$M_READERWAIT     0x400
#define IO$M_WRITERWAIT     0x800

/* For disks; data are not read again to compare them (SS$_ILLMODIFIER). */
#define IO$M_DATACHECK 0x4000
#define IO$M_NOVCACHE  0x20000

/* For terminals. */
#define IO$M_TIMED     0x80
#define IO$M_PURGE     0x800
#define IO$M_CANCTRLO  0x40
#define IO$M_NOFORMAT  0x100
#define IO$M_BREAKTHRU 0x200

/* Flags of $CREMBX. */
#define CMB$M_READONLY  0x1
#define CMB$M_WRITEONLY 0x2

/* Items of $GETDVI. */
#define DVI$_DEVCHAR      2
#define DVI$_DEVCLASS     4
#define DVI$_DEVTYPE      6
#define DVI$_DEVBUFSIZ    8
#define DVI$_DEVDEPEND    10
#define DVI$_UNIT         12
#define DVI$_PID          14
#define DVI$_OWNUIC       16
#define DVI$_VPROT        18
#define DVI$_ERRCNT       20
#define DVI$_REFCNT       30
#define DVI$_DEVNAM       32
#define DVI$_REC          70
#define DVI$_CCL          72
#define DVI$_TRM          74
#define DVI$_SHR          94
#define DVI$_AVL          98
#define DVI$_MBX          102
#define DVI$_IDV          114
#define DVI$_ODV          116
#define DVI$_STS          226
#define DVI$_DEVCHAR2     230
#define DVI$_FULLDEVNAM   232
#define DVI$_ALLDEVNAM    236
#define DVI$_TT_PHYDEVNAM 274

/* Added to an item: the second device of a spooled one. */
#define DVI$C_SECONDARY 1

/* Characteristics of devices. */
#define DEV$M_REC 0x1
#define DEV$M_CCL 0x2
#define DEV$M_TRM 0x4
#define DEV$M_SHR 0x10000
#define DEV$M_AVL 0x40000
#define DEV$M_MBX 0x100000
#define DEV$M_SWL 0x2000000
#define DEV$M_IDV 0x4000000
#define DEV$M_ODV 0x8000000
#define DEV$M_RND 0x10000000

/* Their classes and types. */
#define DC$_DISK    1
#define DC$_TERM    66
#define DC$_MAILBOX 160
#define DC$_MISC    200
#define DT$_TTYUNKN 0
#define DT$_MBX     1
#define DT$_NULL    3

/* Flags of $ASSIGN. */
#define AGN$M_READONLY  0x1
#define AGN$M_WRITEONLY 0x2

#endif
