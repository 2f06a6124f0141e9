/*
 * tarball - writes .tar.gz files and takes tar files apart, with libarchive: no child process, and names that lead out
 * of the folder are refused.
 *
 *     writer = tarball_create(path, prefix, mtime_s, &err);     NULL: err; `path` must not exist
 *     tarball_add_bytes(...); tarball_add_file(...); tarball_add_tree(...);
 *     if (tarball_finish(writer, &err) != 0) ...          frees the writer; on failure the file is removed
 *
 * The same content gives the same bytes: one time for all members, no owners, folders in the order of their names.
 */
#ifndef BASE_TARBALL_H
#define BASE_TARBALL_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct tarball;

/* All names are put under the folder `prefix`. */
struct tarball *tarball_create(const char *path, const char *prefix, int64_t mtime_s, struct err *err);
int tarball_add_bytes(struct tarball *tarball, const char *name, const void *data, size_t len, struct err *err);
/* A regular file; its executable bit is kept. */
int tarball_add_file(struct tarball *tarball, const char *name, const char *path, struct err *err);
/* A folder with its regular files, links and folders, as "name". */
int tarball_add_tree(struct tarball *tarball, const char *name, const char *dir, struct err *err);
/* What was added so far, as sha256sum prints it from inside `prefix`; borrowed until the next call. */
const char *tarball_sums(const struct tarball *tarball);
int tarball_finish(struct tarball *tarball, struct err *err);
/* Instead of tarball_finish(): the file is removed. */
void tarball_abandon(struct tarball *tarball);

/* Takes a tar or tar.gz apart into the folder `dir`, which must exist. At most TARBALL_LIMIT bytes of content. */
#define TARBALL_LIMIT ((int64_t)4 << 30)
int tarball_extract(const char *path, const char *dir, struct err *err);

#endif
