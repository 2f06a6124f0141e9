/* restbench docs - man pages and shell completions, made from the tables that --help prints. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fsx.h"
#include "base/text.h"
#include "cli/commands.h"

/* Roff would read a leading dot or quote, and a backslash anywhere, as its own. */
static void add_roff(struct text *page, const char *string)
{
    bool line_start = true;

    for (; *string != '\0'; string++) {
        if (line_start && (*string == '.' || *string == '\''))
            text_add(page, "\\&");
        if (*string == '\\')
            text_add(page, "\\e");
        else if (*string == '-')
            text_add(page, "\\-");
        else
            text_add_char(page, *string);
        line_start = *string == '\n';
    }
}

static void add_roff_title(struct text *page, const char *name, const char *summary)
{
    text_addf(page, ".TH %s 1 \"\" \"restbench %s\" \"User commands\"\n.SH NAME\n", name, RESTBENCH_VERSION);
    add_roff(page, name);
    text_add(page, " \\- ");
    add_roff(page, summary);
    text_add(page, "\n.SH SYNOPSIS\n");
}

static void add_roff_option(struct text *page, const struct opt *opt)
{
    text_add(page, ".TP\n");
    if (opt->short_name != 0)
        text_addf(page, "\\fB\\-%c\\fR%s", opt->short_name, opt->long_name != NULL ? ", " : "");
    if (opt->long_name != NULL) {
        text_add(page, "\\fB\\-\\-");
        add_roff(page, opt->long_name);
        text_add(page, "\\fR");
    }
    if (opt->argument != NULL) {
        text_add(page, " \\fI");
        add_roff(page, opt->argument);
        text_add(page, "\\fR");
    }
    text_add_char(page, '\n');
    add_roff(page, opt->help);
    text_add_char(page, '\n');
}

static char *command_page(const struct command *command)
{
    struct text page = {0};
    char *name = text_format("restbench-%s", command->name);

    add_roff_title(&page, name, command->summary);
    text_addf(&page, ".B restbench %s\n", command->name);
    add_roff(&page, command->usage);
    text_add(&page, "\n.SH DESCRIPTION\n");
    add_roff(&page, command->description != NULL ? command->description : command->summary);
    text_add_char(&page, '\n');
    if (command->opts != NULL && command->opts->help != NULL)
        text_add(&page, ".SH OPTIONS\n");
    for (const struct opt *opt = command->opts; opt != NULL && opt->help != NULL; opt++)
        add_roff_option(&page, opt);
    text_add(&page, ".SH EXIT STATUS\n0: all well. 1: something failed. 2: it could not run.\n"
                    ".SH SEE ALSO\n.BR restbench (1)\n");
    free(name);
    return text_take(&page);
}

static char *main_page(void)
{
    struct text page = {0};

    add_roff_title(&page, "restbench", "measures REST servers, and shows why its figures can be trusted");
    text_add(&page, ".B restbench\n.I COMMAND\n[OPTIONS]\n.SH COMMANDS\n");
    for (size_t i = 0; commands[i] != NULL; i++) {
        text_addf(&page, ".TP\n\\fB%s\\fR\n", commands[i]->name);
        add_roff(&page, commands[i]->summary);
        text_addf(&page, ".\nSee\n.BR restbench\\-%s (1).\n", commands[i]->name);
    }
    text_add(&page,
             ".SH ENVIRONMENT\n.TP\n\\fBRESTBENCH_STATE\\fR\nfolder for the private PostgreSQL, builds, locks and "
             "logs\n.TP\n\\fBNO_COLOR\\fR\nno colours on a terminal\n"
             ".SH EXIT STATUS\n0: all well. 1: something failed. 2: it could not run. Ended by a signal: the same "
             "signal, after cleaning up.\n");
    return text_take(&page);
}

static int write_page(const char *dir, const char *name, char *page, struct err *err)
{
    char *path = text_format("%s/%s.1", dir, name);
    int result = fsx_write_atomic(path, page, strlen(page), 0644, err);

    free(path);
    free(page);
    return result;
}

static int write_man(const char *dir, struct err *err)
{
    int result = fsx_mkdirs(dir, 0755, err);

    if (result == 0)
        result = write_page(dir, "restbench", main_page(), err);
    for (size_t i = 0; commands[i] != NULL && result == 0; i++) {
        char *name = text_format("restbench-%s", commands[i]->name);

        result = write_page(dir, name, command_page(commands[i]), err);
        free(name);
    }
    return result;
}

