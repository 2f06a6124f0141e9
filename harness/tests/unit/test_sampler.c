#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <sys/inotify.h>

#include "base/fsx.h"
#include "base/json.h"
#include "machine/procfs.h"
#include "machine_group.h"
#include "program.h"

struct cell {
    struct place place;
    struct sampler sampler;
    struct program program;
};

static void open_cell(struct cell *cell, const char *script)
{
    *cell = (struct cell){0};
    place_open(&machine, "server", false, NULL, &cell->place);
    program_start(&cell->program, &cell->place, script);
    sampler_init(&cell->sampler, &machine.split);
    (void)place_sample(&cell->place, &cell->sampler, cell->program.child.pid);
    /* The same side a second time, as it is seen where there are no cgroups. */
    (void)sampler_add(&cell->sampler, "uncontrolled", NULL, cell->program.child.pid, false);
}

static void close_cell(struct cell *cell)
{
    struct err err = {0};

    sampler_free(&cell->sampler);
    program_end(&cell->program);
    assert_int_equal(place_close(&cell->place, &err), 0);
}

/* Those that have done their work may still be on their way out. */
static void wait_for_members(const struct cell *cell, size_t wanted)
{
    int64_t end = clock_mono_ns() + PROGRAM_LIMIT_NS;
    size_t count;

    do {
        pid_t *pids;

        count = cgroup_pids(&cell->place.cgroup, &pids);
        free(pids);
        if (count != wanted)
            clock_sleep_ns(2 * CLOCK_NS_PER_MS);
    } while (count != wanted && clock_mono_ns() < end);
    assert_int_equal(count, wanted);
}

static void committed_and_touched_memory(void **state)
{
    static const char *const sizes[] = {"0", "100"};
    struct machine_memory memory[2];

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        char script[1024];
        struct cell cell;

        (void)snprintf(script, sizeof script,
                       BURN "n=%s<<20\n"
                            "m=mmap.mmap(-1,n or 4096,flags=0x22)\n"
                            "for at in range(0,n//10,4096): m[at]=1\n"
                            "step('ready')",
                       sizes[i]);
        open_cell(&cell, script);
        sampler_memory(&cell.sampler, 0, &memory[i]);
        assert_int_equal(memory[i].processes, 1);
        close_cell(&cell);
    }
    /* The interpreter itself varies by some pages from run to run. */
    assert_float_equal(memory[1].private_mib - memory[0].private_mib, 100, 1);
    assert_float_equal(memory[1].working_set_mib - memory[0].working_set_mib, 10, 1);
    assert_float_equal(memory[1].pss_mib - memory[0].pss_mib, 10, 1);
    assert_true(memory[1].peak_mib >= memory[1].working_set_mib - 0.5);
    assert_true(memory[1].hugetlb_mib == 0);
}

static void forked_children_share(void **state)
{
    struct cell cell;
    struct machine_memory memory;
    json_t *json;

    (void)state;
    open_cell(&cell, BURN "m=mmap.mmap(-1,50<<20,flags=0x22)\n"
                          "for at in range(0,50<<20,4096): m[at]=1\n"
                          "for i in range(6):\n"
                          "  if os.fork()==0:\n"
                          "    while 1: signal.pause()\n"
                          "step('ready')");
    sampler_memory(&cell.sampler, 0, &memory);
    assert_int_equal(memory.processes, 7);
    assert_true(memory.working_set_mib >= 7 * 50);
    assert_true(memory.private_mib >= 7 * 50 && memory.private_mib < 7 * 80);
    assert_true(memory.pss_mib >= 50 && memory.pss_mib < 50 + 7 * 10);
    json = machine_memory_to_json(&memory);
    assert_true(json_get_number(json, "pss_mib") > 50);
    json_decref(json);
    close_cell(&cell);
}

static void huge_pages_count_in_the_working_set(void **state)
{
    struct cell cell;
    struct machine_memory memory;
    char pages[64];
    char had[64];

    (void)state;
    /* The pool belongs to the machine: taken only where nobody uses it, and put back. */
    if (fsx_read_small("/proc/sys/vm/nr_hugepages", had, sizeof had) <= 0 || strcmp(had, "0\n") != 0 ||
        access("/proc/sys/vm/nr_hugepages", W_OK) != 0)
        skip();
    {
        int fd = open("/proc/sys/vm/nr_hugepages", O_WRONLY | O_CLOEXEC);

        assert_int_equal(write(fd, "8", 1), 1);
        (void)close(fd);
    }
    (void)fsx_read_small("/proc/sys/vm/nr_hugepages", pages, sizeof pages);
    if (strcmp(pages, "8\n") == 0) {
        open_cell(&cell, BURN "m=mmap.mmap(-1,16<<20,flags=0x40022)\n"
                              "for at in range(0,16<<20,4096): m[at]=1\n"
                              "step('ready')");
        sampler_memory(&cell.sampler, 0, &memory);
        close_cell(&cell);
    }
    {
        int fd = open("/proc/sys/vm/nr_hugepages", O_WRONLY | O_CLOEXEC);

        assert_int_equal(write(fd, "0", 1), 1);
        (void)close(fd);
    }
    if (strcmp(pages, "8\n") != 0)
        skip();
    assert_float_equal(memory.hugetlb_mib, 16, 0.01);
    assert_true(memory.working_set_mib >= 16 + 5);
    assert_true(memory.pss_mib < memory.working_set_mib);
    assert_true(memory.private_mib > 0 && memory.private_mib < 16);
}

