/* System calls of sockets; the comments give the Linux/Alpha numbers. All return a result or a
   negative errno. IPL 0, no locks held; most may wait. */
#ifndef KERNEL_SYS_POSIX_SOCKET_H
#define KERNEL_SYS_POSIX_SOCKET_H

#include "kernel/base/types.h"

struct iovec;

long sys_socket(uint64_t family, uint64_t type, uint64_t protocol);   /* 97 */
long sys_connect(uint64_t fd, uint64_t addr, uint64_t nbytes);        /* 98 */
long sys_accept(uint64_t fd, uint64_t addr, uint64_t nbytes);         /* 99 */
long sys_send(uint64_t fd, uint64_t buf, uint64_t n, uint64_t flags); /* 101 */
long sys_recv(uint64_t fd, uint64_t buf, uint64_t n, uint64_t flags); /* 102 */
long sys_bind(uint64_t fd, uint64_t addr, uint64_t nbytes);           /* 104 */
long sys_setsockopt(uint64_t fd, uint64_t level, uint64_t name, uint64_t value,
                    uint64_t nbytes);                        /* 105 */
long sys_listen(uint64_t fd, uint64_t backlog);              /* 106 */
long sys_recvmsg(uint64_t fd, uint64_t msg, uint64_t flags); /* 113 */
long sys_sendmsg(uint64_t fd, uint64_t msg, uint64_t flags); /* 114 */
long sys_getsockopt(uint64_t fd, uint64_t level, uint64_t name, uint64_t value,
                    uint64_t nbytes); /* 118 */
long sys_recvfrom(uint64_t fd, uint64_t buf, uint64_t n, uint64_t flags, uint64_t addr,
                  uint64_t nbytes); /* 125 */
long sys_sendto(uint64_t fd, uint64_t buf, uint64_t n, uint64_t flags, uint64_t addr,
                uint64_t nbytes);                                                     /* 133 */
long sys_shutdown(uint64_t fd, uint64_t how);                                         /* 134 */
long sys_socketpair(uint64_t family, uint64_t type, uint64_t protocol, uint64_t fds); /* 135 */
long sys_getpeername(uint64_t fd, uint64_t addr, uint64_t nbytes);                    /* 141 */
long sys_getsockname(uint64_t fd, uint64_t addr, uint64_t nbytes);                    /* 150 */
long sys_recvmmsg(uint64_t fd, uint64_t msgs, uint64_t count, uint64_t flags, uint64_t timeout);
/* 479 */
long sys_accept4(uint64_t fd, uint64_t addr, uint64_t nbytes, uint64_t flags); /* 502 */
long sys_sendmmsg(uint64_t fd, uint64_t msgs, uint64_t count, uint64_t flags); /* 503 */

/* Write or read a vector of `count` buffers, a copy of the caller's, as one message. */
long message_vector(uint64_t fd, const struct iovec *v, uint32_t count, bool send);

/* Boot: tell kernel/net who the caller is. */
void posix_socket_boot(void);

#endif
