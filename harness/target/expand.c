#include "target/expand.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static char *expand(const char *string, const struct env *env)
{
    struct text out = {0};
    const char *start;

    while ((start = strstr(string, "${")) != NULL && strchr(start, '}') != NULL) {
        char *name = text_dup_n(start + 2, strcspn(start + 2, "}"));
        const char *value = env_get(env, name);

        text_add_bytes(&out, string, (size_t)(start - string));
        text_add(&out, value != NULL ? value : "");
        free(name);
        string = strchr(start, '}') + 1;
    }
    text_add(&out, string);
    return text_take(&out);
}

char **expand_argv(const char *const *argv, const struct env *env)
{
    size_t count = 0;
    char **expanded;

    while (argv[count] != NULL)
        count++;
    expanded = text_alloc((count + 1) * sizeof *expanded);
    for (size_t i = 0; i < count; i++)
        expanded[i] = expand(argv[i], env);
    return expanded;
}

void expand_free(char **argv)
{
    for (char **arg = argv; *arg != NULL; arg++)
        free(*arg);
    free(argv);
}
