#include "unit.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fsx.h"
#include "machine/procfs.h"
#include "machine_group.h"
#include "program.h"

static void daemons_end_with_their_place(void **state)
{
    static const char script[] = BURN "r,w=os.pipe()\n"
                                      "if os.fork()==0:\n"
                                      "  os.setsid()\n"
                                      "  if os.fork()==0:\n"
                                      "    os.setsid(); signal.signal(signal.SIGTERM,signal.SIG_IGN)\n"
                                      "    os.write(w,b'%d\\n'%os.getpid())\n"
                                      "    while 1: signal.pause()\n"
                                      "  os._exit(0)\n"
                                      "os.wait()\n"
                                      "print(os.read(r,20).decode().strip()); step('ready')";

    (void)state;
    for (int with_group = 0; with_group < 2; with_group++) {
        struct place place;
        struct program program;
        struct err err = {0};
        struct text lines = {0};
        struct procfs_stat stat;
        int daemon;

        if (with_group && machine.cgroups.path == NULL)
            continue;
        place_open(&machine, "server", false, NULL, &place);
        if (!with_group)
            assert_int_equal(cgroup_remove(&place.cgroup, &err), 0);
        program_start(&program, &place, script);
        child_tail(&program.child, 'o', 2, &lines);
        daemon = atoi(text_string(&lines));
        text_free(&lines);
        assert_int_equal(procfs_read_stat("/proc", daemon, &stat), 0);
        assert_int_equal(stat.session, daemon);
        assert_int_equal(place_stop(&place, &program.child, PROGRAM_LIMIT_NS / 100, &err), 0);
        assert_int_equal(procfs_read_stat("/proc", daemon, &stat), -1);
        program_end(&program);
        assert_int_equal(place_close(&place, &err), 0);
    }
}

static void groups_of_dead_runs_are_removed(void **state)
{
    struct cgroup ours = {0};
    struct cgroup_base again;
    struct err err = {0};
    char *dead;
    char *reused;

    (void)state;
    need_cgroup();
    assert_int_equal(cgroup_make(&machine.cgroups, "kept", &ours, &err), 0);
    dead = text_format("%s/restbench-%d-1-server", machine.cgroups.path, 1 << 22);
    reused = text_format("%s/restbench-%d-1-server", machine.cgroups.path, (int)getpid());
    assert_int_equal(mkdir(dead, 0755), 0);
    assert_int_equal(mkdir(reused, 0755), 0);
    cgroup_find(&again);
    assert_string_equal(again.path, machine.cgroups.path);
    assert_false(fsx_exists(dead));
    assert_false(fsx_exists(reused));
    assert_true(fsx_exists(ours.path));
    cgroup_base_free(&again);
    assert_int_equal(cgroup_remove(&ours, &err), 0);
    free(dead);
    free(reused);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(daemons_end_with_their_place),
        cmocka_unit_test(groups_of_dead_runs_are_removed),
    };

    return cmocka_run_group_tests(tests, open_machine, close_machine);
}
