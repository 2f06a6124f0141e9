/* The part of store that finds an unfinished run and puts its files in order. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fsx.h"
#include "base/json.h"
#include "base/text.h"
#include "study/store.h"

static const char suffix[] = "_machine.json";

/* The run's date: a BASE begins with it. */
enum { DATE_LEN = 10 };

static bool base_fits(const char *base, const char *mode, const char *name)
{
    size_t len = strlen(base);
    char *whole = name != NULL ? text_format("_%s_%s", mode, name) : text_format("_%s", mode);
    bool fits = len > DATE_LEN && strncmp(base + DATE_LEN, whole, strlen(whole)) == 0;
    const char *rest = fits ? base + DATE_LEN + strlen(whole) : "";

    free(whole);
    /* With a name only a number may follow; without one any name will do. */
    return fits &&
           (*rest == '\0' || (*rest == '_' && (name == NULL || rest[1 + strspn(rest + 1, "0123456789")] == '\0')));
}

/* Looks at one machine.json; true when it is an unfinished run that fits and started later than `best`. */
static bool is_better(const char *data_dir, const char *file, const char *mode, const char *name, int64_t rounds,
                      const char *best, json_t **machine)
{
    size_t len = strlen(file);
    char *base;
    char *path;
    const char *started;
    json_t *run;
    bool better = false;
    bool open;

    if (len <= sizeof suffix - 1 || strcmp(file + len - (sizeof suffix - 1), suffix) != 0)
        return false;
    base = text_dup_n(file, len - (sizeof suffix - 1));
    path = fsx_join(data_dir, file);
    *machine = base_fits(base, mode, name) ? json_load_file(path, JSON_REJECT_DUPLICATES, NULL) : NULL;
    run = json_object_get(*machine, "run");
    started = json_get_string(run, "started_utc");
    open = json_is_false(json_object_get(run, "complete")) ||
           (name != NULL && run != NULL && json_get_number(*machine, "rounds") < (double)rounds);
    if (open && started != NULL)
        better = best == NULL || strcmp(started, best) > 0;
    if (!better) {
        json_decref(*machine);
        *machine = NULL;
    }
    free(base);
    free(path);
    return better;
}

static char *find_unfinished(const char *data_dir, const char *mode, const char *name, int64_t rounds, json_t **machine)
{
    struct dirent **entries = NULL;
    int count = scandir(data_dir, &entries, NULL, alphasort);
    char *base = NULL;
    json_t *best = NULL;

    for (int i = 0; i < count; i++) {
        json_t *candidate = NULL;
        const char *started = json_get_string(json_object_get(best, "run"), "started_utc");

        if (is_better(data_dir, entries[i]->d_name, mode, name, rounds, started, &candidate)) {
            json_decref(best);
            best = candidate;
            free(base);
            base = text_format("%s/%.*s", data_dir, (int)(strlen(entries[i]->d_name) - (sizeof suffix - 1)),
                               entries[i]->d_name);
        }
        free(entries[i]);
    }
    free(entries);
    *machine = best;
    return base;
}

/* Moves the bytes of `path` from `keep` on into BASE_aside_N.txt. */
static int set_aside(const struct store *store, const char *path, const char *data, size_t len, size_t keep,
                     const char *what, json_t *notes, struct err *err)
{
    char *aside = NULL;
    int result = 0;

    for (int number = 1;; number++) {
        aside = text_format("%s_aside_%d.txt", store->base, number);
        if (!fsx_exists(aside))
            break;
        free(aside);
    }
    result = fsx_write_new(aside, data + keep, len - keep, 0644, err);
    if (result == 0 && truncate(path, (off_t)keep) != 0)
        result = err_sys(err, "%s: cannot cut the half-written end off", path);
    if (result == 0) {
        char *note = text_format("%s: %s set aside into %s", fsx_basename(path), what, fsx_basename(aside));

        (void)json_array_append_new(notes, json_string(note));
        free(note);
    }
    free(aside);
    return result;
}

/* Cuts a half-written last line off `path`; counts what `counts` accepts; *last is the offset of the last such line. */
static int tidy(const struct store *store, const char *path, bool (*counts)(const char *line, size_t len),
                size_t *count, size_t *last, json_t *notes, struct err *err)
{
    char *data;
    size_t len;
    size_t at = 0;
    int result = 0;

    *count = 0;
    *last = 0;
    if (!fsx_exists(path))
        return 0;
    if (fsx_read(path, (size_t)4 << 30, &data, &len, err) != 0)
        return -1;
    while (at < len) {
        const char *newline = memchr(data + at, '\n', len - at);
        size_t line_len = newline != NULL ? (size_t)(newline - (data + at)) : len - at;

        if (newline == NULL) {
            result = set_aside(store, path, data, len, at, "a half-written last line", notes, err);
            break;
        }
        if (counts(data + at, line_len)) {
            (*count)++;
            *last = at;
        }
        at += line_len + 1;
    }
    free(data);
    return result;
}

static bool is_csv_cell(const char *line, size_t len)
{
    static const char header[] = "utc,";

    return len > 0 && !(len >= sizeof header - 1 && memcmp(line, header, sizeof header - 1) == 0);
}

static bool is_detail_cell(const char *line, size_t len)
{
    json_t *details = json_loadb(line, len, 0, NULL);
    bool cell = details != NULL && json_object_get(details, "kind") == NULL;

    json_decref(details);
    return cell;
}

static int put_in_order(struct store *store, json_t *notes, struct err *err)
{
    size_t lines;
    size_t cells;
    size_t last;

    if (tidy(store, store->csv_path, is_csv_cell, &lines, &last, notes, err) != 0 ||
        tidy(store, store->details_path, is_detail_cell, &cells, &last, notes, err) != 0)
        return -1;
    if (cells == lines + 1) {
        char *data;
        size_t len;
        int result;

        if (fsx_read(store->details_path, (size_t)4 << 30, &data, &len, err) != 0)
            return -1;
        result = set_aside(store, store->details_path, data, len, last, "details of a cell without its CSV line", notes,
                           err);
        free(data);
        return result;
    }
    if (cells != lines)
        return err_set(err,
                       "%s holds %zu cells but %s %zu: the files do not belong together; restbench verify says more",
                       store->csv_path, lines, store->details_path, cells);
    return 0;
}

int store_resume(const char *data_dir, const char *mode, const char *name, int64_t rounds, struct store *store,
                 json_t **machine, json_t **notes, struct err *err)
{
    char *base = find_unfinished(data_dir, mode, name, rounds, machine);

    *notes = NULL;
    if (base == NULL)
        return 0;
    *store = (struct store){.base = base, .csv_fd = -1, .details_fd = -1};
    store->csv_path = text_format("%s.csv", base);
    store->details_path = text_format("%s_details.jsonl", base);
    store->machine_path = text_format("%s%s", base, suffix);
    *notes = json_array();
    if (put_in_order(store, *notes, err) == 0) {
        store->csv_fd = open(store->csv_path, O_RDWR | O_APPEND | O_CLOEXEC);
        store->details_fd = open(store->details_path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
        if (store->csv_fd >= 0 && store->details_fd >= 0)
            return 1;
        (void)err_sys(err, "%s: cannot open", store->csv_path);
    }
    store_close(store);
    json_decref(*machine);
    json_decref(*notes);
    *machine = NULL;
    *notes = NULL;
    return -1;
}
