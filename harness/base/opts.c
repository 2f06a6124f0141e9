#include "base/opts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"

static const struct opt *find_long(const struct command *command, const char *name, size_t len)
{
    for (const struct opt *opt = command->opts; opt != NULL && opt->help != NULL; opt++)
        if (opt->long_name != NULL && strlen(opt->long_name) == len && memcmp(opt->long_name, name, len) == 0)
            return opt;
    return NULL;
}

static const struct opt *find_short(const struct command *command, char name)
{
    for (const struct opt *opt = command->opts; opt != NULL && opt->help != NULL; opt++)
        if (opt->short_name == name)
            return opt;
    return NULL;
}

static int store(const struct opt *opt, const char *shown, const char *value, void *args, struct err *err)
{
    void *field = (char *)args + opt->offset;
    struct opt_list *list;
    uint64_t count;

    switch (opt->kind) {
    case OPT_FLAG:
        *(bool *)field = true;
        return 0;
    case OPT_STRING:
        *(const char **)field = value;
        return 0;
    case OPT_LIST:
        list = field;
        list->items = text_realloc(list->items, list->count + 1, sizeof *list->items);
        list->items[list->count++] = value;
        return 0;
    case OPT_COUNT:
        if (text_parse_u64(value, &count) != 0 || count > INT64_MAX)
            return err_set(err, "%s %s: give a whole number", shown, value);
        *(int64_t *)field = (int64_t)count;
        return 0;
    case OPT_NUMBER:
        if (text_parse_double(value, field) != 0)
            return err_set(err, "%s %s: give a plain decimal number", shown, value);
        return 0;
    case OPT_PCT:
        if (text_parse_pct(value, field) != 0 || *(double *)field < 0)
            return err_set(err, "%s %s: give a percentage such as 5%%", shown, value);
        return 0;
    case OPT_SECONDS: {
        double seconds;

        if (text_parse_double(value, &seconds) == 0 && seconds >= 0 && seconds < 1e9) {
            *(int64_t *)field = (int64_t)(seconds * (double)CLOCK_NS_PER_S);
            return 0;
        }
        if (text_parse_duration(value, field) != 0)
            return err_set(err, "%s %s: give seconds or a duration such as 15s or 500ms", shown, value);
        return 0;
    }
    case OPT_DURATION:
        if (text_parse_duration(value, field) != 0)
            return err_set(err, "%s %s: give a duration such as 15s, 500ms or 1m30s", shown, value);
        return 0;
    }
    return err_set(err, "%s: unknown kind of option", shown);
}

static int unknown(const struct command *command, const char *given, size_t len, struct err *err)
{
    char *name = text_dup_n(given, len);
    const char *nearest = NULL;
    size_t best = 4;

    for (const struct opt *opt = command->opts; opt != NULL && opt->help != NULL; opt++) {
        if (opt->long_name != NULL && text_distance(opt->long_name, name) < best) {
            best = text_distance(opt->long_name, name);
            nearest = opt->long_name;
        }
    }
    if (nearest != NULL)
        (void)err_set(err, "%s: unknown option --%s; did you mean --%s?", command->name, name, nearest);
    else
        (void)err_set(err, "%s: unknown option --%s; see restbench %s --help", command->name, name, command->name);
    free(name);
    return -1;
}

/* Handles argv[*i], which begins with '-'; may take argv[*i + 1] as its value. */
static int parse_one(const struct command *command, void *args, int argc, char **argv, int *i, struct err *err)
{
    const char *arg = argv[*i];
    const struct opt *opt;
    const char *value = NULL;
    char shown[80];

    if (arg[1] == '-') {
        size_t len = strcspn(arg + 2, "=");

        opt = find_long(command, arg + 2, len);
        if (opt == NULL)
            return unknown(command, arg + 2, len, err);
        (void)snprintf(shown, sizeof shown, "--%s", opt->long_name);
        if (arg[2 + len] == '=')
            value = arg + 2 + len + 1;
        if (opt->kind == OPT_FLAG && value != NULL)
            return err_set(err, "%s takes no value", shown);
    } else {
        for (const char *c = arg + 1;; c++) {
            opt = find_short(command, *c);
            if (opt == NULL)
                return err_set(err, "%s: unknown option -%c; see restbench %s --help", command->name, *c,
                               command->name);
            (void)snprintf(shown, sizeof shown, "-%c", *c);
            if (opt->kind == OPT_FLAG && c[1] != '\0') {
                (void)store(opt, shown, NULL, args, err);
                continue;
            }
            if (opt->kind != OPT_FLAG && c[1] != '\0')
                value = c + 1 + (c[1] == '=');
            break;
        }
    }
    if (opt->kind != OPT_FLAG && value == NULL) {
        if (*i + 1 >= argc)
            return err_set(err, "%s needs a value: %s", shown, opt->argument);
        value = argv[++*i];
    }
    return store(opt, shown, value, args, err);
}

enum opts_result opts_parse(const struct command *command, void *args, int argc, char **argv, int *operands,
                            struct err *err)
{
    bool only_operands = false;
    int count = 0;

    for (int i = 1; i < argc; i++) {
        if (!only_operands && strcmp(argv[i], "--") == 0) {
            only_operands = true;
        } else if (!only_operands && strcmp(argv[i], "--help") == 0) {
            opts_print_help(command);
            return OPTS_HELP;
        } else if (!only_operands && argv[i][0] == '-' && argv[i][1] != '\0') {
            if (parse_one(command, args, argc, argv, &i, err) != 0)
                return OPTS_BAD;
        } else {
            argv[++count] = argv[i];
        }
    }
    *operands = count;
    return OPTS_OK;
}

static void print_option(const struct opt *opt)
{
    struct text left = {0};
    const char *help = opt->help;

    text_addf(&left, opt->short_name != 0 ? "  -%c" : "    ", opt->short_name);
    if (opt->long_name != NULL)
        text_addf(&left, "%s--%s", opt->short_name != 0 ? ", " : "  ", opt->long_name);
    if (opt->argument != NULL)
        text_addf(&left, " %s", opt->argument);
    printf("%-28s", left.data);
    if (left.len > 26)
        printf("\n%28s", "");
    for (;;) {
        size_t len = strcspn(help, "\n");

        printf("%.*s\n", (int)len, help);
        if (help[len] == '\0')
            break;
        help += len + 1;
        printf("%28s", "");
    }
    text_free(&left);
}

void opts_print_help(const struct command *command)
{
    printf("usage: restbench %s %s\n\n%s.\n", command->name, command->usage, command->summary);
    if (command->description != NULL)
        printf("\n%s\n", command->description);
    if (command->opts != NULL && command->opts->help != NULL) {
        printf("\noptions:\n");
        for (const struct opt *opt = command->opts; opt->help != NULL; opt++)
            print_option(opt);
    }
}

int opts_exit(const struct err *err)
{
    log_error("%s", err->text);
    return err->kind == ERR_FAILED ? 1 : 2;
}
