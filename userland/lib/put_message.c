/*
 * Writing messages ($PUTMSG). Apart from $GETMSG, because this is what needs $FAO.
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
#include <rtl/message.h>
#include <ssdef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#undef sys$putmsg

#define VECTOR_MAX 255 /* longwords: as many as a call has arguments */

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
    const char *text = mega$message_text(status);
    char line[LINE_MAX_ + 1];
    char *at = mega$message_heading(line, line + LINE_MAX_, first, status, flags, writer);
    size_t left = (size_t)(line + LINE_MAX_ - at), n = 0;

    if (flags & MESSAGE_TEXT && text)
        mega$fao(text, strlen(text), at, left, &n, from_some, parameters);
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
        struct some parameters = {0};

        if (FACILITY_OF(status) == 0) {
            if (status == 0) /* a count that a message of the system has not, or no message */
                continue;
            parameters.count = mega$message_parameters(status);
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
