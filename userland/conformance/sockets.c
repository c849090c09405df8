/* Sockets of AF_UNIX: results, errors and edges, from unix(7), socket(7) and the manual pages of
   section 2. */
#include "conformance.h"

#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>

#define PATH "conformance.socket"

static void *volatile nowhere = (void *)16;
static char text[4096];

static struct sockaddr_un name_of(const char *path)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};

    strcpy(a.sun_path, path);
    return a;
}

/* An abstract name. */
static socklen_t abstract(struct sockaddr_un *a, const char *name)
{
    *a = (struct sockaddr_un){.sun_family = AF_UNIX};
    strcpy(a->sun_path + 1, name);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
}

static int make(int type) { return socket(AF_UNIX, type, 0); }

static int bind_to(int fd, const char *path)
{
    struct sockaddr_un a = name_of(path);

    return bind(fd, (void *)&a, sizeof(a));
}

static int connect_to(int fd, const char *path)
{
    struct sockaddr_un a = name_of(path);

    return connect(fd, (void *)&a, sizeof(a));
}

static int option(int fd, int name)
{
    int v = -2;
    socklen_t n = sizeof(v);

    return getsockopt(fd, SOL_SOCKET, name, &v, &n) < 0 ? -1 : v;
}

static void polled(const char *name, int fd)
{
    struct pollfd p = {fd, POLLIN | POLLOUT | POLLRDHUP, 0};

    poll(&p, 1, 0);
    TEXT(name, "%#x", p.revents);
}

static void kinds(void)
{
    int fd, p[2];

    CASE(socket(AF_UNIX, 99, 0));
    CASE(socket(AF_UNIX, SOCK_RDM, 0));
    CASE(socket(AF_UNIX, SOCK_STREAM, 5));
    CASE(socket(AF_UNIX, SOCK_STREAM | 0x100, 0));
    CASE(socket(99, SOCK_STREAM, 0));
    CASE(socketpair(AF_UNIX, SOCK_STREAM, 0, nowhere));
    CASE(socketpair(AF_UNIX, 99, 0, p));
    CASE(socketpair(99, SOCK_STREAM, 0, p));
    CASE_AS("stream", close(socket(AF_UNIX, SOCK_STREAM, 0)));
    CASE_AS("stream of protocol 1", close(socket(AF_UNIX, SOCK_STREAM, AF_UNIX)));
    CASE_AS("datagram", close(socket(AF_UNIX, SOCK_DGRAM, 0)));
    CASE_AS("raw", close(socket(AF_UNIX, SOCK_RAW, 0)));
    CASE_AS("packets", close(socket(AF_UNIX, SOCK_SEQPACKET, 0)));
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    VALUE_AS("SOCK_CLOEXEC", fcntl(fd, F_GETFD));
    VALUE_AS("SOCK_NONBLOCK", (fcntl(fd, F_GETFL) & O_NONBLOCK) != 0);
    VALUE_AS("mode", ({
                 struct stat st;
                 fstat(fd, &st);
                 (long)st.st_mode;
             }));
    CASE(lseek(fd, 0, SEEK_SET));
    CASE(ftruncate(fd, 0));
    polled("unconnected stream, polled", fd);
    CASE_AS("read of an unconnected stream", read(fd, text, 1));
    CASE_AS("write to an unconnected stream", write(fd, text, 1));
    CASE_AS("accept of a stream that does not listen", accept(fd, NULL, NULL));
    CASE_AS("shutdown of an unconnected stream", shutdown(fd, SHUT_RD));
    close(fd);
    fd = make(SOCK_DGRAM);
    polled("unconnected datagram, polled", fd);
    CASE_AS("write to an unconnected datagram", write(fd, text, 1));
    CASE_AS("listen of datagrams", listen(fd, 1));
    CASE_AS("accept of datagrams", accept(fd, NULL, NULL));
    CASE_AS("receive at once", recv(fd, text, 1, MSG_DONTWAIT));
    close(fd);
    fd = make(SOCK_SEQPACKET);
    CASE_AS("write to unconnected packets", send(fd, text, 1, MSG_NOSIGNAL));
    CASE_AS("read of unconnected packets", recv(fd, text, 1, 0));
    close(fd);
    fd = open("/dev/null", O_RDWR);
    CASE_AS("bind of a device", bind_to(fd, PATH));
    CASE_AS("listen of a device", listen(fd, 1));
    CASE_AS("send to a device", send(fd, text, 1, 0));
    CASE_AS("getsockname of a device", getsockname(fd, (void *)text, &(socklen_t){100}));
    close(fd);
    CASE(listen(999, 1));
    CASE(shutdown(999, 0));
    CASE(accept(999, NULL, NULL));
}

