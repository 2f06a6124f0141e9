/*
 * err - how a function says what went wrong.
 *
 * A caller declares `struct err err = {0};` and passes its address down. A function that fails fills it and returns
 * -1 (or NULL); the first error is kept, later ones are ignored, so that the cause is not hidden by its consequences.
 * The text is one line for a person: what, where, what to do. Only cli/ turns an error into an exit status.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

/* What the error means for the process: the values are exit statuses of the command line. */
enum err_kind {
    ERR_NONE = 0,
    ERR_FAILED = 1, /* something that was asked for failed: a build, a contract, a cell */
    ERR_CANNOT = 2, /* could not run: usage, configuration, environment */
};

struct err {
    enum err_kind kind;
    char text[1024]; /* empty when there is no error; cut, never overrun */
};

/* Records an error of kind ERR_CANNOT unless one is there already. Always returns -1. */
int err_set(struct err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same with kind ERR_FAILED. */
int err_fail(struct err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* As err_set, followed by ": " and the text of errno as it was at the call. */
int err_sys(struct err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Puts "prefix: " before the text, for callers that know where. Returns -1. */
int err_prefix(struct err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

void err_clear(struct err *err);

#endif
