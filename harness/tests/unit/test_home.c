#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fsx.h"
#include "base/home.h"
#include "base/text.h"

static char folder[] = "/tmp/test_home.XXXXXX";

static void the_option_comes_before_the_variable(void **state)
{
    struct err err = {0};
    char *option = fsx_join(folder, "option/deep");
    char *variable = fsx_join(folder, "variable");
    char *found;

    (void)state;
    assert_int_equal(setenv("RESTBENCH_STATE", variable, 1), 0);
    found = home_state(option, &err);
    assert_string_equal(err.text, "");
    assert_string_equal(found, option);
    assert_true(fsx_is_dir(option));
    free(found);
    found = home_state(NULL, &err);
    assert_string_equal(found, variable);
    free(found);
    assert_null(home_state("", &err));
    assert_int_equal(err.kind, ERR_CANNOT);
    free(option);
    free(variable);
}

static void a_relative_state_folder_becomes_absolute(void **state)
{
    struct err err = {0};
    char *expected = fsx_join(folder, "here");
    char *found;

    (void)state;
    assert_int_equal(chdir(folder), 0);
    found = home_state("here", &err);
    assert_string_equal(found, expected);
    free(found);
    free(expected);
}

static void a_file_in_the_way_is_named(void **state)
{
    struct err err = {0};
    char *file = fsx_join(folder, "file");

    (void)state;
    assert_int_equal(fsx_write_new(file, "", 0, 0644, &err), 0);
    assert_null(home_state(file, &err));
    assert_non_null(strstr(err.text, file));
    free(file);
}

static void our_files_are_found_here_or_every_place_is_named(void **state)
{
    struct err err = {0};
    char *found;

    (void)state;
    assert_int_equal(chdir(folder), 0);
    assert_int_equal(fsx_write_new("known.sql", "", 0, 0644, &err), 0);
    found = home_file("known.sql", &err);
    assert_string_equal(found, "known.sql");
    free(found);
    assert_null(home_file("no/such.sql", &err));
    assert_non_null(strstr(err.text, "share/restbench/no/such.sql"));
}

static int make(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL ? -1 : 0;
}

static int remove_all(void **state)
{
    struct err err = {0};

    (void)state;
    return fsx_remove_tree(folder, &err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_option_comes_before_the_variable),
        cmocka_unit_test(a_relative_state_folder_becomes_absolute),
        cmocka_unit_test(a_file_in_the_way_is_named),
        cmocka_unit_test(our_files_are_found_here_or_every_place_is_named),
    };

    return cmocka_run_group_tests_name("home", tests, make, remove_all);
}