static void names(void)
{
    struct sockaddr_un a, b;
    socklen_t n = abstract(&a, "conformance"), m;
    int fd = make(SOCK_STREAM), other = make(SOCK_STREAM);
    struct stat st;

    m = sizeof(b);
    CASE_AS("getsockname, no name", getsockname(fd, (void *)&b, &m));
    VALUE_AS("its length", m);
    CASE_AS("getpeername, no peer", getpeername(fd, (void *)&b, &m));
    CASE_AS("bind, other family", ({
                b = name_of(PATH);
                b.sun_family = 77;
                bind(fd, (void *)&b, sizeof(b));
            }));
    CASE_AS("bind, too short", bind(fd, (void *)&a, 1));
    CASE_AS("bind, too long", bind(fd, (void *)text, sizeof(a) + 1));
    CASE_AS("bind, bad address", bind(fd, nowhere, 20));
    CASE_AS("bind, no folder", bind_to(fd, "/no/folder"));
    CASE_AS("bind to a path", bind_to(fd, PATH));
    CASE_AS("stat of it", stat(PATH, &st));
    VALUE_AS("is a socket", S_ISSOCK(st.st_mode));
    CASE_AS("open of it", open(PATH, O_RDWR));
    CASE_AS("bind again", bind_to(fd, "conformance.other"));
    CASE_AS("bind another to the path", bind_to(other, PATH));
    m = sizeof(b);
    CASE_AS("getsockname of a path", getsockname(fd, (void *)&b, &m));
    TEXT("its name", "%u %s", m, b.sun_path);
    m = 5;
    memset(&b, 0, sizeof(b));
    CASE_AS("getsockname, short buffer", getsockname(fd, (void *)&b, &m));
    TEXT("its beginning", "%u %s", m, b.sun_path);
    m = (socklen_t)-1;
    CASE_AS("getsockname, negative length", getsockname(fd, (void *)&b, &m));
    CASE_AS("bind to an abstract name", bind(other, (void *)&a, n));
    m = sizeof(b);
    CASE_AS("getsockname of an abstract name", getsockname(other, (void *)&b, &m));
    VALUE_AS("its length and bytes", m == n && memcmp(&a, &b, n) == 0);
    close(fd);
    fd = make(SOCK_STREAM);
    CASE_AS("bind to a used abstract name", bind(fd, (void *)&a, n));
    CASE_AS("bind to a longer name", bind(fd, (void *)&a, n + 1));
    close(other);
    other = make(SOCK_STREAM);
    CASE_AS("bind to it after its end", bind(other, (void *)&a, n));
    close(other);
    other = make(SOCK_DGRAM);
    CASE_AS("automatic name", bind(other, (void *)&a, 2));
    m = sizeof(b);
    getsockname(other, (void *)&b, &m);
    TEXT("its form", "%u %d", m, b.sun_path[0]);
    CASE_AS("connect to a path without a socket", connect_to(make(SOCK_STREAM), PATH));
    close(other);
    close(fd);
    unlink(PATH);
    CASE_AS("connect to no path", connect_to(make(SOCK_STREAM), PATH));
    CASE_AS("connect to a file", ({
                close(open(PATH, O_CREAT | O_RDWR, 0600));
                connect_to(make(SOCK_STREAM), PATH);
            }));
    unlink(PATH);
    abstract(&a, "nobody");
    CASE_AS("connect to no abstract name", connect(make(SOCK_STREAM), (void *)&a, 9));
    for (int i = 3; i < 50; i++)
        close(i);
}

