#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "cli/commands.h"

static void print_usage(void)
{
    printf("restbench - measures REST servers, and shows why its figures can be trusted\n\n"
           "usage: restbench COMMAND [OPTIONS]\n\ncommands:\n");
    for (size_t i = 0; commands[i] != NULL; i++)
        printf("  %-10s %s\n", commands[i]->name, commands[i]->summary);
    printf("\nrestbench COMMAND --help says more; restbench --version prints versions.\n");
}

static int unknown(const char *name)
{
    const char *nearest = NULL;
    size_t best = 3;

    for (size_t i = 0; commands[i] != NULL; i++) {
        size_t distance = text_distance(commands[i]->name, name);

        if (distance < best) {
            best = distance;
            nearest = commands[i]->name;
        }
    }
    if (nearest != NULL)
        log_error("%s: no such command; did you mean %s?", name, nearest);
    else
        log_error("%s: no such command; restbench --help lists them", name);
    return 2;
}

int main(int argc, char **argv)
{
    (void)setlocale(LC_ALL, "");
    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
        print_usage();
        return argc < 2 ? 2 : 0;
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        commands_print_version();
        return 0;
    }
    for (size_t i = 0; commands[i] != NULL; i++)
        if (strcmp(commands[i]->name, argv[1]) == 0)
            return commands[i]->main(argc - 1, argv + 1);
    return unknown(argv[1]);
}