static void orphans_are_counted_by_the_group(void **state)
{
    struct cell cell;
    struct machine_usage usage;
    const struct side_usage *group;
    const struct side_usage *proc;

    (void)state;
    need_cgroup();
    open_cell(&cell, BURN "signal.signal(signal.SIGCHLD,signal.SIG_IGN)\n"
                          "step('ready')\n"
                          "r,w=os.pipe()\n"
                          "for i in range(5):\n"
                          "  if os.fork()==0:\n"
                          "    os.setsid()\n"
                          "    if os.fork()==0:\n"
                          "      burn(0.1); os.write(w,b'x')\n"
                          "    os._exit(0)\n"
                          "for i in range(5): os.read(r,1)\n"
                          "step('done')");
    sampler_begin(&cell.sampler);
    program_step(&cell.program, "done");
    wait_for_members(&cell, 1);
    sampler_end(&cell.sampler, &usage);
    group = machine_usage_side(&usage, "server");
    proc = machine_usage_side(&usage, "uncontrolled");
    assert_string_equal(group->source, "cgroup");
    assert_true(group->total_s >= 0.5);
    assert_true(group->adds_up);
    assert_true(group->difference_s >= 0.4);
    assert_string_equal(proc->source, "proc");
    assert_true(proc->total_s >= 0 && proc->total_s < group->total_s);
    assert_false(proc->adds_up);
    assert_non_null(strstr(proc->note, "ignores SIGCHLD"));
    machine_usage_free(&usage);
    close_cell(&cell);
}

static void waited_children_count_for_their_window_only(void **state)
{
    struct cell cell;
    struct machine_usage usage;
    const struct side_usage *proc;
    json_t *json;

    (void)state;
    open_cell(&cell, BURN "r,w=os.pipe()\n"
                          "p=os.fork()\n"
                          "if p==0: burn(0.6); os.write(w,b'x'); signal.pause()\n"
                          "os.read(r,1)\n"
                          "step('ready')\n"
                          "os.kill(p,9); os.wait()\n"
                          "if os.fork()==0: burn(0.2); os._exit(0)\n"
                          "os.wait()\n"
                          "step('done')");
    sampler_begin(&cell.sampler);
    program_step(&cell.program, "done");
    sampler_end(&cell.sampler, &usage);
    for (size_t i = 0; i < 2; i++) {
        assert_true(usage.sides[i].total_s >= 0.15);
        assert_true(usage.sides[i].total_s < 0.6);
        assert_true(usage.sides[i].adds_up);
    }
    proc = machine_usage_side(&usage, "uncontrolled");
    assert_float_equal(proc->resolution_s, procfs_tick_s(), 1e-9);
    json = machine_usage_to_json(&usage);
    assert_true(json_get_number(json_object_get(json, "server"), "total_s") > 0.1);
    assert_true(json_is_array(json_object_get(json, "cpus")));
    assert_true(json_array_size(json_object_get(json, "cpus")) == usage.cpu_count && usage.cpu_count > 0);
    assert_true(isnan(usage.generator_busy_pct));
    assert_true(json_is_null(json_object_get(json, "generator_busy_pct")));
    json_decref(json);
    machine_usage_free(&usage);
    close_cell(&cell);
}

static void a_few_milliseconds_are_seen(void **state)
{
    struct cell cell;
    struct machine_usage usage;

    (void)state;
    open_cell(&cell, BURN "step('ready')\nburn(0.004)\nstep('done')");
    sampler_begin(&cell.sampler);
    program_step(&cell.program, "done");
    sampler_end(&cell.sampler, &usage);
    for (size_t i = 0; i < 2; i++) {
        assert_true(usage.sides[i].total_s >= 0.003);
        assert_float_equal(usage.sides[i].resolution_s, 1e-6, 1e-9);
    }
    machine_usage_free(&usage);
    close_cell(&cell);
}

