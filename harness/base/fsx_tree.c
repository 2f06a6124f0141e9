#include "base/fsx.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"

int fsx_remove_tree(const char *path, struct err *err)
{
    struct stat info;
    int result = 0;

    if (lstat(path, &info) != 0)
        return errno == ENOENT ? 0 : err_sys(err, "%s: cannot remove", path);
    if (S_ISDIR(info.st_mode)) {
        DIR *dir = opendir(path);
        struct dirent *entry;

        if (dir == NULL)
            return err_sys(err, "%s: cannot remove", path);
        while (result == 0 && (entry = readdir(dir)) != NULL) {
            char *child;

            if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
                continue;
            child = fsx_join(path, entry->d_name);
            result = fsx_remove_tree(child, err);
            free(child);
        }
        (void)closedir(dir);
        if (result == 0 && rmdir(path) != 0)
            result = err_sys(err, "%s: cannot remove", path);
    } else if (unlink(path) != 0 && errno != ENOENT) {
        result = err_sys(err, "%s: cannot remove", path);
    }
    return result;
}

static int copy_file(const char *from, const char *to, mode_t mode, struct err *err)
{
    char *data;
    size_t len;
    int result;

    if (fsx_read(from, (size_t)1 << 30, &data, &len, err) != 0)
        return -1;
    result = fsx_write_new(to, data, len, mode & 0777, err);
    free(data);
    return result;
}

static int copy_link(const char *from, const char *to, struct err *err)
{
    char target[4096];
    ssize_t len = readlink(from, target, sizeof target - 1);

    if (len < 0)
        return err_sys(err, "%s: cannot read", from);
    target[len] = '\0';
    return symlink(target, to) == 0 ? 0 : err_sys(err, "%s: cannot create", to);
}

int fsx_copy_tree(const char *from, const char *to, struct err *err)
{
    DIR *dir = opendir(from);
    struct dirent *entry;
    int result = 0;

    if (dir == NULL)
        return err_sys(err, "%s: cannot read", from);
    if (fsx_mkdirs(to, 0755, err) != 0)
        result = -1;
    while (result == 0 && (entry = readdir(dir)) != NULL) {
        struct stat info;
        char *source;
        char *target;

        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        source = fsx_join(from, entry->d_name);
        target = fsx_join(to, entry->d_name);
        if (lstat(source, &info) != 0)
            result = err_sys(err, "%s: cannot read", source);
        else if (S_ISDIR(info.st_mode))
            result = fsx_copy_tree(source, target, err);
        else if (S_ISLNK(info.st_mode))
            result = copy_link(source, target, err);
        else if (S_ISREG(info.st_mode))
            result = copy_file(source, target, info.st_mode, err);
        free(source);
        free(target);
    }
    (void)closedir(dir);
    return result;
}

static void to_hex(const unsigned char *digest, char *hex)
{
    static const char digits[] = "0123456789abcdef";

    for (int i = 0; i < 32; i++) {
        hex[2 * i] = digits[digest[i] >> 4];
        hex[2 * i + 1] = digits[digest[i] & 15];
    }
    hex[64] = '\0';
}

void fsx_sha256(const void *data, size_t len, char *hex)
{
    unsigned char digest[EVP_MAX_MD_SIZE];

    (void)EVP_Digest(data, len, digest, NULL, EVP_sha256(), NULL);
    to_hex(digest, hex);
}

int fsx_sha256_file(const char *path, char *hex, struct err *err)
{
    char *data;
    size_t len;

    if (fsx_read(path, (size_t)1 << 31, &data, &len, err) != 0)
        return -1;
    fsx_sha256(data, len, hex);
    free(data);
    return 0;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* One line an entry: type, executable or not, name below the root, hash of content or link target. */
static int describe_tree(const char *path, const char *below, struct text *lines, struct err *err)
{
    struct dirent **entries = NULL;
    int count = scandir(path, &entries, NULL, by_name);
    int result = 0;

    if (count < 0)
        return err_sys(err, "%s: cannot read", path);
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        char *full = fsx_join(path, name);
        char *relative = fsx_join(below, name);
        char hex[FSX_SHA256_SIZE];
        char target[4096];
        struct stat info;
        ssize_t len;

        if (result == 0 && strcmp(name, ".") != 0 && strcmp(name, "..") != 0) {
            if (lstat(full, &info) != 0) {
                result = err_sys(err, "%s: cannot read", full);
            } else if (S_ISDIR(info.st_mode)) {
                text_addf(lines, "d %s\n", relative);
                result = describe_tree(full, relative, lines, err);
            } else if (S_ISLNK(info.st_mode) && (len = readlink(full, target, sizeof target)) >= 0) {
                fsx_sha256(target, (size_t)len, hex);
                text_addf(lines, "l %s %s\n", relative, hex);
            } else if (S_ISREG(info.st_mode)) {
                result = fsx_sha256_file(full, hex, err);
                if (result == 0)
                    text_addf(lines, "%c %s %s\n", info.st_mode & S_IXUSR ? 'x' : 'f', relative, hex);
            }
        }
        free(full);
        free(relative);
        free(entries[i]);
    }
    free(entries);
    return result;
}

int fsx_sha256_tree(const char *path, char *hex, struct err *err)
{
    struct text lines = {0};
    int result = describe_tree(path, "", &lines, err);

    if (result == 0)
        fsx_sha256(text_string(&lines), lines.len, hex);
    text_free(&lines);
    return result;
}
