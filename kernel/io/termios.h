/* Terminal settings and ioctl requests, in the layout and with the numbers of Linux/Alpha. */
#ifndef KERNEL_IO_TERMIOS_H
#define KERNEL_IO_TERMIOS_H

#include "kernel/base/types.h"

#define TTY_NCCS 19
struct termios {
    uint32_t c_iflag, c_oflag, c_cflag, c_lflag;
    uint8_t c_cc[TTY_NCCS];
    uint8_t c_line;
    uint32_t c_ispeed, c_ospeed;
};
struct winsize {
    uint16_t ws_row, ws_col, ws_xpixel, ws_ypixel;
};
_Static_assert(sizeof(struct termios) == 44, "TCGETS carries the size");

enum {
    VEOF,
    VEOL,
    VEOL2,
    VERASE,
    VWERASE,
    VKILL,
    VREPRINT,
    VSWTC,
    VINTR,
    VQUIT,
    VSUSP,
    VSTART = 12,
    VSTOP,
    VLNEXT,
    VDISCARD,
    VMIN,
    VTIME
};

#define INLCR   0x0040u
#define IGNCR   0x0080u
#define ICRNL   0x0100u
#define IXON    0x0200u
#define IXANY   0x0800u
#define ISTRIP  0x0020u
#define OPOST   0x0001u
#define ONLCR   0x0002u
#define CS8     0x0300u
#define CREAD   0x0800u
#define CLOCAL  0x8000u
#define B38400  0x000Fu
#define ECHOKE  0x0001u
#define ECHOE   0x0002u
#define ECHOK   0x0004u
#define ECHO    0x0008u
#define ECHONL  0x0010u
#define ECHOCTL 0x0040u
#define ISIG    0x0080u
#define ICANON  0x0100u
#define IEXTEN  0x0400u
#define TOSTOP  0x400000u
#define NOFLSH  0x80000000u

#define FIOCLEX    0x20006601u
#define FIONCLEX   0x20006602u
#define FIONBIO    0x8004667Eu
#define FIONREAD   0x4004667Fu
#define TCGETS     0x402C7413u
#define TCSETS     0x802C7414u
#define TCSETSW    0x802C7415u
#define TCSETSF    0x802C7416u
#define TCSBRK     0x2000741Du
#define TCXONC     0x2000741Eu
#define TCFLSH     0x2000741Fu
#define TIOCSWINSZ 0x80087467u
#define TIOCGWINSZ 0x40087468u
#define TIOCSPGRP  0x80047476u
#define TIOCGPGRP  0x40047477u
#define TIOCSCTTY  0x540Eu
#define TIOCNOTTY  0x5422u
#define TIOCGSID   0x5429u
#define TIOCOUTQ   0x40047473u
#define TCSBRKP    0x5425u

/* of the master of a pseudo-terminal */
#define TIOCGPTN    0x40045430u
#define TIOCSPTLCK  0x80045431u
#define TIOCGPTLCK  0x40045439u
#define TIOCGPTPEER 0x20005441u
#define TIOCSIG     0x80045436u
#define TIOCPKT     0x5420u
#define TIOCGPKT    0x40045438u
/* what happened, in packet mode */
#define TIOCPKT_FLUSHREAD  0x01u
#define TIOCPKT_FLUSHWRITE 0x02u
#define TIOCPKT_STOP       0x04u
#define TIOCPKT_START      0x08u
#define TIOCPKT_NOSTOP     0x10u
#define TIOCPKT_DOSTOP     0x20u
/* arguments of TCFLSH and TCXONC */
#define TCIFLUSH  0u
#define TCOFLUSH  1u
#define TCIOFLUSH 2u
#define TCOOFF    0u
#define TCOON     1u
#define TCIOFF    2u
#define TCION     3u

#endif