static void connections(void)
{
    int l = make(SOCK_STREAM), c = make(SOCK_STREAM), s, d = make(SOCK_DGRAM), more;
    struct ucred cred;
    socklen_t n = sizeof(cred);
    struct sockaddr_un a;

    CASE_AS("listen without a name", listen(l, 1));
    CASE_AS("bind", bind_to(l, PATH));
    CASE_AS("connect before listen", connect_to(c, PATH));
    CASE_AS("connect of another type", connect_to(d, PATH));
    CASE_AS("listen", listen(l, 1));
    polled("listening, polled", l);
    VALUE_AS("SO_ACCEPTCONN", option(l, SO_ACCEPTCONN));
    fcntl(l, F_SETFL, O_NONBLOCK);
    CASE_AS("accept, nothing", accept(l, NULL, NULL));
    CASE_AS("connect", connect_to(c, PATH));
    CASE_AS("connect again", connect_to(c, PATH));
    polled("connected, not accepted", c);
    polled("listening, one there", l);
    CASE_AS("write before accept", write(c, "hello", 5));
    n = sizeof(a);
    s = accept(l, (void *)&a, &n);
    VALUE_AS("accept", s >= 0);
    VALUE_AS("length of its address", n);
    VALUE_AS("not nonblocking", (fcntl(s, F_GETFL) & O_NONBLOCK) != 0);
    CASE_AS("read what was written", read(s, text, 100));
    n = sizeof(cred);
    CASE_AS("SO_PEERCRED", getsockopt(s, SOL_SOCKET, SO_PEERCRED, &cred, &n));
    VALUE_AS("its process", cred.pid == getpid() && cred.uid == getuid());
    n = sizeof(a);
    CASE_AS("getpeername of the client", getpeername(c, (void *)&a, &n));
    TEXT("the name", "%u %s", n, a.sun_path);
    n = sizeof(a);
    CASE_AS("getsockname of the accepted", getsockname(s, (void *)&a, &n));
    TEXT("the same name", "%u %s", n, a.sun_path);
    CASE_AS("listen of a connected socket", listen(c, 1));
    CASE_AS("send with an address", sendto(c, "x", 1, 0, (void *)&a, n));
    CASE_AS("read of the listener", read(l, text, 1));
    CASE_AS("write to the listener", send(l, text, 1, MSG_NOSIGNAL));
    CASE_AS("connect of the listener", connect_to(l, PATH));
    more = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    CASE_AS("backlog 1, first", connect_to(more, PATH));
    more = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    CASE_AS("backlog 1, second", connect_to(more, PATH));
    more = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    CASE_AS("backlog 1, third", connect_to(more, PATH));
    CASE(accept4(l, NULL, NULL, 0x1));
    s = accept4(l, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    VALUE_AS("accept4, nonblocking", (fcntl(s, F_GETFL) & O_NONBLOCK) != 0);
    VALUE_AS("accept4, closed by exec", fcntl(s, F_GETFD));
    CASE_AS("connect when there is room", connect_to(more, PATH));
    CASE_AS("write of one that nobody will accept", write(more, "x", 1));
    close(l);
    CASE_AS("read after the listener's end", read(more, text, 1));
    polled("reset, polled", more);
    CASE_AS("connect after the listener's end", connect_to(make(SOCK_STREAM), PATH));
    unlink(PATH);
    for (int i = 3; i < 50; i++)
        close(i);
}

static void streams(void)
{
    struct timeval t = {0, 20000}, got;
    socklen_t n = sizeof(got);
    int p[2], k;

    CASE(socketpair(AF_UNIX, SOCK_STREAM, 0, p));
    polled("pair, polled", p[0]);
    CASE_AS("write", write(p[0], "hello", 5));
    CASE_AS("write more", write(p[0], "world", 5));
    CASE_AS("FIONREAD", ioctl(p[1], FIONREAD, &k));
    VALUE_AS("bytes", k);
    CASE_AS("peek", recv(p[1], text, 7, MSG_PEEK));
    CASE_AS("peek again", recv(p[1], text, 100, MSG_PEEK));
    CASE_AS("read a part", read(p[1], text, 3));
    CASE_AS("read the rest, of two writes", read(p[1], text, 100));
    CASE_AS("none left", recv(p[1], text, 1, MSG_DONTWAIT));
    CASE_AS("read of nothing", read(p[1], text, 0));
    CASE_AS("write of nothing", write(p[0], text, 0));
    CASE_AS("bad buffer", write(p[0], nowhere, 10));
    CASE_AS("MSG_OOB read", recv(p[1], text, 1, MSG_OOB | MSG_DONTWAIT) < 0);
    CASE_AS("write abc", write(p[0], "abc", 3));
    CASE_AS("read to a bad buffer", read(p[1], nowhere, 10));
    CASE_AS("nothing was lost", read(p[1], text, 10));
    if (fork() == 0) {
        usleep(20000);
        write(p[0], "123", 3);
        usleep(20000);
        write(p[0], "4567", 4);
        _exit(0);
    }
    CASE_AS("MSG_WAITALL", recv(p[1], text, 7, MSG_WAITALL));
    wait(NULL);
    CASE_AS("SO_RCVTIMEO", setsockopt(p[1], SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t)));
    CASE_AS("read until the time is over", read(p[1], text, 1));
    CASE_AS("SO_RCVTIMEO read", getsockopt(p[1], SOL_SOCKET, SO_RCVTIMEO, &got, &n));
    VALUE_AS("its length", n);
    t.tv_usec = 1000000;
    CASE_AS("SO_RCVTIMEO, bad", setsockopt(p[1], SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t)));
    fcntl(p[0], F_SETFL, O_NONBLOCK);
    for (k = 0; write(p[0], text, sizeof(text)) > 0; k++)
        ;
    CASE_AS("full", write(p[0], text, sizeof(text)));
    VALUE_AS("after at least 64 KiB", k >= 16);
    polled("full, polled", p[0]);
    while (recv(p[1], text, sizeof(text), MSG_DONTWAIT) > 0)
        ;
    polled("drained, polled", p[0]);
    CASE_AS("shutdown of nothing", shutdown(p[0], 3));
    CASE_AS("SHUT_WR", shutdown(p[0], SHUT_WR));
    polled("shut for writing", p[0]);
    polled("whose peer is shut for writing", p[1]);
    CASE_AS("read of the end", read(p[1], text, 1));
    CASE_AS("write after SHUT_WR", send(p[0], text, 1, MSG_NOSIGNAL));
    CASE_AS("the other way", write(p[1], "back", 4));
    CASE_AS("read of the other way", read(p[0], text, 10));
    CASE_AS("SHUT_RD of the other", shutdown(p[0], SHUT_RD));
    CASE_AS("write to who does not read", send(p[1], text, 1, MSG_NOSIGNAL));
    polled("shut both ways", p[0]);
    close(p[0]);
    polled("peer closed", p[1]);
    CASE_AS("read after the end", read(p[1], text, 1));
    CASE_AS("write after the end", send(p[1], text, 1, MSG_NOSIGNAL));
    n = sizeof(struct sockaddr_un);
    close(p[1]);

    socketpair(AF_UNIX, SOCK_STREAM, 0, p);
    write(p[0], "unread", 6);
    close(p[1]);
    CASE_AS("read, unread data lost", read(p[0], text, 1));
    CASE_AS("read again", read(p[0], text, 1));
    close(p[0]);
    socketpair(AF_UNIX, SOCK_STREAM, 0, p);
    write(p[0], "unread", 6);
    close(p[1]);
    VALUE_AS("SO_ERROR", option(p[0], SO_ERROR) != 0);
    VALUE_AS("SO_ERROR again", option(p[0], SO_ERROR));
    close(p[0]);
}

