#include "base/json.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fsx.h"
#include "base/text.h"

void json_error_clean(json_error_t *error)
{
    char *near = strstr(error->text, " near '");
    struct text line = {0};

    if (near != NULL && strchr(near, '\n') != NULL)
        *near = '\0';
    text_add_visible(&line, error->text, strlen(error->text));
    (void)snprintf(error->text, sizeof error->text, "%s", text_string(&line));
    while (!text_is_utf8(error->text, strlen(error->text)))
        error->text[strlen(error->text) - 1] = '\0';
    text_free(&line);
}

int json_doc_parse(const char *name, const char *text, size_t len, struct json_doc *doc, struct err *err)
{
    json_error_t error;

    *doc = (struct json_doc){.file = text_dup(name), .text = text_dup_n(text, len), .len = len};
    if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        (void)err_set(err, "%s:1:1: a byte-order mark; save the file as plain UTF-8", name);
        json_doc_free(doc);
        return -1;
    }
    doc->root = json_loadb(doc->text, len, JSON_REJECT_DUPLICATES, &error);
    if (doc->root == NULL) {
        json_error_clean(&error);
        (void)err_set(err, "%s:%d:%d: %s", name, error.line > 0 ? error.line : 1, error.column > 0 ? error.column : 1,
                      error.text);
        json_doc_free(doc);
        return -1;
    }
    return 0;
}

int json_doc_load(const char *path, struct json_doc *doc, struct err *err)
{
    char *text;
    size_t len;
    int result;

    if (fsx_read(path, 64U << 20, &text, &len, err) != 0)
        return -1;
    result = json_doc_parse(path, text, len, doc, err);
    free(text);
    return result;
}

void json_doc_free(struct json_doc *doc)
{
    json_decref(doc->root);
    free(doc->file);
    free(doc->text);
    *doc = (struct json_doc){0};
}

/* The locator walks text that jansson has accepted, so it need not check syntax. */
struct walk {
    const char *at;
    const char *end;
};

static void skip_blank(struct walk *walk)
{
    while (walk->at < walk->end && strchr(" \t\r\n,:", *walk->at) != NULL)
        walk->at++;
}

static void skip_string(struct walk *walk)
{
    for (walk->at++; walk->at < walk->end && *walk->at != '"'; walk->at++)
        if (*walk->at == '\\')
            walk->at++;
    walk->at++;
}

static void skip_value(struct walk *walk)
{
    int depth = 0;

    skip_blank(walk);
    do {
        skip_blank(walk);
        if (walk->at >= walk->end)
            return;
        if (*walk->at == '"') {
            skip_string(walk);
        } else if (*walk->at == '{' || *walk->at == '[') {
            depth++;
            walk->at++;
        } else if (*walk->at == '}' || *walk->at == ']') {
            depth--;
            walk->at++;
        } else {
            while (walk->at < walk->end && strchr(" \t\r\n,:{}[]\"", *walk->at) == NULL)
                walk->at++;
        }
    } while (depth > 0);
}

/* Decodes the key at `walk` (with its escapes) and compares. */
static bool key_is(const struct walk *walk, const char *key, size_t key_len)
{
    struct walk past = *walk;
    json_t *string;
    bool same;

    skip_string(&past);
    string = json_loadb(walk->at, (size_t)(past.at - walk->at), JSON_DECODE_ANY, NULL);
    same =
        string != NULL && json_string_length(string) == key_len && memcmp(json_string_value(string), key, key_len) == 0;
    json_decref(string);
    return same;
}

static bool enter_key(struct walk *walk, const char *key, size_t key_len, bool stop_at_key)
{
    struct walk try = *walk;

    if (try.at >= try.end || *try.at != '{')
        return false;
    try.at++;
    for (;;) {
        bool same;

        skip_blank(&try);
        if (try.at >= try.end || *try.at != '"')
            return false;
        same = key_is(&try, key, key_len);
        if (same && stop_at_key)
            break;
        skip_string(&try);
        skip_blank(&try);
        if (same)
            break;
        skip_value(&try);
    }
    *walk = try;
    return true;
}

static bool enter_index(struct walk *walk, size_t index)
{
    struct walk try = *walk;

    if (try.at >= try.end || *try.at != '[')
        return false;
    try.at++;
    for (size_t i = 0; i < index; i++)
        skip_value(&try);
    skip_blank(&try);
    if (try.at >= try.end || *try.at == ']')
        return false;
    *walk = try;
    return true;
}

int json_doc_locate(const struct json_doc *doc, const char *path, int *line, int *column)
{
    struct walk walk = {doc->text, doc->text + doc->len};
    bool found = true;

    skip_blank(&walk);
    while (found && *path != '\0') {
        if (*path == '[') {
            found = enter_index(&walk, strtoul(path + 1, NULL, 10));
            path += strcspn(path, "]") + 1;
        } else {
            bool stop = *path == '!';
            size_t len;

            path += *path == '.' || stop;
            len = strcspn(path, stop ? "" : ".[!");
            found = enter_key(&walk, path, len, stop);
            path += len;
        }
    }
    *line = 1;
    *column = 1;
    for (const char *c = doc->text; c < walk.at; c++) {
        (*column)++;
        if (*c == '\n') {
            (*line)++;
            *column = 1;
        }
    }
    return found ? 0 : -1;
}

static int error_v(const struct json_doc *doc, const char *path, struct err *err, const char *format, va_list args)
{
    char message[sizeof err->text];
    int line;
    int column;

    (void)vsnprintf(message, sizeof message, format, args);
    (void)json_doc_locate(doc, path, &line, &column);
    return err_set(err, "%s:%d:%d: %s", doc->file, line, column, message);
}

int json_doc_error(const struct json_doc *doc, const char *path, struct err *err, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)error_v(doc, path, err, format, args);
    va_end(args);
    return -1;
}

int json_at_error(const struct json_at *at, struct err *err, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)error_v(at->doc, at->path, err, format, args);
    va_end(args);
    return -1;
}
