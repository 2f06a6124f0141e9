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

/* The cells that a file holds, in its order. */
struct cells {
    char **utc; /* the end of each cell: what its two lines have in common */
    off_t *at;  /* where its line begins */
    size_t count;
};

static void cells_free(struct cells *cells)
{
    for (size_t i = 0; i < cells->count; i++)
        free(cells->utc[i]);
    free(cells->utc);
    free(cells->at);
    *cells = (struct cells){0};
}

static void cells_add(struct cells *cells, char *utc, off_t at)
{
    cells->utc = text_realloc(cells->utc, cells->count + 1, sizeof *cells->utc);
    cells->at = text_realloc(cells->at, cells->count + 1, sizeof *cells->at);
    cells->utc[cells->count] = utc;
    cells->at[cells->count++] = at;
}

static int copy_tail(int from, off_t keep, int to, const char *aside, struct err *err)
{
    char buffer[65536];
    ssize_t n;

    while ((n = pread(from, buffer, sizeof buffer, keep)) > 0) {
        if (fsx_write_fd(to, aside, buffer, (size_t)n, err) != 0)
            return -1;
        keep += n;
    }
    return n == 0 && fsync(to) == 0 ? 0 : err_sys(err, "%s: cannot write", aside);
}

/* Moves the bytes of `path` from `keep` on into BASE_aside_N.txt, which is on disk before they are cut off. */
static int set_aside(const struct store *store, const char *path, off_t keep, const char *what, json_t *notes,
                     struct err *err)
{
    int from = open(path, O_RDWR | O_CLOEXEC);
    char *aside = NULL;
    int to = -1;
    int result = -1;

    for (int number = 1; from >= 0; number++) {
        aside = text_format("%s_aside_%d.txt", store->base, number);
        to = open(aside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        if (to >= 0 || errno != EEXIST)
            break;
        free(aside);
    }
    if (to < 0)
        (void)err_sys(err, "%s: cannot set %s aside", path, what);
    else if (copy_tail(from, keep, to, aside, err) == 0)
        result = ftruncate(from, keep) == 0 && fsync(from) == 0 ? 0 : err_sys(err, "%s: cannot cut off %s", path, what);
    if (result == 0) {
        char *note = text_format("%s: %s set aside into %s", fsx_basename(path), what, fsx_basename(aside));

        (void)json_array_append_new(notes, json_string(note));
        free(note);
    }
    if (to >= 0)
        (void)close(to);
    if (from >= 0)
        (void)close(from);
    free(aside);
    return result;
}

/* Lists the cells of `path` and sets a half-written last line aside. `get_utc` tells a cell's, the caller's. */
static int tidy(const struct store *store, const char *path, char *(*get_utc)(const char *line, size_t len),
                struct cells *cells, json_t *notes, struct err *err)
{
    FILE *file = fopen(path, "re");
    char *line = NULL;
    size_t size = 0;
    ssize_t len;
    off_t at = 0;
    bool half = false;

    if (file == NULL)
        return errno == ENOENT ? 0 : err_sys(err, "%s: cannot read", path);
    while ((len = getline(&line, &size, file)) > 0) {
        char *utc;

        half = line[len - 1] != '\n';
        if (half)
            break;
        utc = get_utc(line, (size_t)len - 1);
        if (utc != NULL)
            cells_add(cells, utc, at);
        at += len;
    }
    free(line);
    (void)fclose(file);
    return half ? set_aside(store, path, at, "a half-written last line", notes, err) : 0;
}

static char *csv_utc(const char *line, size_t len)
{
    size_t utc_len = strcspn(line, ",");

    return len == 0 || strncmp(line, "utc,", 4) == 0 ? NULL : text_dup_n(line, utc_len < len ? utc_len : len);
}

static char *details_utc(const char *line, size_t len)
{
    json_t *details = json_loadb(line, len, 0, NULL);
    const char *utc = json_get_string(details, "utc");
    char *copy = NULL;

    if (details != NULL && json_object_get(details, "kind") == NULL)
        copy = text_dup(utc != NULL ? utc : "");
    json_decref(details);
    return copy;
}

/*
 * Details come before the CSV line, so a kill may leave one cell with details alone. A copy that was made while a run
 * went on may have it the other way round. Such a cell is not finished; more than one was never a kill.
 */
static int pair(struct store *store, const struct cells *lines, const struct cells *details, json_t *notes,
                struct err *err)
{
    size_t both = lines->count < details->count ? lines->count : details->count;

    for (size_t i = 0; i < both; i++)
        if (strcmp(lines->utc[i], details->utc[i]) != 0)
            return err_set(err,
                           "%s: cell %zu ended at %s, in %s at %s: the files do not belong together; restbench verify "
                           "says more",
                           store->csv_path, i + 1, lines->utc[i], store->details_path, details->utc[i]);
    if (details->count == both + 1)
        return set_aside(store, store->details_path, details->at[both], "details of a cell without its CSV line", notes,
                         err);
    if (lines->count == both + 1)
        return set_aside(store, store->csv_path, lines->at[both], "a CSV line without its details", notes, err);
    if (lines->count != details->count)
        return err_set(err,
                       "%s holds %zu cells but %s %zu: the files do not belong together; restbench verify says more",
                       store->csv_path, lines->count, store->details_path, details->count);
    return 0;
}

int store_put_in_order(struct store *store, json_t *notes, struct err *err)
{
    struct cells lines = {0};
    struct cells details = {0};
    int result = tidy(store, store->csv_path, csv_utc, &lines, notes, err);

    if (result == 0)
        result = tidy(store, store->details_path, details_utc, &details, notes, err);
    if (result == 0)
        result = pair(store, &lines, &details, notes, err);
    cells_free(&lines);
    cells_free(&details);
    return result;
}

char *store_unfinished(const char *data_dir, json_t **machine)
{
    json_t *plain = NULL;
    json_t *jwt = NULL;
    char *base = find_unfinished(data_dir, "no-auth", NULL, 0, &plain);
    char *other = find_unfinished(data_dir, "jwt", NULL, 0, &jwt);
    const char *started = json_get_string(json_object_get(plain, "run"), "started_utc");
    const char *other_started = json_get_string(json_object_get(jwt, "run"), "started_utc");
    bool use_other = other != NULL && (base == NULL || strcmp(other_started, started) > 0);

    *machine = use_other ? jwt : plain;
    json_decref(use_other ? plain : jwt);
    free(use_other ? base : other);
    return use_other ? other : base;
}

int store_resume(const char *data_dir, const char *mode, const char *name, int64_t rounds, struct store *store,
                 json_t **machine, struct err *err)
{
    char *base = find_unfinished(data_dir, mode, name, rounds, machine);

    if (base == NULL)
        return 0;
    *store = (struct store){.base = base, .csv_fd = -1, .details_fd = -1};
    store->csv_path = text_format("%s.csv", base);
    store->details_path = text_format("%s_details.jsonl", base);
    store->machine_path = text_format("%s%s", base, suffix);
    store->csv_fd = open(store->csv_path, O_RDWR | O_APPEND | O_CLOEXEC);
    store->details_fd = open(store->details_path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    if (store->csv_fd >= 0 && store->details_fd >= 0)
        return 1;
    (void)err_sys(err, "%s: cannot open", store->csv_path);
    store_close(store);
    json_decref(*machine);
    *machine = NULL;
    return -1;
}
