/* machine_group.h - this machine, opened around a group of tests by open_machine() and close_machine(). */
#ifndef TESTS_UNIT_MACHINE_GROUP_H
#define TESTS_UNIT_MACHINE_GROUP_H

#include "machine/place.h"

static struct machine machine;

static int open_machine(void **state)
{
    struct err err = {0};

    (void)state;
    return machine_open("auto", &machine, &err);
}

static int close_machine(void **state)
{
    (void)state;
    machine_close(&machine);
    return 0;
}

/* Skips the test where no cgroup can be made. */
static void need_cgroup(void)
{
    if (machine.cgroups.path == NULL) {
        print_message("no cgroup: %s\n", machine.cgroups.reason);
        skip();
    }
}

#endif
