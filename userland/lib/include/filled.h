/* Text for the width of the terminal. Not a service of OpenVMS. */
#ifndef FILLED_H
#define FILLED_H

#ifdef __cplusplus
extern "C" {
#endif

/* Columns of a line of standard output: what the environment variable COLUMNS says, else the width
 * of the terminal; 80 if that is not known, and never less: narrower terminals break lines
 * themselves. */
unsigned mega$columns(void);

/* Prints as printf does, and ends the line. What does not fit the line goes on in the next one
 * after `indent` blanks; lines are broken at blanks and after commas. Cut at 4,095 bytes. */
void mega$print_filled(unsigned indent, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Prints the first field of a row, left-aligned in `width` columns. A longer one gets a line of its
 * own, and the rest of the row follows below. */
void mega$print_first(const char *text, unsigned width);

/* Prints the last field of a row, two blanks behind the `column` columns before it, and ends the
 * line. If it does not fit there, it gets a line of its own. */
void mega$print_last(unsigned column, const char *text);

#ifdef __cplusplus
}
#endif

#endif
