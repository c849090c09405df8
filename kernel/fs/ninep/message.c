/* Messages of 9P2000.L: message.h. */
#include "kernel/fs/ninep/message.h"

#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/fs/inode.h"

#define GETATTR_BASIC 0x7FFu     /* all that stat returns */
#define SECONDS_MAX   9223372036 /* since 1970, in nanoseconds of 63 bits */
#define NS            1000000000

/* ---- requests ---- */

void ninep_put(struct ninep_message *m, const void *p, size_t n)
{
    if ((size_t)(m->end - m->at) < n) {
        m->bad = true;
        return;
    }
    memcpy(m->at, p, n);
    m->at += n;
}

void ninep_put_text(struct ninep_message *m, const char *text, size_t n)
{
    if (n > UINT16_MAX)
        m->bad = true;
    ninep_put16(m, (uint16_t)n);
    ninep_put(m, text, n);
}

void ninep_begin(struct ninep_message *m, void *buf, size_t n, enum ninep_type type)
{
    *m = (struct ninep_message){.start = buf, .at = buf, .end = (uint8_t *)buf + n};
    ninep_put32(m, 0);
    ninep_put8(m, (uint8_t)type);
    ninep_put16(m, NINEP_NO_TAG);
}

void ninep_end(struct ninep_message *m, uint16_t tag, uint32_t more)
{
    uint32_t size = (uint32_t)(m->at - m->start) + more;

    memcpy(m->start, &size, sizeof(size));
    memcpy(m->start + 5, &tag, sizeof(tag));
}

/* ---- answers ---- */

uint64_t ninep_get(struct ninep_message *m, size_t n)
{
    uint64_t v = 0;

    if ((size_t)(m->end - m->at) < n) {
        m->bad = true;
        m->at = m->end;
        return 0;
    }
    memcpy(&v, m->at, n); /* the least significant byte first, as here */
    m->at += n;
    return v;
}

void ninep_get_qid(struct ninep_message *m, struct ninep_qid *q)
{
    q->type = ninep_get8(m);
    q->version = ninep_get32(m);
    q->path = ninep_get64(m);
}

const char *ninep_get_text(struct ninep_message *m, uint32_t max, uint32_t *len)
{
    const char *text;

    *len = ninep_get16(m);
    if (m->bad || *len > max || *len > (size_t)(m->end - m->at)) {
        m->bad = true;
        m->at = m->end;
        *len = 0;
        return NULL;
    }
    text = (const char *)m->at;
    m->at += *len;
    return text;
}

int ninep_answer(struct ninep_message *m, void *buf, size_t room, size_t n, size_t data,
                 enum ninep_type type, uint16_t tag)
{
    uint32_t size;
    uint8_t is;

    *m = (struct ninep_message){.start = buf, .at = buf, .end = (uint8_t *)buf + MIN(n, room)};
    size = ninep_get32(m);
    is = ninep_get8(m);
    if (ninep_get16(m) != tag || m->bad || size < NINEP_HEADER || size > n || n > room + data)
        return -EPROTO;
    if (is == NINEP_LERROR + 1) {
        uint32_t number = ninep_get32(m);

        return m->bad ? -EPROTO : ninep_error(number);
    }
    m->end = m->start + MIN((size_t)size, room);
    return is == type + 1 ? 0 : -EPROTO;
}

/* Seconds and nanoseconds since 1970; what does not fit becomes the nearest that does. */
static int64_t get_time(struct ninep_message *m)
{
    int64_t seconds = (int64_t)ninep_get64(m);
    uint64_t ns = ninep_get64(m);

    if (ns >= NS)
        ns = 0;
    if (seconds >= SECONDS_MAX)
        return INT64_MAX;
    return seconds <= -SECONDS_MAX ? INT64_MIN + 1 : seconds * NS + (int64_t)ns;
}

int ninep_get_attributes(struct ninep_message *m, struct ninep_attributes *a)
{
    uint64_t valid = ninep_get64(m);

    ninep_get_qid(m, &a->qid);
    a->mode = ninep_get32(m);
    a->uid = ninep_get32(m);
    a->gid = ninep_get32(m);
    a->nlink = ninep_get64(m);
    (void)ninep_get64(m); /* number of the device that it is */
    a->size = ninep_get64(m);
    (void)ninep_get64(m); /* size for reads */
    a->blocks = ninep_get64(m);
    a->atime_ns = get_time(m);
    a->mtime_ns = get_time(m);
    a->ctime_ns = get_time(m);
    if (m->bad || (valid & GETATTR_BASIC) != GETATTR_BASIC || a->size > (uint64_t)INT64_MAX)
        return -EPROTO;
    /* The type comes from both, and they agree. */
    if (((a->qid.type & NINEP_QID_DIR) != 0) != ((a->mode & S_IFMT) == S_IFDIR))
        return -EPROTO;
    return 0;
}

int ninep_get_statfs(struct ninep_message *m, struct ninep_statfs *s)
{
    (void)ninep_get32(m); /* type */
    s->block_size = ninep_get32(m);
    s->blocks = ninep_get64(m);
    s->free = ninep_get64(m);
    s->available = ninep_get64(m);
    s->files = ninep_get64(m);
    s->files_free = ninep_get64(m);
    return m->bad || !s->block_size ? -EPROTO : 0;
}

bool ninep_is_name(const char *text, uint32_t len)
{
    if (len == 0 || len > NAME_MAX)
        return false;
    for (uint32_t k = 0; k < len; k++)
        if (text[k] == '/' || text[k] == '\0')
            return false;
    return true;
}

int ninep_get_dirent(struct ninep_message *m, struct ninep_dirent *d)
{
    if (m->at == m->end)
        return 0;
    ninep_get_qid(m, &d->qid);
    d->offset = ninep_get64(m);
    d->type = ninep_get8(m);
    d->name = ninep_get_text(m, NAME_MAX, &d->len);
    return m->bad || !ninep_is_name(d->name, d->len) ? -EPROTO : 1;
}

/* Linux numbers errors up to ERANGE alike on all machines; the others here are those that calls on
 * files return, as x86 and Arm number them. */
int ninep_error(uint32_t number)
{
    static const struct {
        uint16_t there, here;
    } map[] = {
        {11, EAGAIN},     {35, EDEADLK},   {36, ENAMETOOLONG}, {37, ENOLCK},
        {38, EOPNOTSUPP}, {39, ENOTEMPTY}, {40, ELOOP},        {75, EOVERFLOW},
        {95, EOPNOTSUPP}, {116, ESTALE},   {122, EDQUOT},
    };

    for (unsigned k = 0; k < ARRAY_SIZE(map); k++)
        if (map[k].there == number)
            return -(int)map[k].here;
    return number && number <= ERANGE ? -(int)number : -EIO;
}
