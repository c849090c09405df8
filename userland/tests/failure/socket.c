/* Calls of sockets, with their messages, names and files in messages. */
#define _GNU_SOURCE
#include "failure.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <tap.h>
#include <unistd.h>

#define A(p)  ((unsigned long)(p))
#define PATH_ "/tmp/socket"

static int pair[2], server, client, lone;
static struct sockaddr_un name = {AF_UNIX, "\0failure"}, path = {AF_UNIX, PATH_};
static const socklen_t name_bytes = offsetof(struct sockaddr_un, sun_path) + 8;
static char text[3 * PAGE], room[3 * PAGE];
static struct iovec sent = {text, 100}, got = {room, sizeof(room)};
static union {
    struct cmsghdr head;
    char bytes[64];
} control;
static struct msghdr out, in;
static struct mmsghdr many_out, many_in;
static int on = 1;

static void make(void)
{
    memset(text, 's', sizeof(text));
    memset(room, 'r', sizeof(room));
    server = socket(AF_UNIX, SOCK_STREAM, 0);
    client = socket(AF_UNIX, SOCK_STREAM, 0);
    lone = socket(AF_UNIX, SOCK_STREAM, 0);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) != 0 ||
        bind(server, (void *)&name, name_bytes) != 0 || listen(server, 5) != 0)
        bail_out("no sockets: %s", strerror(errno));
    control.head = (struct cmsghdr){
        .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(&control.head), &lone, sizeof(int));
    out = (struct msghdr){.msg_iov = &sent,
                          .msg_iovlen = 1,
                          .msg_control = &control,
                          .msg_controllen = CMSG_SPACE(sizeof(int))};
    in = (struct msghdr){.msg_iov = &got,
                         .msg_iovlen = 1,
                         .msg_control = &control,
                         .msg_controllen = sizeof(control)};
    many_out.msg_hdr = out;
    many_in.msg_hdr = in;
    cold_make();
}

static void make_connected(void)
{
    make();
    if (connect(client, (void *)&name, name_bytes) != 0)
        bail_out("no connection");
}

static void make_sent(void)
{
    make();
    if (send(pair[0], "hello", 5, 0) != 5)
        bail_out("nothing sent");
}

static int ends[2]; /* of a pipe with five bytes */

static void make_pipe(void)
{
    make_sent();
    if (pipe(ends) != 0 || write(ends[1], "hello", 5) != 5)
        bail_out("no pipe");
}

static void make_passed(void)
{
    make();
    if (sendmsg(pair[0], &out, 0) != 100)
        bail_out("nothing passed");
}

static void drop(void)
{
    cold_drop();
    raw6(SYS_close_range, 3, 255, 0, 0, 0, 0);
    unlink(PATH_);
}

static bool opened(long r) { return r >= 3 && close((int)r) == 0; }
static bool both(long r) { return r == 0 && opened(((int *)COLD)[0]) && opened(((int *)COLD)[1]); }
static bool got_100(long r) { return r == 100 && recv(pair[1], room, sizeof(room), 0) == 100; }
static bool got_much(long r)
{
    return r == sizeof(text) && recv(pair[1], room, sizeof(room), 0) == sizeof(room);
}
static bool got_hello(long r) { return r == 5 && memcmp((char *)COLD, "hello", 5) == 0; }
static bool passed(long r) { return r == 100 && recvmsg(pair[1], &in, 0) == 100; }
static bool received(long r)
{
    int fd;

    memcpy(&fd, CMSG_DATA(&control.head), sizeof(fd));
    return r == 100 && opened(fd);
}
static bool one_passed(long r) { return r == 1 && many_out.msg_len == 100; }
static bool one_received(long r) { return r == 1 && received((long)many_in.msg_len); }
static bool accepts(long r) { return r == 0 && opened(accept(server, NULL, NULL)); }
static bool is_there(long r) { return r == 0 && access(PATH_, F_OK) == 0; }