static void broken(void)
{
    int p[2];

    socketpair(AF_UNIX, SOCK_STREAM, 0, p);
    close(p[0]);
    write(p[1], "x", 1);
}

static void broken_send(void)
{
    int p[2];

    socketpair(AF_UNIX, SOCK_STREAM, 0, p);
    close(p[0]);
    send(p[1], "x", 1, 0);
}

static void datagrams(void)
{
    struct sockaddr_un a, b;
    socklen_t n, m;
    int p[2], x = make(SOCK_DGRAM), y = make(SOCK_DGRAM), z = make(SOCK_DGRAM), k;

    CASE(socketpair(AF_UNIX, SOCK_DGRAM, 0, p));
    CASE_AS("send abc", send(p[0], "abc", 3, 0));
    CASE_AS("send nothing", send(p[0], "", 0, 0));
    CASE_AS("send defgh", send(p[0], "defgh", 5, 0));
    CASE_AS("FIONREAD of the first", ioctl(p[1], FIONREAD, &k));
    VALUE_AS("its bytes", k);
    CASE_AS("receive abc", recv(p[1], text, 100, 0));
    CASE_AS("receive nothing", recv(p[1], text, 100, 0));
    CASE_AS("peek at a part", recv(p[1], text, 2, MSG_PEEK));
    CASE_AS("MSG_TRUNC", recv(p[1], text, 2, MSG_PEEK | MSG_TRUNC));
    CASE_AS("receive a part", recv(p[1], text, 2, 0));
    CASE_AS("the rest is lost", recv(p[1], text, 2, MSG_DONTWAIT));
    CASE_AS("too much", send(p[0], text, 1 << 20, 0));
    close(p[1]);
    CASE_AS("send to nobody", send(p[0], "x", 1, 0));
    CASE_AS("send to nobody again", send(p[0], "x", 1, 0));
    close(p[0]);

    n = abstract(&a, "datagram x");
    CASE_AS("bind x", bind(x, (void *)&a, n));
    CASE_AS("y to x by name", sendto(y, "from y", 6, 0, (void *)&a, n));
    m = sizeof(b);
    CASE_AS("receive without a sender's name", recvfrom(x, text, 100, 0, (void *)&b, &m));
    VALUE_AS("length of no name", m);
    b = a;
    b.sun_path[n - 3] = 'y';
    CASE_AS("bind y", bind(y, (void *)&b, n));
    CASE_AS("connect y to x", connect(y, (void *)&a, n));
    CASE_AS("send y to x", send(y, "again", 5, 0));
    m = sizeof(b);
    CASE_AS("receive with a name", recvfrom(x, text, 100, 0, (void *)&b, &m));
    VALUE_AS("length of the name", m == n);
    CASE_AS("send back", sendto(x, "back", 4, 0, (void *)&b, m));
    CASE_AS("receive back", recv(y, text, 100, 0));
    CASE_AS("connect x to y", connect(x, (void *)&b, m));
    CASE_AS("a third one to x", sendto(z, "z", 1, 0, (void *)&a, n));
    CASE_AS("connect of a third one to x", connect(z, (void *)&a, n));
    a.sun_family = AF_UNSPEC;
    CASE_AS("disconnect x", connect(x, (void *)&a, n));
    a.sun_family = AF_UNIX;
    CASE_AS("error of y", option(y, SO_ERROR) != 0);
    CASE_AS("the third one to x", sendto(z, "z", 1, MSG_DONTWAIT, (void *)&a, n));
    CASE_AS("receive from it", recv(x, text, 10, 0));
    CASE_AS("connect the third one", connect(z, (void *)&a, n));
    for (k = 0; send(z, "fill", 4, MSG_DONTWAIT) == 4; k++)
        ;
    VALUE_AS("room for", k);
    polled("no room, polled", z);
    CASE_AS("no room", send(z, "fill", 4, MSG_DONTWAIT));
    recv(x, text, 10, 0);
    polled("room, polled", z);
    CASE_AS("room", send(z, "fill", 4, MSG_DONTWAIT));
    CASE_AS("shutdown of the receiver", shutdown(x, SHUT_RD));
    CASE_AS("send to it", send(z, "x", 1, MSG_DONTWAIT | MSG_NOSIGNAL));
    close(x);
    CASE_AS("send to a closed one", send(z, "x", 1, MSG_DONTWAIT | MSG_NOSIGNAL));
    CASE_AS("sendto of no name", sendto(z, "x", 1, 0, (void *)&a, 2));
    CASE_AS("sendto of nobody's name", sendto(z, "x", 1, 0, (void *)&a, n));
    close(y);
    close(z);
}

