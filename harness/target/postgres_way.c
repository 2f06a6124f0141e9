#include "target/postgres_cluster.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fsx.h"
#include "base/text.h"

#define PASSED_FD 9

static bool may_pass(const struct child_user *user, const struct stat *folder)
{
    if (folder->st_uid == user->uid)
        return (folder->st_mode & S_IXUSR) != 0;
    if (folder->st_gid == user->gid)
        return (folder->st_mode & S_IXGRP) != 0;
    for (size_t i = 0; i < user->group_count; i++)
        if (folder->st_gid == user->groups[i])
            return (folder->st_mode & S_IXGRP) != 0;
    return (folder->st_mode & S_IXOTH) != 0;
}

bool postgres_way_is_plain(const struct postgres_cluster *cluster)
{
    char *path = text_dup(cluster->dir);
    bool plain = true;
    struct stat status;

    /* Every folder above the cluster's own, which is given to its user. */
    for (char *slash = strchr(path + 1, '/'); slash != NULL && plain; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        plain = !cluster->other_user || (stat(path, &status) == 0 && may_pass(&cluster->user, &status));
        *slash = '/';
    }
    free(path);
    return plain;
}

int postgres_way_open(const struct postgres_cluster *cluster, const char *dir, struct postgres_way *way,
                      struct err *err)
{
    *way = (struct postgres_way){.fd = -1};
    if (postgres_way_is_plain(cluster)) {
        way->dir = text_dup(dir);
    } else {
        way->fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (way->fd < 0)
            return err_sys(err, "%s", dir);
        way->dir = text_format("/proc/self/fd/%d", PASSED_FD);
    }
    way->data = fsx_join(way->dir, "data");
    way->pass = (struct child_fd){.from = way->fd, .to = PASSED_FD};
    return 0;
}

void postgres_way_close(struct postgres_way *way)
{
    if (way->fd >= 0)
        (void)close(way->fd);
    free(way->dir);
    free(way->data);
    *way = (struct postgres_way){.fd = -1};
}
