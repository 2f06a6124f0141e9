/*
 * libFuzzer: the readers of files that people edit or that a killed run left: CSV, details, machine.json, a study,
 * server.json. The first byte chooses which. A refusal must name the file, and a CSV line that was read and can be
 * written must be read again as the same line.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fsx.h"
#include "base/text.h"
#include "results/csv.h"
#include "results/details.h"
#include "results/machine_file.h"
#include "study/config.h"
#include "target/recipe.h"

static char folder[64];

static void check(bool holds, const char *what, const char *text)
{
    if (holds)
        return;
    fprintf(stderr, "broken: %s: %s\n", what, text);
    abort();
}

static void remove_folder(void)
{
    struct err ignored = {0};

    (void)fsx_remove_tree(folder, &ignored);
}

static const char *put(char *path, const char *name, const void *data, size_t size)
{
    FILE *file;

    if (folder[0] == '\0') {
        snprintf(folder, sizeof folder, "/tmp/restbench-fuzz-%d", (int)getpid());
        mkdir(folder, 0700);
        (void)atexit(remove_folder);
    }
    snprintf(path, 128, "%s/%s", folder, name);
    file = fopen(path, "wb");
    if (file == NULL || fwrite(data, 1, size, file) != size || fclose(file) != 0) {
        perror(path);
        exit(2);
    }
    return path;
}

static void refused(const struct err *err, const char *path)
{
    check(err->text[0] != '\0', "refused without a word", path);
    check(strstr(err->text, strrchr(path, '/') + 1) != NULL, "the file is not named", err->text);
    check(text_is_utf8(err->text, strlen(err->text)) && strchr(err->text, '\n') == NULL, "not one clean line",
          err->text);
}

/* Written and read once more the line must be the same one. */
static void again(const struct csv_line *line)
{
    struct csv_reader reader;
    struct csv_line second;
    struct err err = {0};
    struct text first = {0}, file = {0}, text = {0};
    char path[128];

    if (csv_format_line(line, &first, &err) == 0) {
        csv_header(&file);
        text_addf(&file, "\n%s\n", text_string(&first));
        check(csv_open(put(path, "again.csv", file.data, file.len), &reader, &err) == 0, "own header", err.text);
        check(csv_next(&reader, &second, &err) == 1, "own line refused", err.text);
        check(csv_format_line(&second, &text, &err) == 0, "own line cannot be written again", err.text);
        check(strcmp(text_string(&first), text_string(&text)) == 0, "written differently", text_string(&text));
        csv_close(&reader);
    }
    text_free(&first);
    text_free(&file);
    text_free(&text);
}

static void read_csv(const char *path)
{
    struct csv_reader reader;
    struct csv_line line;
    struct err err = {0};
    int got = -1;

    if (csv_open(path, &reader, &err) != 0) {
        refused(&err, path);
        return;
    }
    for (int lines = 0; lines < 1000; lines++) {
        err_clear(&err);
        got = csv_next(&reader, &line, &err);
        if (got == 1)
            again(&line);
        else if (got == -1)
            refused(&err, path);
        if (got == 0 || (got == -1 && reader.fields.broken))
            break;
    }
    csv_close(&reader);
}

static void read_details(const char *path)
{
    struct details_reader reader;
    struct details_line line;
    struct err err = {0};

    if (details_open(path, &reader, &err) != 0) {
        refused(&err, path);
        return;
    }
    for (int lines = 0, got = 1; lines < 10000 && got != 0 && !reader.broken; lines++) {
        err_clear(&err);
        got = details_next(&reader, &line, &err);
        if (got == 1)
            check(line.row != NULL && line.test != NULL && line.phase != NULL, "a line without its texts", path);
        if (got == -1)
            refused(&err, path);
    }
    details_close(&reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct machine_file machine = {0};
    struct study study = {0};
    struct recipe recipe = {0};
    struct err err = {0};
    char path[128];
    int kind = size > 0 ? data[0] % 5 : 5;

    switch (kind) {
    case 0:
        read_csv(put(path, "x.csv", data + 1, size - 1));
        break;
    case 1:
        read_details(put(path, "x_details.jsonl", data + 1, size - 1));
        break;
    case 2:
        if (machine_file_load(put(path, "x_machine.json", data + 1, size - 1), &machine, &err) == 0)
            machine_file_free(&machine);
        else
            refused(&err, path);
        break;
    case 3:
        if (config_load(put(path, "study.json", data + 1, size - 1), &study, &err) == 0)
            config_free(&study);
        else
            refused(&err, path);
        break;
    case 4:
        put(path, "server.json", data + 1, size - 1);
        if (recipe_load("/tmp", folder + strlen("/tmp/"), &recipe, &err) == 0)
            recipe_free(&recipe);
        else
            refused(&err, path);
        break;
    default:
        break;
    }
    return 0;
}
