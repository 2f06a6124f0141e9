#include "base/tarball.h"

#include <archive.h>
#include <archive_entry.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fsx.h"
#include "base/text.h"

struct tarball {
    struct archive *archive;
    char *path;
    char *prefix;
    int64_t mtime_s;
    struct text sums;
    int fd;
};

static int write_fault(const struct tarball *tarball, struct err *err)
{
    return err_set(err, "%s: cannot write: %s", tarball->path, archive_error_string(tarball->archive));
}

static void dispose(struct tarball *tarball)
{
    (void)archive_write_free(tarball->archive);
    (void)close(tarball->fd);
    text_free(&tarball->sums);
    free(tarball->path);
    free(tarball->prefix);
    free(tarball);
}

struct tarball *tarball_create(const char *path, const char *prefix, int64_t mtime_s, struct err *err)
{
    struct tarball *tarball;
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

    if (fd < 0) {
        (void)err_sys(err, "%s: cannot create", path);
        return NULL;
    }
    tarball = text_alloc(sizeof *tarball);
    *tarball = (struct tarball){.archive = archive_write_new(),
                                .path = text_dup(path),
                                .prefix = text_dup(prefix),
                                .mtime_s = mtime_s,
                                .fd = fd};
    /* BINARY: names are bytes, whatever the locale. */
    if (archive_write_set_format_pax_restricted(tarball->archive) != ARCHIVE_OK ||
        archive_write_add_filter_gzip(tarball->archive) != ARCHIVE_OK ||
        archive_write_set_options(tarball->archive, "hdrcharset=BINARY,gzip:!timestamp") != ARCHIVE_OK ||
        archive_write_open_fd(tarball->archive, fd) != ARCHIVE_OK) {
        (void)write_fault(tarball, err);
        tarball_abandon(tarball);
        return NULL;
    }
    return tarball;
}

static int add_entry(struct tarball *tarball, const char *name, unsigned type, mode_t mode, const char *link,
                     const void *data, size_t len, struct err *err)
{
    struct archive_entry *entry = archive_entry_new();
    char *full = text_format("%s/%s", tarball->prefix, name);
    int result = 0;

    archive_entry_set_pathname(entry, full);
    archive_entry_set_filetype(entry, type);
    archive_entry_set_perm(entry, mode);
    archive_entry_set_mtime(entry, (time_t)tarball->mtime_s, 0);
    archive_entry_set_size(entry, (int64_t)len);
    if (link != NULL)
        archive_entry_set_symlink(entry, link);
    if (archive_write_header(tarball->archive, entry) != ARCHIVE_OK ||
        (len > 0 && archive_write_data(tarball->archive, data, len) != (la_ssize_t)len))
        result = write_fault(tarball, err);
    archive_entry_free(entry);
    free(full);
    return result;
}

static int add_regular(struct tarball *tarball, const char *name, mode_t mode, const void *data, size_t len,
                       struct err *err)
{
    char hex[FSX_SHA256_SIZE];

    fsx_sha256(data, len, hex);
    text_addf(&tarball->sums, "%s  %s\n", hex, name);
    return add_entry(tarball, name, AE_IFREG, mode, NULL, data, len, err);
}

int tarball_add_bytes(struct tarball *tarball, const char *name, const void *data, size_t len, struct err *err)
{
    return add_regular(tarball, name, 0644, data, len, err);
}

int tarball_add_file(struct tarball *tarball, const char *name, const char *path, struct err *err)
{
    struct stat status;
    char *data;
    size_t len;
    int result;

    if (fsx_read(path, (size_t)TARBALL_LIMIT, &data, &len, err) != 0)
        return -1;
    result = stat(path, &status) != 0
                 ? err_sys(err, "%s", path)
                 : add_regular(tarball, name, status.st_mode & S_IXUSR ? 0755 : 0644, data, len, err);
    free(data);
    return result;
}