static void packets(void)
{
    struct iovec v = {text, 100};
    struct msghdr h = {.msg_iov = &v, .msg_iovlen = 1};
    int p[2];

    CASE(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, p));
    CASE_AS("send packet abc", send(p[0], "abc", 3, 0));
    CASE_AS("send packet of nothing", send(p[0], "", 0, 0));
    CASE_AS("send packet defgh", send(p[0], "defgh", 5, 0));
    CASE_AS("recvmsg of a packet", recvmsg(p[1], &h, 0));
    VALUE_AS("its flags", h.msg_flags);
    CASE_AS("packet of nothing", recvmsg(p[1], &h, 0));
    v.iov_len = 2;
    CASE_AS("packet cut", recvmsg(p[1], &h, 0));
    VALUE_AS("cut flags", h.msg_flags & MSG_TRUNC);
    close(p[0]);
    CASE_AS("end of packets", recv(p[1], text, 10, 0));
    CASE_AS("send packet to nobody", send(p[1], "x", 1, MSG_NOSIGNAL));
    close(p[1]);
}

/* ---- control messages ---- */

static union {
    struct cmsghdr head;
    char bytes[256];
} control;

static long send_files(int fd, const int *files, int n)
{
    struct iovec v = {"f", 1};
    struct msghdr h = {.msg_iov = &v,
                       .msg_iovlen = 1,
                       .msg_control = &control,
                       .msg_controllen = CMSG_SPACE(n * sizeof(int))};

    control.head = (struct cmsghdr){
        .cmsg_len = CMSG_LEN(n * sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(&control.head), files, n * sizeof(int));
    return sendmsg(fd, &h, 0);
}

/* Receive, with room for `room` bytes of control messages. Returns the first descriptor, or -1. */
static int receive_file(const char *name, int fd, size_t room, int flags)
{
    char buf[100];
    struct iovec v = {buf, sizeof(buf)};
    struct msghdr h = {
        .msg_iov = &v, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = room};
    struct cmsghdr *c;
    long r;
    int got = -1;

    memset(&control, 0, sizeof(control));
    r = recvmsg(fd, &h, flags);
    if (r < 0) {
        report_result(name, r, errno);
        return -1;
    }
    c = CMSG_FIRSTHDR(&h);
    if (c && c->cmsg_type == SCM_RIGHTS)
        memcpy(&got, CMSG_DATA(c), sizeof(got));
    TEXT(name, "%ld bytes, flags %#x, control %lu, type %d length %lu", r, h.msg_flags,
         (unsigned long)h.msg_controllen, c ? c->cmsg_type : -1,
         c ? (unsigned long)c->cmsg_len : 0);
    return got;
}

static void rights(void)
{
    int p[2], pipes[2], fd, many[300], two[2];

    socketpair(AF_UNIX, SOCK_STREAM, 0, p);
    pipe(pipes);
    CASE_AS("send a descriptor", send_files(p[0], &pipes[0], 1));
    fd = receive_file("receive it", p[1], sizeof(control), 0);
    CASE_AS("write to the pipe", write(pipes[1], "pipe", 4));
    CASE_AS("read by the received one", read(fd, text, 10));
    VALUE_AS("not closed by exec", fcntl(fd, F_GETFD));
    close(fd);
    CASE_AS("send a bad descriptor", send_files(p[0], &(int){999}, 1));
    CASE_AS("send again", send_files(p[0], &pipes[0], 1));
    fd = receive_file("receive, closed by exec", p[1], sizeof(control), MSG_CMSG_CLOEXEC);
    VALUE_AS("closed by exec", fcntl(fd, F_GETFD));
    close(fd);
    two[0] = pipes[0];
    two[1] = pipes[1];
    CASE_AS("send two", send_files(p[0], two, 2));
    fd = receive_file("receive two", p[1], sizeof(control), 0);
    close(fd);
    close(fd + 1);
    CASE_AS("send two again", send_files(p[0], two, 2));
    fd = receive_file("room for one", p[1], CMSG_LEN(sizeof(int)), 0);
    close(fd);
    CASE_AS("send without room", send_files(p[0], two, 2));
    receive_file("no room", p[1], 0, 0);
    CASE_AS("send to peek", send_files(p[0], two, 1));
    fd = receive_file("peek", p[1], sizeof(control), MSG_PEEK);
    close(fd);
    fd = receive_file("after the peek", p[1], sizeof(control), 0);
    close(fd);
    write(p[0], "before", 6);
    CASE_AS("send between", send_files(p[0], two, 1));
    write(p[0], "after", 5);
    fd = receive_file("before and with", p[1], sizeof(control), 0);
    close(fd);
    receive_file("what is left", p[1], sizeof(control), MSG_DONTWAIT);
    receive_file("and nothing more", p[1], sizeof(control), MSG_DONTWAIT);
    CASE_AS("write and send", send_files(p[0], two, 1));
    CASE_AS("read without control", read(p[1], text, 10));
    (void)many;
    close(p[0]);
    close(p[1]);
    socketpair(AF_UNIX, SOCK_DGRAM, 0, p);
    CASE_AS("send by a datagram", send_files(p[0], two, 2));
    fd = receive_file("receive by a datagram", p[1], sizeof(control), 0);
    close(fd);
    close(fd + 1);
    CASE_AS("send itself", send_files(p[0], p, 2));
    close(p[0]);
    close(p[1]);
    close(pipes[0]);
    close(pipes[1]);
}

static long send_cred(int fd, struct ucred cred, size_t nbytes)
{
    struct iovec v = {"c", 1};
    struct msghdr h = {.msg_iov = &v,
                       .msg_iovlen = 1,
                       .msg_control = &control,
                       .msg_controllen = CMSG_SPACE(sizeof(cred))};

    control.head = (struct cmsghdr){
        .cmsg_len = CMSG_LEN(nbytes), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_CREDENTIALS};
    memcpy(CMSG_DATA(&control.head), &cred, sizeof(cred));
    return sendmsg(fd, &h, 0);
}

static void liar(void)
{
    int p[2];

    socketpair(AF_UNIX, SOCK_STREAM, 0, p);
    setresuid(1000, 1000, 1000);
    CASE_AS("a user as root", send_cred(p[0], (struct ucred){getpid(), 0, 0}, 12));
    CASE_AS("a user as another process", send_cred(p[0], (struct ucred){1, 1000, getgid()}, 12));
    CASE_AS("a user as itself", send_cred(p[0], (struct ucred){getpid(), 1000, getgid()}, 12));
}

static void credentials(void)
{
    int p[2], on = 1;
    struct ucred c;

    socketpair(AF_UNIX, SOCK_STREAM, 0, p);
    CASE_AS("SO_PASSCRED", setsockopt(p[1], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)));
    VALUE_AS("SO_PASSCRED is", option(p[1], SO_PASSCRED));
    CASE_AS("write with credentials", write(p[0], "x", 1));
    receive_file("read with credentials", p[1], sizeof(control), 0);
    memcpy(&c, CMSG_DATA(&control.head), sizeof(c));
    VALUE_AS("they are the sender's", c.pid == getpid() && c.uid == getuid());
    CASE_AS("credentials of a wrong size", send_cred(p[0], c, 11));
    CASE_AS("own credentials", send_cred(p[0], c, 12));
    receive_file("own credentials received", p[1], sizeof(control), 0);
    CASE_AS("write without room", write(p[0], "x", 1));
    receive_file("no room for credentials", p[1], 8, 0);
    in_child("credentials of others", liar);
    close(p[0]);
    close(p[1]);
}

