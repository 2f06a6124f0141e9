#include "target/sql_file.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/fsx.h"
#include "base/text.h"

#define FILE_LIMIT (64u << 20)

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || (c & 0x80) != 0;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}

/* The end of a quoted string or name that begins at `at`; NULL: it never ends. */
static const char *skip_quoted(const char *at, bool backslashes)
{
    char quote = *at;

    for (at++; *at != '\0'; at++) {
        if (backslashes && *at == '\\' && at[1] != '\0')
            at++;
        else if (*at == quote && at[1] == quote)
            at++;
        else if (*at == quote)
            return at + 1;
    }
    return NULL;
}

/* The same for a dollar quote; `at` itself + 1 when it is a lone dollar ($1). */
static const char *skip_dollar(const char *at)
{
    const char *tag = at + 1;
    const char *end;
    size_t len;
    char *close;

    if (*tag >= '0' && *tag <= '9')
        return at + 1;
    while (is_word(*tag))
        tag++;
    if (*tag != '$')
        return at + 1;
    len = (size_t)(tag + 1 - at);
    close = text_dup_n(at, len);
    end = strstr(tag + 1, close);
    free(close);
    return end != NULL ? end + len : NULL;
}

static const char *skip_comment(const char *at)
{
    int depth = 1;

    for (at += 2; depth > 0; at++) {
        if (*at == '\0')
            return NULL;
        if ((at[0] == '/' && at[1] == '*') || (at[0] == '*' && at[1] == '/')) {
            depth += at[0] == '/' ? 1 : -1;
            at++;
        }
    }
    return at;
}

/* The next place behind one lexical element; NULL: an element that never ends. */
static const char *skip_element(const char *at, const char *begin)
{
    bool in_word = at > begin && is_word(at[-1]);

    if (*at == '\'')
        return skip_quoted(at, in_word && (at[-1] == 'E' || at[-1] == 'e') && (at - 1 == begin || !is_word(at[-2])));
    if (*at == '"')
        return skip_quoted(at, false);
    if (*at == '$' && !in_word)
        return skip_dollar(at);
    if (at[0] == '/' && at[1] == '*')
        return skip_comment(at);
    if (at[0] == '-' && at[1] == '-')
        return at + strcspn(at, "\n");
    return at + 1;
}

static int line_of(const char *text, const char *at)
{
    int line = 1;

    for (; text < at; text++)
        line += *text == '\n';
    return line;
}

static void add(struct sql_file *file, const char *text, const char *begin, const char *end)
{
    while (end > begin && is_blank(end[-1]))
        end--;
    file->statements = text_realloc(file->statements, file->count + 1, sizeof *file->statements);
    file->statements[file->count++] =
        (struct sql_statement){.text = text_dup_n(begin, (size_t)(end - begin)), .line = line_of(text, begin)};
}

int sql_file_parse(const char *name, const char *text, struct sql_file *file, struct err *err)
{
    const char *begin = NULL; /* of the statement; NULL: between two */
    const char *at = text;

    *file = (struct sql_file){.name = text_dup(name)};
    while (*at != '\0') {
        bool comment = (at[0] == '-' && at[1] == '-') || (at[0] == '/' && at[1] == '*');
        const char *next;

        if (*at == ';') {
            if (begin != NULL)
                add(file, text, begin, at);
            begin = NULL;
            at++;
            continue;
        }
        if (begin == NULL && !is_blank(*at) && !comment)
            begin = at;
        if (*at == '\\' && begin == at) {
            (void)err_set(err, "%s:%d: a command of psql; only SQL can be used here", name, line_of(text, at));
            sql_file_free(file);
            return -1;
        }
        next = skip_element(at, begin != NULL ? begin : at);
        if (next == NULL) {
            (void)err_set(err, "%s:%d: what begins here with %.2s never ends", name, line_of(text, at), at);
            sql_file_free(file);
            return -1;
        }
        at = next;
    }
    if (begin != NULL)
        add(file, text, begin, at);
    if (file->count > 0)
        return 0;
    sql_file_free(file);
    return err_set(err, "%s: no statement in it", name);
}

int sql_file_load(const char *path, struct sql_file *file, struct err *err)
{
    char *text;
    size_t len;
    int result;

    if (fsx_read(path, FILE_LIMIT, &text, &len, err) != 0)
        return -1;
    if (strlen(text) != len || !text_is_utf8(text, len)) {
        free(text);
        return err_set(err, "%s: not a UTF-8 text", path);
    }
    result = sql_file_parse(path, text, file, err);
    free(text);
    return result;
}

void sql_file_free(struct sql_file *file)
{
    for (size_t i = 0; i < file->count; i++)
        free(file->statements[i].text);
    free(file->statements);
    free(file->name);
    *file = (struct sql_file){0};
}
