/*
 * Error numbers with the values of Linux/Alpha. Functions of the kernel return them negated. Files
 * that include the host's <errno.h>, whose values differ, cannot include this header.
 */
#ifndef KERNEL_BASE_ERRNO_H
#define KERNEL_BASE_ERRNO_H

#define EPERM           1
#define ENOENT          2
#define ESRCH           3
#define EINTR           4
#define EIO             5
#define ENXIO           6
#define E2BIG           7
#define ENOEXEC         8
#define EBADF           9
#define ECHILD          10
#define EDEADLK         11
#define ENOMEM          12
#define EACCES          13
#define EFAULT          14
#define ENOTBLK         15
#define EBUSY           16
#define EEXIST          17
#define EXDEV           18
#define ENODEV          19
#define ENOTDIR         20
#define EISDIR          21
#define EINVAL          22
#define ENFILE          23
#define EMFILE          24
#define ENOTTY          25
#define ETXTBSY         26
#define EFBIG           27
#define ENOSPC          28
#define ESPIPE          29
#define EROFS           30
#define EMLINK          31
#define EPIPE           32
#define EDOM            33
#define ERANGE          34
#define EAGAIN          35
#define EINPROGRESS     36
#define EALREADY        37
#define ENOTSOCK        38
#define EDESTADDRREQ    39
#define EMSGSIZE        40
#define EPROTOTYPE      41
#define ENOPROTOOPT     42
#define EPROTONOSUPPORT 43
#define ESOCKTNOSUPPORT 44
#define EOPNOTSUPP      45
#define EPFNOSUPPORT    46
#define EAFNOSUPPORT    47
#define EADDRINUSE      48
#define EADDRNOTAVAIL   49
#define ENETDOWN        50
#define ENETUNREACH     51
#define ENETRESET       52
#define ECONNABORTED    53
#define ECONNRESET      54
#define ENOBUFS         55
#define EISCONN         56
#define ENOTCONN        57
#define ESHUTDOWN       58
#define ETOOMANYREFS    59
#define ETIMEDOUT       60
#define ECONNREFUSED    61
#define ELOOP           62
#define ENAMETOOLONG    63
#define EHOSTDOWN       64
#define EHOSTUNREACH    65
#define ENOTEMPTY       66
#define EUSERS          68
#define EDQUOT          69
#define ESTALE          70
#define EREMOTE         71
#define ENOLCK          77
#define ENOSYS          78
#define ENOMSG          80
#define EIDRM           81
#define ENOSR           82
#define ETIME           83
#define EBADMSG         84
#define EPROTO          85
#define ENODATA         86
#define ENOSTR          87
#define EOVERFLOW       112
#define EILSEQ          116
#define EUCLEAN         117
#define EREMOTEIO       121
#define ELIBBAD         123
#define ERESTART        127
#define ECANCELED       131
#define EOWNERDEAD      136
#define ENOTRECOVERABLE 137
#define EHWPOISON       139

#define EWOULDBLOCK EAGAIN

#endif