static void messages(void)
{
    struct iovec v[3] = {{"ab", 2}, {NULL, 0}, {"cde", 3}}, w[2] = {{text, 4}, {text + 4, 100}};
    struct msghdr h = {.msg_iov = v, .msg_iovlen = 3};
    struct mmsghdr mm[3] = {{.msg_hdr = h}, {.msg_hdr = h}, {.msg_hdr = h}};
    int p[2];

    socketpair(AF_UNIX, SOCK_DGRAM, 0, p);
    CASE_AS("sendmsg of three buffers", sendmsg(p[0], &h, 0));
    h.msg_iov = w;
    h.msg_iovlen = 2;
    CASE_AS("recvmsg to two", recvmsg(p[1], &h, 0));
    TEXT("the bytes", "%.5s", text);
    CASE_AS("recvmsg of no header", recvmsg(p[1], nowhere, MSG_DONTWAIT));
    h.msg_iovlen = 1025;
    CASE_AS("too many buffers", sendmsg(p[0], &h, 0));
    CASE_AS("sendmmsg", sendmmsg(p[0], mm, 3, 0));
    VALUE_AS("bytes of the last", mm[2].msg_len);
    for (int i = 0; i < 3; i++) {
        mm[i].msg_hdr.msg_iov = w;
        mm[i].msg_hdr.msg_iovlen = 2;
    }
    CASE_AS("recvmmsg of two", recvmmsg(p[1], mm, 2, 0, NULL));
    CASE_AS("recvmmsg of the rest", recvmmsg(p[1], mm, 3, MSG_WAITFORONE, NULL));
    CASE_AS("recvmmsg of none", recvmmsg(p[1], mm, 3, MSG_DONTWAIT, NULL));
    CASE_AS("writev", writev(p[0], v, 3));
    CASE_AS("readv", readv(p[1], w, 2));
    close(p[0]);
    close(p[1]);
}

