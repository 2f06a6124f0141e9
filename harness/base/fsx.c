#include "base/fsx.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"

int fsx_read(const char *path, size_t limit, char **data, size_t *len, struct err *err)
{
    struct text text = {0};
    char block[65536];
    struct stat info;
    ssize_t n;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return err_sys(err, "%s: cannot read", path);
    if (fstat(fd, &info) == 0 && S_ISDIR(info.st_mode)) {
        (void)close(fd);
        return err_set(err, "%s: is a folder; give a file", path);
    }
    while ((n = read(fd, block, sizeof block)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 || text.len + (size_t)n > limit) {
            (void)(n < 0 ? err_sys(err, "%s: cannot read", path)
                         : err_set(err, "%s: larger than %zu bytes", path, limit));
            (void)close(fd);
            text_free(&text);
            return -1;
        }
        text_add_bytes(&text, block, (size_t)n);
    }
    (void)close(fd);
    *len = text.len;
    *data = text_take(&text);
    return 0;
}

ssize_t fsx_read_small(const char *path, char *buffer, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t len = 0;
    ssize_t n = 0;

    if (fd < 0)
        return -1;
    while (len + 1 < size && ((n = read(fd, buffer + len, size - 1 - len)) > 0 || (n < 0 && errno == EINTR)))
        len += n > 0 ? (size_t)n : 0;
    (void)close(fd);
    if (n < 0)
        return -1;
    buffer[len] = '\0';
    return (ssize_t)len;
}

int fsx_write_fd(int fd, const char *name, const void *data, size_t len, struct err *err)
{
    const char *at = data;

    while (len > 0) {
        ssize_t n = write(fd, at, len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_sys(err, "%s: cannot write", name);
        at += n;
        len -= (size_t)n;
    }
    return 0;
}

static int sync_folder_of(const char *path)
{
    char *dir = fsx_dirname(path);
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int result = fd >= 0 ? fsync(fd) : -1;

    if (fd >= 0)
        (void)close(fd);
    free(dir);
    return result;
}

static int write_synced(int fd, const char *path, const void *data, size_t len, struct err *err)
{
    if (fsx_write_fd(fd, path, data, len, err) != 0) {
        (void)close(fd);
        return -1;
    }
    if (fsync(fd) != 0) {
        (void)err_sys(err, "%s: cannot write", path);
        (void)close(fd);
        return -1;
    }
    return close(fd) == 0 ? 0 : err_sys(err, "%s: cannot write", path);
}

int fsx_write_atomic(const char *path, const void *data, size_t len, mode_t mode, struct err *err)
{
    char *temporary = text_format("%s.%ld.tmp", path, (long)getpid());
    int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    int result = -1;

    if (fd < 0) {
        (void)err_sys(err, "%s: cannot create", temporary);
    } else if (write_synced(fd, temporary, data, len, err) == 0) {
        if (rename(temporary, path) == 0)
            result = 0;
        else
            (void)err_sys(err, "%s: cannot replace", path);
    }
    if (result != 0 && fd >= 0)
        (void)unlink(temporary);
    else if (result == 0)
        (void)sync_folder_of(path);
    free(temporary);
    return result;
}

int fsx_write_new(const char *path, const void *data, size_t len, mode_t mode, struct err *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);

    if (fd < 0)
        return err_sys(err, "%s: cannot create", path);
    if (write_synced(fd, path, data, len, err) != 0) {
        (void)unlink(path);
        return -1;
    }
    (void)sync_folder_of(path);
    return 0;
}

int fsx_append_line(int fd, const char *name, const char *line, struct err *err)
{
    off_t before = lseek(fd, 0, SEEK_END);
    char *whole = text_format("%s\n", line);
    size_t len = strlen(whole);
    ssize_t n;

    if (before < 0) {
        free(whole);
        return err_sys(err, "%s: cannot append", name);
    }
    do
        n = write(fd, whole, len);
    while (n < 0 && errno == EINTR);
    free(whole);
    if (n != (ssize_t)len || fsync(fd) != 0) {
        if (n >= 0 && n != (ssize_t)len)
            errno = ENOSPC;
        (void)err_sys(err, "%s: cannot append a line; what was finished is kept", name);
        (void)!ftruncate(fd, before);
        return -1;
    }
    return 0;
}

bool fsx_exists(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0;
}

bool fsx_is_dir(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

int fsx_mkdirs(const char *path, mode_t mode, struct err *err)
{
    char *copy = text_dup(path);

    for (char *slash = strchr(copy + 1, '/');; slash = strchr(slash + 1, '/')) {
        if (slash != NULL)
            *slash = '\0';
        if (mkdir(copy, mode) != 0 && !(errno == EEXIST && fsx_is_dir(copy))) {
            (void)err_sys(err, "%s: cannot make the folder", copy);
            free(copy);
            return -1;
        }
        if (slash == NULL)
            break;
        *slash = '/';
        if (slash[1] == '\0')
            break;
    }
    free(copy);
    return 0;
}

char *fsx_join(const char *dir, const char *name)
{
    size_t len = strlen(dir);

    if (name[0] == '/' || len == 0)
        return text_dup(name);
    return text_format("%s%s%s", dir, dir[len - 1] == '/' ? "" : "/", name);
}

char *fsx_dirname(const char *path)
{
    const char *slash = strrchr(path, '/');

    if (slash == NULL)
        return text_dup(".");
    return slash == path ? text_dup("/") : text_dup_n(path, (size_t)(slash - path));
}

const char *fsx_basename(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

char *fsx_find_program(const char *name, const char *path_variable)
{
    if (strchr(name, '/') != NULL)
        return access(name, X_OK) == 0 && !fsx_is_dir(name) ? text_dup(name) : NULL;
    while (path_variable != NULL && *path_variable != '\0') {
        size_t len = strcspn(path_variable, ":");
        char *dir = text_dup_n(path_variable, len);
        char *full = fsx_join(len > 0 ? dir : ".", name);

        free(dir);
        if (access(full, X_OK) == 0 && !fsx_is_dir(full))
            return full;
        free(full);
        path_variable += len + (path_variable[len] == ':');
    }
    return NULL;
}