static long do_bind(void) { return raw6(SYS_bind, A(lone), A(&path), sizeof(path), 0, 0, 0); }
static long do_bind_any(void) { return raw6(SYS_bind, A(lone), A(&path), 2, 0, 0, 0); }
static long do_listen(void) { return raw6(SYS_listen, A(server), 7, 0, 0, 0, 0); }
static long do_connect(void) { return raw6(SYS_connect, A(client), A(&name), name_bytes, 0, 0, 0); }
static long do_accept(void) { return raw6(SYS_accept, A(server), 0, 0, 0, 0, 0); }
static long do_accept4(void) { return raw6(SYS_accept4, A(server), 0, 0, 0, 0, 0); }
static long do_send(void) { return raw6(SYS_send, A(pair[0]), A(text), 100, 0, 0, 0); }
static long do_send_much(void)
{
    return raw6(SYS_send, A(pair[0]), A(text), sizeof(text), 0, 0, 0);
}
static long do_sendto(void) { return raw6(SYS_sendto, A(pair[0]), COLD, 100, 0, 0, 0); }
static long do_recv(void) { return raw6(SYS_recv, A(pair[1]), COLD, 100, 0, 0, 0); }
static long do_recvfrom(void) { return raw6(SYS_recvfrom, A(pair[1]), COLD, 100, 0, 0, 0); }
static long do_sendmsg(void) { return raw6(SYS_sendmsg, A(pair[0]), A(&out), 0, 0, 0, 0); }
static long do_recvmsg(void) { return raw6(SYS_recvmsg, A(pair[1]), A(&in), 0, 0, 0, 0); }
static long do_sendmmsg(void) { return raw6(SYS_sendmmsg, A(pair[0]), A(&many_out), 1, 0, 0, 0); }
static long do_recvmmsg(void) { return raw6(SYS_recvmmsg, A(pair[1]), A(&many_in), 1, 0, 0, 0); }
static long do_splice_in(void) { return raw6(SYS_splice, A(pair[1]), 0, A(ends[1]), 0, 40000, 0); }
static long do_splice_out(void) { return raw6(SYS_splice, A(ends[0]), 0, A(pair[0]), 0, 5, 0); }
static bool pipe_has_10(long r) { return r == 5 && read(ends[0], room, 100) == 10; }
static bool socket_has_10(long r) { return r == 5 && read(pair[1], room, 100) == 10; }
static long do_shutdown(void) { return raw6(SYS_shutdown, A(pair[0]), SHUT_WR, 0, 0, 0, 0); }
static long do_set(void)
{
    return raw6(SYS_setsockopt, A(lone), SOL_SOCKET, SO_PASSCRED, A(&on), sizeof(on), 0);
}
static long do_get(void)
{
    *(int *)room = 4;
    return raw6(SYS_getsockopt, A(lone), SOL_SOCKET, SO_TYPE, A(text), A(room), 0);
}
static long do_name(void)
{
    *(int *)room = 100;
    return raw6(SYS_getsockname, A(server), A(text), A(room), 0, 0, 0);
}
static long do_peer(void)
{
    *(int *)room = 100;
    return raw6(SYS_getpeername, A(pair[0]), A(text), A(room), 0, 0, 0);
}

#define CREATE(name_, call_, effect_, ...) \
    {.name = name_,                        \
     .call = (call_),                      \
     .args = {__VA_ARGS__},                \
     .prepare = cold_make,                 \
     .effect = effect_,                    \
     .undo = drop}

const struct scenario socket_scenarios[] = {
    CREATE("socket", SYS_socket, opened, AF_UNIX, SOCK_STREAM, 0),
    CREATE("socketpair", SYS_socketpair, both, AF_UNIX, SOCK_STREAM, 0, COLD),
    WITH("bind to a path", SYS_bind, make, do_bind, is_there, 0),
    WITH("bind to any name", SYS_bind, make, do_bind_any, NULL, 0),
    WITH("listen", SYS_listen, make, do_listen, NULL, NOTHING),
    WITH("connect", SYS_connect, make, do_connect, accepts, 0),
    WITH("accept", SYS_accept, make_connected, do_accept, opened, 0),
    WITH("accept4", SYS_accept4, make_connected, do_accept4, opened, 0),
    WITH("send", SYS_send, make, do_send, got_100, 0),
    WITH("send of three pages", SYS_send, make, do_send_much, got_much, 0),
    WITH("sendto from an untouched page", SYS_sendto, make, do_sendto, got_100, 0),
    WITH("recv to an untouched page", SYS_recv, make_sent, do_recv, got_hello, 0),
    WITH("recvfrom to an untouched page", SYS_recvfrom, make_sent, do_recvfrom, got_hello, 0),
    WITH("sendmsg of a file", SYS_sendmsg, make, do_sendmsg, passed, 0),
    WITH("recvmsg of a file", SYS_recvmsg, make_passed, do_recvmsg, received, ABSORBS),
    WITH("sendmmsg of a file", SYS_sendmmsg, make, do_sendmmsg, one_passed, 0),
    WITH("splice from a socket", SYS_splice, make_pipe, do_splice_in, pipe_has_10, 0),
    WITH("splice to a socket", SYS_splice, make_pipe, do_splice_out, socket_has_10, 0),
    WITH("shutdown", SYS_shutdown, make, do_shutdown, NULL, NOTHING),
    WITH("setsockopt", SYS_setsockopt, make, do_set, NULL, NOTHING),
    WITH("getsockopt", SYS_getsockopt, make, do_get, NULL, NOTHING),
    WITH("getsockname", SYS_getsockname, make, do_name, NULL, NOTHING),
    WITH("getpeername", SYS_getpeername, make, do_peer, NULL, NOTHING),
    WITH("recvmmsg of a file", SYS_recvmmsg, make_passed, do_recvmmsg, one_received, ABSORBS),
    {0},
};
