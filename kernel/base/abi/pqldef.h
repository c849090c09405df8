/* Quotas of $CREPRC (STARLET; docs/openvms.md). */
#ifndef PQLDEF_H
#define PQLDEF_H

#define PQL$_LISTEND   0
#define PQL$_ASTLM     1
#define PQL$_BIOLM     2
#define PQL$_BYTLM     3
#define PQL$_CPULM     4
#define PQL$_DIOLM     5
#define PQL$_FILLM     6
#define PQL$_PGFLQUOTA 7
#define PQL$_PRCLM     8
#define PQL$_TQELM     9
#define PQL$_WSQUOTA   10
#define PQL$_WSDEFAULT 11
#define PQL$_ENQLM     12
#define PQL$_WSEXTENT  13
#define PQL$_JTQUOTA   14

#endif