static int add_link(struct tarball *tarball, const char *name, const char *path, struct err *err)
{
    char target[4096];
    ssize_t len = readlink(path, target, sizeof target - 1);

    if (len < 0)
        return err_sys(err, "%s: cannot read the link", path);
    target[len] = '\0';
    return add_entry(tarball, name, AE_IFLNK, 0777, target, NULL, 0, err);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

int tarball_add_tree(struct tarball *tarball, const char *name, const char *dir, struct err *err)
{
    struct dirent **entries;
    int count = scandir(dir, &entries, NULL, by_name);
    int result = count < 0 ? err_sys(err, "%s: cannot read the folder", dir)
                           : add_entry(tarball, name, AE_IFDIR, 0755, NULL, NULL, 0, err);

    for (int i = 0; i < count; i++) {
        char *path = fsx_join(dir, entries[i]->d_name);
        char *member = text_format("%s/%s", name, entries[i]->d_name);
        struct stat status;

        if (result != 0 || strcmp(entries[i]->d_name, ".") == 0 || strcmp(entries[i]->d_name, "..") == 0)
            ;
        else if (lstat(path, &status) != 0)
            result = err_sys(err, "%s", path);
        else if (S_ISDIR(status.st_mode))
            result = tarball_add_tree(tarball, member, path, err);
        else if (S_ISLNK(status.st_mode))
            result = add_link(tarball, member, path, err);
        else if (S_ISREG(status.st_mode))
            result = tarball_add_file(tarball, member, path, err);
        free(path);
        free(member);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    return result;
}

const char *tarball_sums(const struct tarball *tarball)
{
    return text_string(&tarball->sums);
}

int tarball_finish(struct tarball *tarball, struct err *err)
{
    int result = 0;

    if (archive_write_close(tarball->archive) != ARCHIVE_OK)
        result = write_fault(tarball, err);
    else if (fsync(tarball->fd) != 0)
        result = err_sys(err, "%s: cannot write", tarball->path);
    if (result != 0)
        (void)unlink(tarball->path);
    dispose(tarball);
    return result;
}

void tarball_abandon(struct tarball *tarball)
{
    (void)unlink(tarball->path);
    dispose(tarball);
}

/* A relative name that stays inside: no "..", not absolute. */
static bool stays_inside(const char *name)
{
    if (name == NULL || *name == '/' || *name == '\0')
        return false;
    for (const char *part = name; part != NULL; part = strchr(part, '/')) {
        part += *part == '/';
        if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || part[2] == '\0'))
            return false;
    }
    return true;
}

static int extract_one(struct archive *in, struct archive *out, struct archive_entry *entry, const char *dir,
                       int64_t *left, struct err *err)
{
    const char *name = archive_entry_pathname(entry);
    unsigned type = archive_entry_filetype(entry);
    char *path;
    char buffer[65536];
    la_ssize_t got = 0;
    int result = 0;

    if (!stays_inside(name) || archive_entry_hardlink(entry) != NULL ||
        (type != AE_IFREG && type != AE_IFDIR && type != AE_IFLNK) ||
        (type == AE_IFLNK && !stays_inside(archive_entry_symlink(entry))))
        return err_set(err, "\"%s\" leads out of the archive or is no file", name != NULL ? name : "?");
    path = fsx_join(dir, name);
    archive_entry_set_pathname(entry, path);
    free(path);
    if (archive_write_header(out, entry) != ARCHIVE_OK)
        return err_set(err, "%s", archive_error_string(out));
    while (type == AE_IFREG && (got = archive_read_data(in, buffer, sizeof buffer)) > 0 && result == 0) {
        *left -= got;
        if (*left < 0)
            result = err_set(err, "holds more than %lld GiB", (long long)(TARBALL_LIMIT >> 30));
        else if (archive_write_data(out, buffer, (size_t)got) != got)
            result = err_set(err, "%s", archive_error_string(out));
    }
    if (result == 0 && got < 0)
        result = err_set(err, "%s", archive_error_string(in));
    if (result == 0 && archive_write_finish_entry(out) != ARCHIVE_OK)
        result = err_set(err, "%s", archive_error_string(out));
    return result;
}

int tarball_extract(const char *path, const char *dir, struct err *err)
{
    struct archive *in = archive_read_new(), *out = archive_write_disk_new();
    char *real_dir = realpath(dir, NULL);
    struct archive_entry *entry;
    int64_t left = TARBALL_LIMIT;
    int got = ARCHIVE_EOF, result = 0;

    (void)archive_read_support_filter_gzip(in);
    (void)archive_read_support_format_tar(in);
    (void)archive_read_set_options(in, "hdrcharset=BINARY");
    (void)archive_write_disk_set_options(out, ARCHIVE_EXTRACT_PERM | ARCHIVE_EXTRACT_SECURE_SYMLINKS |
                                                  ARCHIVE_EXTRACT_SECURE_NODOTDOT);
    if (real_dir == NULL)
        result = err_sys(err, "%s: cannot use the folder", dir);
    else if (archive_read_open_filename(in, path, 65536) != ARCHIVE_OK)
        result = err_set(err, "%s: cannot read: %s", path, archive_error_string(in));
    while (result == 0 && (got = archive_read_next_header(in, &entry)) == ARCHIVE_OK)
        if (extract_one(in, out, entry, real_dir, &left, err) != 0)
            result = err_prefix(err, "%s", path);
    if (result == 0 && got != ARCHIVE_EOF)
        result = err_set(err, "%s: cannot read: %s", path, archive_error_string(in));
    (void)archive_read_free(in);
    (void)archive_write_free(out);
    free(real_dir);
    return result;
}
