/*
 * Messages of condition values, and writing them.
 *
 * A message vector has longwords, and addresses have 64 bits here. A condition that is signalled
 * has its arguments as quadwords, and its handler gets them both as longwords and so
 * (mega$signal_quadwords): if the handler passes the longwords on to $PUTMSG, the quadwords are
 * taken, as far as the longwords were not changed.
 */
#include "message.h"

#include "descriptor.h"
#include "fao.h"
#include "handlers.h"

#include <descrip.h>
#include <libdef.h>
#include <rmsdef.h>
#include <rtl/message.h>
#include <ssdef.h>
#include <stdio.h>
#include <strdef.h>
#include <string.h>
#include <unistd.h>

#undef sys$getmsg
#undef sys$putmsg
#undef lib$sys_getmsg

#define MESSAGE(prefix, name, text, help) {(unsigned)prefix##name, #name, text},

struct message {
    unsigned status;
    const char *name, *text;
};

static const struct message messages[] = {
#include <messages.def>
};

#define LINE_MAX_      512 /* of a line with its parameters; what is longer is cut off */
#define VECTOR_MAX     255 /* longwords: as many as a call has arguments */
#define IDENTIFICATION 0xffffff8U
#define FACILITY_RMS   1

static const struct {
    unsigned number;
    const char *name;
} facilities[] = {
    {0, "SYSTEM"}, {FACILITY_RMS, "RMS"}, {LIB$_FACILITY, "LIB"}, {STR$_FACILITY, "STR"}};

/* The message of just this value, else of one that differs only in severity: those that programs
 * change. NULL: there is none. 0, which services return that fail without a reason, has none
 * either, and no facility. */
static const struct message *find(unsigned status)
{
    const struct message *other = NULL;

    if (status == 0)
        return NULL;
    for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++) {
        if (((messages[i].status ^ status) & (IDENTIFICATION | 7)) == 0)
            return &messages[i];
        if (!other && ((messages[i].status ^ status) & IDENTIFICATION) == 0)
            other = &messages[i];
    }
    return other;
}

static const char *facility_name(unsigned status)
{
    for (size_t i = 0; status && i < sizeof(facilities) / sizeof(facilities[0]); i++)
        if (facilities[i].number == FACILITY_OF(status))
            return facilities[i].name;
    return "NONAME";
}

/* How many parameters the directives of a text take: each of those in messages takes one. */
static unsigned parameters_of(const char *text)
{
    unsigned n = 0;

    for (; (text = strchr(text, '!')); text++)
        n++;
    return n;
}

/* Adds text to a line that ends at *at. */
static void add(char **at, char *end, const char *text, size_t n)
{
    if (n > (size_t)(end - *at))
        n = (size_t)(end - *at);
    memcpy(*at, text, n);
    *at += n;
}

/* Writes what stands before a message's text, "%SYSTEM-F-INSFLPGS, ", and returns its end. */
static char *heading(char *at, char *end, char first, unsigned status, unsigned flags,
                     const struct message_writer *writer)
{
    static const char severities[] = "WSEIF???";
    const struct message *m = find(status);
    const char *facility = facility_name(status), *name = m ? m->name : "NOMSG";
    char *start = at;
    char c;

    add(&at, end, &first, 1);
    if (flags & MESSAGE_FACILITY) {
        if (writer && writer->facility)
            add(&at, end, writer->facility, writer->facility_length);
        else
            add(&at, end, facility, strlen(facility));
    }
    if (flags & MESSAGE_SEVERITY) {
        c = severities[status & 7];
        add(&at, end, "-", at > start + 1);
        add(&at, end, &c, 1);
    }
    if (flags & MESSAGE_NAME) {
        add(&at, end, "-", at > start + 1);
        add(&at, end, name, strlen(name));
    }
    if (!(flags & (MESSAGE_FACILITY | MESSAGE_SEVERITY | MESSAGE_NAME)))
        return start;
    if (flags & MESSAGE_TEXT)
        add(&at, end, ", ", 2);
    return at;
}

/* A message as it is kept, with directives. Returns its length. */
static size_t raw(char *line, size_t size, unsigned status, unsigned flags)
{
    const struct message *m = find(status);
    char number[40];
    char *at = heading(line, line + size, '%', status, flags, NULL);

    snprintf(number, sizeof(number), "Message number %08X", status);
    if (flags & MESSAGE_TEXT)
        add(&at, line + size, m ? m->text : number, strlen(m ? m->text : number));
    return (size_t)(at - line);
}

static void tell_parameters(unsigned status, unsigned char *outadr)
{
    const struct message *m = find(status);

    if (outadr) {
        memset(outadr, 0, 4);
        outadr[1] = (unsigned char)(m ? parameters_of(m->text) : 0);
    }
}