static void options(void)
{
    int p[2], v = 1;
    socklen_t n = 2;

    socketpair(AF_UNIX, SOCK_SEQPACKET, 0, p);
    VALUE_AS("SO_TYPE", option(p[0], SO_TYPE));
    VALUE_AS("SO_DOMAIN", option(p[0], SO_DOMAIN));
    VALUE_AS("SO_PROTOCOL", option(p[0], SO_PROTOCOL));
    VALUE_AS("SO_SNDBUF", option(p[0], SO_SNDBUF));
    VALUE_AS("SO_REUSEADDR", option(p[0], SO_REUSEADDR));
    CASE_AS("set SO_REUSEADDR", setsockopt(p[0], SOL_SOCKET, SO_REUSEADDR, &v, sizeof(v)));
    VALUE_AS("SO_REUSEADDR then", option(p[0], SO_REUSEADDR));
    v = 10000;
    CASE_AS("set SO_SNDBUF", setsockopt(p[0], SOL_SOCKET, SO_SNDBUF, &v, sizeof(v)));
    VALUE_AS("SO_SNDBUF then", option(p[0], SO_SNDBUF));
    v = 1;
    CASE_AS("set SO_RCVBUF", setsockopt(p[0], SOL_SOCKET, SO_RCVBUF, &v, sizeof(v)));
    VALUE_AS("SO_RCVBUF then", option(p[0], SO_RCVBUF));
    CASE_AS("set SO_TYPE", setsockopt(p[0], SOL_SOCKET, SO_TYPE, &v, sizeof(v)));
    CASE_AS("unknown option", setsockopt(p[0], SOL_SOCKET, 9999, &v, sizeof(v)));
    CASE_AS("unknown option read", getsockopt(p[0], SOL_SOCKET, 9999, &v, &n));
    CASE_AS("unknown level", setsockopt(p[0], 6, 1, &v, sizeof(v)));
    CASE_AS("short value", setsockopt(p[0], SOL_SOCKET, SO_PASSCRED, &v, 2));
    CASE_AS("short result", getsockopt(p[0], SOL_SOCKET, SO_TYPE, &v, &n));
    VALUE_AS("its bytes", n);
    CASE_AS("bad address", getsockopt(p[0], SOL_SOCKET, SO_TYPE, nowhere, &n));
    close(p[0]);
    close(p[1]);
}

