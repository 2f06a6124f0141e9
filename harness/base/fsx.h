/*
 * fsx - files and folders: whole reads with a limit, writes that are complete or absent, appends that are on disk.
 *
 * All descriptors are close-on-exec. Every error names the file.
 */
#ifndef BASE_FSX_H
#define BASE_FSX_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

/* Reads a whole file of at most `limit` bytes; `*data` is NUL-terminated and the caller's. */
int fsx_read(const char *path, size_t limit, char **data, size_t *len, struct err *err);
/* For /proc and /sys: reads what is there into `buffer` (NUL-terminated); returns the length, -1 when unreadable. */
ssize_t fsx_read_small(const char *path, char *buffer, size_t size);
/* Replaces `path` in one step: temporary file beside it, fsync, rename, fsync of the folder. */
int fsx_write_atomic(const char *path, const void *data, size_t len, mode_t mode, struct err *err);
/* Creates `path`, which must not exist, with the content, fsynced. */
int fsx_write_new(const char *path, const void *data, size_t len, mode_t mode, struct err *err);
/* Writes all bytes to a descriptor; partial writes and EINTR are continued. */
int fsx_write_fd(int fd, const char *name, const void *data, size_t len, struct err *err);
/* Appends one line in one write and fsyncs. On a short write (disk full) the file is cut back to its old length. */
int fsx_append_line(int fd, const char *name, const char *line, struct err *err);
int fsx_mkdirs(const char *path, mode_t mode, struct err *err);
/* Removes a folder and everything in it; links are not followed. Missing is no error. */
int fsx_remove_tree(const char *path, struct err *err);
/* Copies a folder's regular files, folders and links (not followed) into `to`, which is made. */
int fsx_copy_tree(const char *from, const char *to, struct err *err);
bool fsx_exists(const char *path);
bool fsx_is_dir(const char *path);
/* "dir/name", the caller's. An absolute `name` is returned as it is. */
char *fsx_join(const char *dir, const char *name);
/* The folder part of a path ("." when there is none), the caller's. */
char *fsx_dirname(const char *path);
const char *fsx_basename(const char *path);
/* The absolute path of an executable named as execvp would find it in `path_variable`, the caller's; NULL: none. */
char *fsx_find_program(const char *name, const char *path_variable);
/* SHA-256 as 64 hexadecimal digits + NUL. */
#define FSX_SHA256_SIZE 65
void fsx_sha256(const void *data, size_t len, char *hex);
int fsx_sha256_file(const char *path, char *hex, struct err *err);
/* Hash of a folder: relative names, modes (executable bit), contents, link targets; sorted, so order-independent. */
int fsx_sha256_tree(const char *path, char *hex, struct err *err);

#endif