int sys$getmsg(unsigned int msgid, unsigned short *msglen, void *bufadr, unsigned int flags,
               unsigned char *outadr)
{
    struct text buffer;
    char line[LINE_MAX_];
    size_t n, written;

    if (!mega$buffer_of(bufadr, &buffer))
        return SS$_ACCVIO;
    n = raw(line, sizeof(line), msgid, flags & MESSAGE_ALL ? flags : MESSAGE_ALL);
    written = n < buffer.length ? n : buffer.length;
    if (written)
        memcpy(buffer.at, line, written);
    if (msglen)
        *msglen = (unsigned short)written;
    tell_parameters(msgid, outadr);
    if (written < n)
        return SS$_BUFFEROVF;
    return find(msgid) ? SS$_NORMAL : SS$_MSGNOTFND;
}

int lib$sys_getmsg(const unsigned int *message_id, unsigned short *message_length,
                   void *destination_string, const unsigned int *flags, unsigned int *out_array)
{
    char line[LINE_MAX_];
    size_t n, stored;
    int status;

    if (!message_id)
        return SS$_ACCVIO;
    n = raw(line, sizeof(line), *message_id, flags && *flags & MESSAGE_ALL ? *flags : MESSAGE_ALL);
    status = mega$text_store(destination_string, line, n, &stored);
    if (message_length)
        *message_length = (unsigned short)stored;
    tell_parameters(*message_id, (unsigned char *)out_array);
    if (status != SS$_NORMAL)
        return status;
    return find(*message_id) ? SS$_NORMAL : SS$_MSGNOTFND;
}

/* The parameters of one message. */
struct some {
    const int64_t *at;
    size_t count;
};

static int64_t from_some(void *of, size_t number)
{
    const struct some *s = of;

    return number < s->count ? s->at[number] : 0;
}

static void put_line(char *line, size_t n, const struct message_writer *writer)
{
    struct dsc$descriptor_s text = {(unsigned short)n, DSC$K_DTYPE_T, DSC$K_CLASS_S, line};

    if (writer->action && !(writer->action(&text, writer->parameter) & 1))
        return;
    fflush(stdout); /* what the program printed before */
    line[n] = '\n';
    /* One write, so that lines of several threads or processes do not mix. */
    if (write(STDERR_FILENO, line, n + 1) < 0)
        return;
}

static void put_message(char first, unsigned status, unsigned flags, struct some *parameters,
                        const struct message_writer *writer)
{
    const struct message *m = find(status);
    char line[LINE_MAX_ + 1];
    char *at = heading(line, line + LINE_MAX_, first, status, flags, writer);
    size_t left = (size_t)(line + LINE_MAX_ - at), n = 0;

    if (flags & MESSAGE_TEXT && m)
        mega$fao(m->text, strlen(m->text), at, left, &n, from_some, parameters);
    else if (flags & MESSAGE_TEXT)
        n = (size_t)snprintf(at, left, "Message number %08X", status);
    put_line(line, (size_t)(at - line) + (n < left ? n : left), writer);
}

void mega$put_messages(const int64_t *vector, size_t count, size_t available, unsigned flags,
                       const struct message_writer *writer)
{
    struct message_writer w = *writer;
    char first = '%';

    for (size_t i = 0; i < count;) {
        unsigned status = (unsigned)vector[i++];
        const struct message *m = find(status);
        struct some parameters = {0};

        if (FACILITY_OF(status) == 0) {
            if (status == 0) /* a count that a message of the system has not, or no message */
                continue;
            parameters.count = m ? parameters_of(m->text) : 0;
        } else if (FACILITY_OF(status) == FACILITY_RMS) {
            parameters.count = 1; /* its second status */
        } else if (i < count) {
            if (vector[i] >> 16 & MESSAGE_ALL)
                flags = (unsigned)(vector[i] >> 16);
            parameters.count = (size_t)vector[i++] & 0xffff;
        }
        if (parameters.count > available - i)
            parameters.count = available - i;
        parameters.at = vector + i;
        i += parameters.count;
        put_message(first, status, flags & MESSAGE_ALL ? flags : MESSAGE_ALL, &parameters, &w);
        first = '-';
        w.facility = NULL;
    }
}

int sys$putmsg(void *msgvec, int (*actrtn)(), void *facnam, unsigned long actprm)
{
    struct message_writer writer = {.action = actrtn, .parameter = actprm};
    int64_t vector[VECTOR_MAX];
    struct text facility;
    const int32_t *longwords = msgvec;
    size_t count, available, known = 0;
    const int64_t *quadwords = mega$signal_quadwords(msgvec, &known);

    if (!msgvec || (facnam && !mega$text_of(facnam, &facility)))
        return SS$_ACCVIO;
    count = (size_t)longwords[0] & 0xffff;
    /* A handler takes PC and PS away from the count; the text of a fault shows them yet. */
    available = count > known ? count : known;
    if (available > VECTOR_MAX)
        return SS$_BADPARAM;
    for (size_t i = 0; i < available; i++) {
        vector[i] = longwords[i + 1];
        if (i < known && (int32_t)quadwords[i] == longwords[i + 1])
            vector[i] = quadwords[i];
    }
    if (facnam && facility.length) {
        writer.facility = facility.at;
        writer.facility_length = facility.length;
    }
    mega$put_messages(vector, count, available, (unsigned)longwords[0] >> 16, &writer);
    return SS$_NORMAL;
}
