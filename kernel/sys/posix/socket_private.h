/* Shared by the files of the socket calls. */
#ifndef KERNEL_SYS_POSIX_SOCKET_PRIVATE_H
#define KERNEL_SYS_POSIX_SOCKET_PRIVATE_H

#include "kernel/net/socket.h"
#include "kernel/proc/fdtable.h"

/* The socket of a descriptor, from socket_get() to fd_put(). */
struct socket_use {
    struct fd_use fd;
    struct sock *s;
    bool nonblock;
};

/* 0, -EBADF or -ENOTSOCK. */
int socket_get(uint64_t fd, struct socket_use *u);

/* A struct sockaddr_un from user memory. */
struct address {
    uint32_t nbytes; /* 0: there is none */
    uint8_t bytes[SOCKET_NAME_MAX + 1];
};
/* 0, -EINVAL, -EFAULT. */
int address_in(struct address *a, vaddr_t from, uint64_t nbytes);
/* The socket that it names, with a reference. */
int address_find(const struct address *a, struct sock **out);
/* Write n (NULL: only the family) to `to`, of *nbytes, and its length to *nbytes. 0, -EINVAL,
 * -EFAULT. */
int address_out(const struct socket_name *n, vaddr_t to, vaddr_t nbytes);
/* Give s a name of its own if it passes credentials and has none. */
int address_any(struct sock *s);

/* The caller: with its real ids for messages, with its effective ones for connections. */
struct sock_cred socket_cred_real(void);
struct sock_cred socket_cred_effective(void);

#endif