static void watched(void)
{
    struct epoll_event e = {EPOLLIN | EPOLLRDHUP | EPOLLET, {0}}, got;
    int p[2], ep = epoll_create1(0);

    socketpair(AF_UNIX, SOCK_STREAM, 0, p);
    epoll_ctl(ep, EPOLL_CTL_ADD, p[0], &e);
    CASE_AS("epoll, nothing", epoll_wait(ep, &got, 1, 0));
    write(p[1], "x", 1);
    CASE_AS("epoll, written", epoll_wait(ep, &got, 1, 1000));
    TEXT("events", "%#x", got.events);
    write(p[1], "y", 1);
    CASE_AS("epoll, written again", epoll_wait(ep, &got, 1, 1000));
    shutdown(p[1], SHUT_WR);
    CASE_AS("epoll, shut", epoll_wait(ep, &got, 1, 1000));
    TEXT("events", "%#x", got.events);
    close(p[1]);
    CASE_AS("epoll, closed", epoll_wait(ep, &got, 1, 1000));
    TEXT("events", "%#x", got.events);
    close(p[0]);
    CASE_AS("epoll, none left", epoll_wait(ep, &got, 1, 0));
    close(ep);
}

int main(void)
{
    cases_begin();
    unlink(PATH);
    kinds();
    names();
    connections();
    streams();
    in_child("SIGPIPE by write", broken);
    in_child("SIGPIPE by send", broken_send);
    datagrams();
    packets();
    rights();
    credentials();
    messages();
    options();
    watched();
    return 0;
}