/* Ticks see a tenth less of it, or more, but what was not idle was busy. */
static void work_between_two_ticks_keeps_a_cpu_busy(void **state)
{
    struct cell cell;
    struct machine_usage usage;
    double busy_s;
    double steal_pct;

    (void)state;
    open_cell(&cell, BURN "step('ready')\n"
                          "for i in range(2000): burn(0.0005); time.sleep(0.0005)\n"
                          "step('done')");
    sampler_begin(&cell.sampler);
    program_step(&cell.program, "done");
    sampler_end(&cell.sampler, &usage);
    /* A process' clock goes on while the hypervisor has the CPU. */
    steal_pct = isnan(usage.disturbance.steal_pct_max) ? 0 : usage.disturbance.steal_pct_max;
    busy_s = (usage.shared_busy_pct + steal_pct) / 100 * usage.window_s * cpus_count(&machine.split.server);
    assert_true(usage.sides[0].total_s >= 1);
    assert_true(busy_s >= usage.sides[0].total_s - 0.03);
    machine_usage_free(&usage);
    close_cell(&cell);
}

static void odd_names_change_nothing(void **state)
{
    static const char *const names[] = {
        "b'a) R 1 1 1 ('", "b':-) 1 2 3'", "b')))'", "b' '*15", "b'x\\ny'", "b'\\xff\\xfe'", "b''",
    };

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct cell cell;
        struct machine_usage usage;
        struct machine_affinity affinity;
        struct machine_memory memory;
        struct text command = {0};
        char script[1024];

        (void)snprintf(script, sizeof script,
                       BURN "import threading\n"
                            "open('/proc/self/comm','wb',0).write(%s)\n"
                            "t=threading.Thread(target=signal.pause,daemon=True); t.start()\n"
                            "if os.fork()==0: signal.pause()\n"
                            "step('ready')\nburn(0.05)\nstep('done')\n",
                       names[i]);
        open_cell(&cell, script);
        sampler_begin(&cell.sampler);
        program_step(&cell.program, "done");
        sampler_end(&cell.sampler, &usage);
        assert_true(usage.sides[1].total_s >= 0.04);
        assert_int_equal(usage.sides[1].processes, 2);
        sampler_memory(&cell.sampler, 1, &memory);
        assert_int_equal(memory.processes, 2);
        sampler_affinity(&cell.sampler, 1, &affinity);
        assert_int_equal(affinity.threads, 3);
        assert_int_equal(affinity.wrong, 0);
        procfs_add_command("/proc", cell.program.child.pid, 60, &command);
        assert_true(text_is_title(text_string(&command)));
        text_free(&command);
        machine_usage_free(&usage);
        close_cell(&cell);
    }
}

static void threads_that_run_elsewhere(void **state)
{
    static const char script[] = BURN "import threading\n"
                                      "for i in range(3): threading.Thread(target=signal.pause,daemon=True).start()\n"
                                      "step('ready')";
    struct cell cell = {0};
    struct machine_affinity affinity;
    struct err err = {0};
    json_t *json;

    (void)state;
    if (!machine.split.pinned)
        skip();
    place_open(&machine, "server", false, NULL, &cell.place);
    cell.place.pin = PLACE_PIN_AFTER_START;
    program_start(&cell.program, &cell.place, script);
    sampler_init(&cell.sampler, &machine.split);
    (void)place_sample(&cell.place, &cell.sampler, cell.program.child.pid);
    sampler_affinity(&cell.sampler, 0, &affinity);
    assert_int_equal(affinity.threads, 4);
    assert_int_equal(affinity.wrong, 4);
    assert_non_null(strstr(affinity.text, "python3"));
    assert_int_equal(place_pin(&cell.place, cell.program.child.pid, &err), 0);
    sampler_affinity(&cell.sampler, 0, &affinity);
    assert_int_equal(affinity.wrong, 0);
    json = machine_affinity_to_json(&affinity);
    assert_true(json_get_number(json, "threads") == 4);
    json_decref(json);
    close_cell(&cell);
}

