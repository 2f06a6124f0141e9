#include "study/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fsx.h"
#include "base/json.h"
#include "base/text.h"

static void set_paths(struct store *store, char *base)
{
    *store = (struct store){.base = base, .csv_fd = -1, .details_fd = -1};
    store->csv_path = text_format("%s.csv", base);
    store->details_path = text_format("%s_details.jsonl", base);
    store->machine_path = text_format("%s_machine.json", base);
}

static bool taken(const struct store *store)
{
    return fsx_exists(store->csv_path) || fsx_exists(store->details_path) || fsx_exists(store->machine_path);
}

static int open_files(struct store *store, struct err *err)
{
    store->csv_fd = open(store->csv_path, O_RDWR | O_APPEND | O_CLOEXEC);
    if (store->csv_fd < 0)
        return err_sys(err, "%s: cannot open", store->csv_path);
    store->details_fd = open(store->details_path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    if (store->details_fd < 0)
        return err_sys(err, "%s: cannot open", store->details_path);
    return 0;
}

int store_create(const char *data_dir, long long wall_ns, const char *mode, const char *name, struct store *store,
                 struct err *err)
{
    char utc[CLOCK_UTC_SIZE];
    struct text header = {0};
    int result = -1;

    clock_format_utc(wall_ns, utc);
    utc[10] = '\0';
    if (fsx_mkdirs(data_dir, 0755, err) != 0)
        return -1;
    for (int number = 1;; number++) {
        struct text base = {0};

        text_addf(&base, "%s/%s_%s", data_dir, utc, mode);
        if (name != NULL)
            text_addf(&base, "_%s", name);
        if (number > 1)
            text_addf(&base, "_%d", number);
        set_paths(store, text_take(&base));
        if (!taken(store))
            break;
        store_close(store);
    }
    csv_header(&header);
    text_add_char(&header, '\n');
    if (fsx_write_new(store->csv_path, header.data, header.len, 0644, err) == 0 && open_files(store, err) == 0)
        result = 0;
    text_free(&header);
    if (result != 0)
        store_close(store);
    return result;
}

void store_close(struct store *store)
{
    if (store->csv_path != NULL && store->csv_fd >= 0)
        (void)close(store->csv_fd);
    if (store->csv_path != NULL && store->details_fd >= 0)
        (void)close(store->details_fd);
    free(store->base);
    free(store->csv_path);
    free(store->details_path);
    free(store->machine_path);
    *store = (struct store){.csv_fd = -1, .details_fd = -1};
}

int store_add_detail(struct store *store, const json_t *details, struct err *err)
{
    char *line = json_line(details);
    int result = fsx_append_line(store->details_fd, store->details_path, line, err);

    free(line);
    return result;
}

int store_add_cell(struct store *store, const struct csv_line *line, const json_t *details, struct err *err)
{
    struct text text = {0};
    int result = csv_format_line(line, &text, err);

    if (result == 0)
        result = store_add_detail(store, details, err);
    if (result == 0)
        result = fsx_append_line(store->csv_fd, store->csv_path, text.data, err);
    text_free(&text);
    return result;
}

int store_write_machine(struct store *store, const json_t *machine, struct err *err)
{
    char *pretty = json_pretty(machine);
    struct text text = {0};
    int result;

    text_addf(&text, "%s\n", pretty);
    result = fsx_write_atomic(store->machine_path, text.data, text.len, 0644, err);
    text_free(&text);
    free(pretty);
    return result;
}

static bool is_cell(const json_t *details)
{
    return json_object_get(details, "kind") == NULL;
}

int store_each_cell(const struct store *store, void (*each)(const json_t *cell, void *context), void *context,
                    struct err *err)
{
    FILE *file = fopen(store->details_path, "re");
    char *line = NULL;
    size_t size = 0;
    ssize_t len;
    int result = 0;

    if (file == NULL)
        return errno == ENOENT ? 0 : err_sys(err, "%s: cannot read", store->details_path);
    for (int number = 1; result == 0 && (len = getline(&line, &size, file)) > 0; number++) {
        json_error_t error;
        json_t *details = json_loadb(line, (size_t)len, JSON_REJECT_DUPLICATES, &error);

        if (details == NULL) {
            json_error_clean(&error);
            result = err_set(err, "%s:%d:%d: %s; restbench verify says more", store->details_path, number, error.column,
                             error.text);
        } else if (is_cell(details))
            each(details, context);
        json_decref(details);
    }
    free(line);
    (void)fclose(file);
    return result;
}
