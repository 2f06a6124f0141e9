#include "base/home.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fsx.h"
#include "base/text.h"

static const char *variable(const char *name)
{
    const char *value = getenv(name);

    return value != NULL && value[0] != '\0' ? value : NULL;
}

static char *state_choose(const char *option, struct err *err)
{
    const char *base;

    if (option != NULL) {
        if (option[0] == '\0')
            (void)err_set(err, "--state: an empty name; give a folder");
        return option[0] == '\0' ? NULL : text_dup(option);
    }
    if ((base = variable("RESTBENCH_STATE")) != NULL)
        return text_dup(base);
    if (geteuid() == 0)
        return text_dup("/var/lib/restbench");
    /* The XDG rules: a relative value is to be ignored. */
    if ((base = variable("XDG_STATE_HOME")) != NULL && base[0] == '/')
        return fsx_join(base, "restbench");
    if ((base = variable("HOME")) != NULL)
        return fsx_join(base, ".local/state/restbench");
    (void)err_set(err, "no state folder: neither RESTBENCH_STATE nor HOME is set; use --state DIR");
    return NULL;
}

char *home_state(const char *option, struct err *err)
{
    char *chosen = state_choose(option, err);
    char *absolute;

    if (chosen == NULL)
        return NULL;
    if (fsx_mkdirs(chosen, 0755, err) != 0) {
        (void)err_prefix(err, "state folder");
        free(chosen);
        return NULL;
    }
    absolute = realpath(chosen, NULL);
    if (absolute == NULL)
        (void)err_sys(err, "state folder %s", chosen);
    free(chosen);
    return absolute;
}

char *home_file(const char *name, struct err *err)
{
    char self[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
    char *dir;
    char *places[3];
    char *found = NULL;

    if (fsx_exists(name))
        return text_dup(name);
    self[len > 0 ? len : 0] = '\0';
    dir = fsx_dirname(self);
    places[0] = fsx_join(dir, name);
    places[1] = text_format("%s/../share/restbench/%s", dir, name);
    places[2] = text_format("%s/share/restbench/%s", RESTBENCH_PREFIX, name);
    for (int i = 0; i < 3 && found == NULL; i++)
        if (fsx_exists(places[i]))
            found = text_dup(places[i]);
    if (found == NULL)
        (void)err_set(err, "%s: not found here, nor as %s, nor as %s", name, places[0], places[1]);
    for (int i = 0; i < 3; i++)
        free(places[i]);
    free(dir);
    return found;
}