/* A database that ran already, with its idle backends: its place is empty, or holds only a part of it. */
static void a_party_that_lives_elsewhere_counts_in_full(void **state)
{
    static const char script[] = BURN "for i in range(20):\n"
                                      "  if os.fork()==0: signal.pause()\n"
                                      "step('ready')\n"
                                      "burn(0.4)\n"
                                      "step('done')\n"
                                      "signal.signal(signal.SIGTERM,signal.SIG_IGN); os.killpg(0,15)";

    (void)state;
    need_cgroup();
    for (int part = 0; part < 2; part++) {
        struct program elsewhere;
        struct cell cell = {0};
        struct machine_usage usage;
        struct err err = {0};

        place_open(&machine, "server", false, NULL, &cell.place);
        program_start(&elsewhere, NULL, script);
        if (part)
            program_start(&cell.program, &cell.place, BURN "step('ready')");
        sampler_init(&cell.sampler, &machine.split);
        (void)place_sample(&cell.place, &cell.sampler, elsewhere.child.pid);
        sampler_begin(&cell.sampler);
        program_step(&elsewhere, "done");
        sampler_end(&cell.sampler, &usage);
        assert_string_equal(usage.sides[0].source, part ? "cgroup" : "proc");
        assert_int_equal(usage.sides[0].processes, 21 + part);
        assert_int_equal(usage.sides[0].adds_up, !part);
        if (part)
            assert_non_null(strstr(usage.sides[0].note, "runs outside of it"));
        else
            assert_true(usage.sides[0].total_s >= 0.4);
        machine_usage_free(&usage);
        sampler_free(&cell.sampler);
        program_end(&elsewhere);
        if (part)
            program_end(&cell.program);
        assert_int_equal(place_close(&cell.place, &err), 0);
    }
}

/* A proc of our own with one process, to see which of its files are opened when. */
static void no_smaps_inside_a_window(void **state)
{
    static const char *const files[] = {"stat",   "1/stat", "1/status", "1/task/1/status", "1/task/1/schedstat",
                                        "1/smaps"};
    static const char *const contents[] = {
        "cpu0 1 1 1 1 1 1 1 1\n",
        "1 (a) S 0 1 1 0 -1 0 0 0 0 0 3 1 0 0 20 0 1 0 7 1 1\n",
        "Name:\ta\nThreads:\t1\nVmRSS:\t4 kB\nVmHWM:\t8 kB\n",
        "Name:\ta\nThreads:\t1\nCpus_allowed_list:\t0\nnonvoluntary_ctxt_switches:\t4\n",
        "1000 2 3\n",
        "1000-2000 rw-p 0 0:0 0\nSize: 4 kB\nRss: 4 kB\nPss: 4 kB\nVmFlags: rd wr ac\n",
    };
    char folder[] = "/tmp/restbench-test-XXXXXX";
    int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    char events[4096];
    struct sampler sampler;
    struct machine_usage usage;
    struct machine_memory memory;
    struct err err = {0};
    char *task;

    (void)state;
    assert_non_null(mkdtemp(folder));
    task = fsx_join(folder, "1/task/1");
    assert_int_equal(fsx_mkdirs(task, 0755, &err), 0);
    free(task);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char *path = fsx_join(folder, files[i]);

        assert_int_equal(fsx_write_new(path, contents[i], strlen(contents[i]), 0644, &err), 0);
        if (strstr(files[i], "smaps") != NULL)
            assert_true(inotify_add_watch(watch, path, IN_OPEN) >= 0);
        free(path);
    }
    sampler_init(&sampler, &machine.split);
    sampler.proc = folder;
    (void)sampler_add(&sampler, "server", NULL, 1, false);
    sampler_begin(&sampler);
    sampler_end(&sampler, &usage);
    assert_int_equal(usage.sides[0].processes, 1);
    assert_int_equal(read(watch, events, sizeof events), -1);
    sampler_memory(&sampler, 0, &memory);
    assert_true(read(watch, events, sizeof events) > 0);
    assert_float_equal(memory.private_mib, 4.0 / 1024, 1e-9);
    /* What this proc does not tell is unknown. */
    assert_true(isnan(usage.disturbance.psi_cpu_pct));
    assert_true(isnan(usage.disturbance.swap_in_mib));
    machine_usage_free(&usage);
    sampler_free(&sampler);
    (void)close(watch);
    assert_int_equal(fsx_remove_tree(folder, &err), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(committed_and_touched_memory),
        cmocka_unit_test(forked_children_share),
        cmocka_unit_test(huge_pages_count_in_the_working_set),
        cmocka_unit_test(orphans_are_counted_by_the_group),
        cmocka_unit_test(waited_children_count_for_their_window_only),
        cmocka_unit_test(a_few_milliseconds_are_seen),
        cmocka_unit_test(work_between_two_ticks_keeps_a_cpu_busy),
        cmocka_unit_test(odd_names_change_nothing),
        cmocka_unit_test(threads_that_run_elsewhere),
        cmocka_unit_test(a_party_that_lives_elsewhere_counts_in_full),
        cmocka_unit_test(no_smaps_inside_a_window),
    };

    return cmocka_run_group_tests(tests, open_machine, close_machine);
}
