/*
 * sql_file - a file of plain SQL as a list of statements, each run by itself (VACUUM and CHECKPOINT must be).
 *
 * Understands what separates statements: quoted strings and names, dollar quotes, comments. psql's backslash commands
 * are refused, with file and line, and so is a string or comment that never ends.
 */
#ifndef TARGET_SQL_FILE_H
#define TARGET_SQL_FILE_H

#include <stddef.h>

#include "base/err.h"

struct sql_statement {
    char *text; /* without the semicolon, comments before it left out */
    int line;   /* of its first word */
};

struct sql_file {
    char *name;
    struct sql_statement *statements;
    size_t count;
};

int sql_file_load(const char *path, struct sql_file *file, struct err *err);
int sql_file_parse(const char *name, const char *text, struct sql_file *file, struct err *err);
void sql_file_free(struct sql_file *file);

#endif