static void print_bash(void)
{
    printf("# bash completion of restbench %s\n_restbench() {\n    local word=${COMP_WORDS[COMP_CWORD]} options=\n"
           "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n        options=\"--help --version",
           RESTBENCH_VERSION);
    for (size_t i = 0; commands[i] != NULL; i++)
        printf(" %s", commands[i]->name);
    printf("\"\n    else\n        case ${COMP_WORDS[1]} in\n");
    for (size_t i = 0; commands[i] != NULL; i++) {
        printf("        %s) options=\"--help", commands[i]->name);
        for (const struct opt *opt = commands[i]->opts; opt != NULL && opt->help != NULL; opt++)
            if (opt->long_name != NULL)
                printf(" --%s", opt->long_name);
        printf("\" ;;\n");
    }
    printf("        esac\n    fi\n    case $word in\n    -*) mapfile -t COMPREPLY < <(compgen -W \"$options\" -- "
           "\"$word\") ;;\n"
           "    *) [ \"$COMP_CWORD\" -eq 1 ] && mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$word\") ;;\n"
           "    esac\n}\ncomplete -o default -F _restbench restbench\n");
}

/* Text between single quotes of a _arguments specification. */
static void print_zsh_text(const char *string)
{
    for (; *string != '\0' && *string != '\n'; string++) {
        if (*string == '\'')
            printf("'\\''");
        else if (*string == '[' || *string == ']' || *string == ':' || *string == '\\')
            printf("\\%c", *string);
        else
            (void)putchar(*string);
    }
}

static void print_zsh_option(const struct opt *opt)
{
    printf("            '--%s[", opt->long_name);
    print_zsh_text(opt->help);
    printf("]");
    if (opt->argument != NULL) {
        printf(":");
        print_zsh_text(opt->argument);
        printf(":_files");
    }
    printf("' \\\n");
}

static void print_zsh(void)
{
    printf("#compdef restbench\n# zsh completion of restbench %s\nlocal -a commands=(\n", RESTBENCH_VERSION);
    for (size_t i = 0; commands[i] != NULL; i++) {
        printf("    '%s:", commands[i]->name);
        print_zsh_text(commands[i]->summary);
        printf("'\n");
    }
    printf(
        ")\nif (( CURRENT == 2 )); then\n    _describe command commands\nelse\n    shift words\n    (( CURRENT-- ))\n"
        "    case $words[1] in\n");
    for (size_t i = 0; commands[i] != NULL; i++) {
        printf("    %s)\n        _arguments \\\n", commands[i]->name);
        for (const struct opt *opt = commands[i]->opts; opt != NULL && opt->help != NULL; opt++)
            if (opt->long_name != NULL)
                print_zsh_option(opt);
        printf("            '--help[help]' '*:file:_files' ;;\n");
    }
    printf("    esac\nfi\n");
}

static int main_docs(int argc, char **argv)
{
    struct err err = {0};
    char none[1];
    int operands;

    switch (opts_parse(&cmd_docs, none, argc, argv, &operands, &err)) {
    case OPTS_HELP:
        return 0;
    case OPTS_BAD:
        return opts_exit(&err);
    case OPTS_OK:
        break;
    }
    if (operands == 2 && strcmp(argv[1], "man") == 0)
        (void)write_man(argv[2], &err);
    else if (operands == 1 && strcmp(argv[1], "bash") == 0)
        print_bash();
    else if (operands == 1 && strcmp(argv[1], "zsh") == 0)
        print_zsh();
    else
        (void)err_set(&err, "docs: give man DIR, bash or zsh; see restbench docs --help");
    return err.kind == ERR_NONE ? 0 : opts_exit(&err);
}

const struct command cmd_docs = {
    .name = "docs",
    .summary = "man pages and shell completions, made from the tables behind --help",
    .usage = "man DIR | bash | zsh",
    .description =
        "docs man DIR writes restbench.1 and one page for each command into DIR; docs bash and docs zsh print\n"
        "a completion to stdout: source <(restbench docs bash). make install runs all three.",
    .main = main_docs,
};
