/* Messages, for the library's files. */
#ifndef MESSAGE_H
#define MESSAGE_H

#include <stddef.h>
#include <stdint.h>

#define MESSAGE_TEXT     1U
#define MESSAGE_NAME     2U
#define MESSAGE_SEVERITY 4U
#define MESSAGE_FACILITY 8U
#define MESSAGE_ALL      15U

#define LINE_MAX_ 512 /* of a line with its parameters; what is longer is cut off */

#define FACILITY_RMS        1
#define FACILITY_OF(status) ((status) >> 16 & 0xfff)

/* What is done with each line: action(line, length, parameter) tells whether to write it. */
struct message_writer {
    int (*action)();
    uint64_t parameter;
    const char *facility; /* in place of the first message's, unless NULL */
    size_t facility_length;
};

/* The text of a message, with directives, or NULL. */
const char *mega$message_text(unsigned status);
/* How many parameters its directives take: each of those in messages takes one. */
unsigned mega$message_parameters(unsigned status);
/* Writes what stands before the text, "%SYSTEM-F-INSFLPGS, ", from at to end at most, and returns
 * its end. writer, unless NULL: may name another facility. */
char *mega$message_heading(char *at, char *end, char first, unsigned status, unsigned flags,
                           const struct message_writer *writer);

/* Writes the messages of a vector of quadwords: see sys$putmsg. Messages begin within the first
 * count of them; parameters of the last one may go on to available. */
void mega$put_messages(const int64_t *vector, size_t count, size_t available, unsigned flags,
                       const struct message_writer *writer);

#endif
