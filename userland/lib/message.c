/* Messages of condition values, as they are kept: with directives ($GETMSG). */
#include "message.h"

#include "descriptor.h"

#include <libdef.h>
#include <rmsdef.h>
#include <rtl/message.h>
#include <ssdef.h>
#include <stdio.h>
#include <strdef.h>
#include <string.h>

#undef sys$getmsg
#undef lib$sys_getmsg

#define MESSAGE(prefix, name, text, help) {(unsigned)prefix##name, #name, text},

struct message {
    unsigned status;
    const char *name, *text;
};

static const struct message messages[] = {
#include <messages.def>
};

#define IDENTIFICATION    0xffffff8U
#define OF_ALL_FACILITIES 0xfff8U
#define FACILITY_SPECIFIC 0x8000U

static const struct {
    unsigned number;
    const char *name;
} facilities[] = {
    {0, "SYSTEM"}, {FACILITY_RMS, "RMS"}, {LIB$_FACILITY, "LIB"}, {STR$_FACILITY, "STR"}};

/* The message of just this value, else of one that differs only in severity: those that programs
 * change. A number without the bit of its facility means the same in all of them. NULL: there is
 * none. 0, which services return that fail without a reason, has none either, and no facility. */
static const struct message *find(unsigned status)
{
    unsigned mask = status & FACILITY_SPECIFIC ? IDENTIFICATION : OF_ALL_FACILITIES;
    const struct message *other = NULL;

    if (status == 0)
        return NULL;
    for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++) {
        if (((messages[i].status ^ status) & (mask | 7)) == 0)
            return &messages[i];
        if (!other && ((messages[i].status ^ status) & mask) == 0)
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

const char *mega$message_text(unsigned status)
{
    const struct message *m = find(status);

    return m ? m->text : NULL;
}

unsigned mega$message_parameters(unsigned status)
{
    const char *text = mega$message_text(status);
    unsigned n = 0;

    for (; text && (text = strchr(text, '!')); text++)
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

char *mega$message_heading(char *at, char *end, char first, unsigned status, unsigned flags,
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
    char *at = mega$message_heading(line, line + size, '%', status, flags, NULL);

    snprintf(number, sizeof(number), "Message number %08X", status);
    if (flags & MESSAGE_TEXT)
        add(&at, line + size, m ? m->text : number, strlen(m ? m->text : number));
    return (size_t)(at - line);
}

static void tell_parameters(unsigned status, unsigned char *outadr)
{
    if (outadr) {
        memset(outadr, 0, 4);
        outadr[1] = (unsigned char)mega$message_parameters(status);
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
