#include "unit.h"

#include <string.h>

#include "target/sql_file.h"

static void splits(const char *text, size_t count, const char *const *expected)
{
    struct sql_file file;
    struct err err = {0};

    if (sql_file_parse("f.sql", text, &file, &err) != 0)
        fail_msg("%s: %s", text, err.text);
    assert_int_equal(file.count, count);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(file.statements[i].text, expected[i]);
    sql_file_free(&file);
}

static void semicolons_inside_something_do_not_separate(void **state)
{
    (void)state;
    splits("SELECT 1", 1, (const char *const[]){"SELECT 1"});
    splits("SELECT 1;;\n ; SELECT 2 ;\n", 2, (const char *const[]){"SELECT 1", "SELECT 2"});
    splits("SELECT 'a;b', 'it''s;'; B", 2, (const char *const[]){"SELECT 'a;b', 'it''s;'", "B"});
    splits("SELECT \"a;\"\"b\"; B", 2, (const char *const[]){"SELECT \"a;\"\"b\"", "B"});
    splits("SELECT E'a\\';b', 'c\\'; B", 2, (const char *const[]){"SELECT E'a\\';b', 'c\\'", "B"});
    splits("DO $$ a; b $$; B", 2, (const char *const[]){"DO $$ a; b $$", "B"});
    splits("DO $x$ a; $$; $y$ $x$; B", 2, (const char *const[]){"DO $x$ a; $$; $y$ $x$", "B"});
    splits("SELECT $1; B", 2, (const char *const[]){"SELECT $1", "B"});
    splits("A /* ; /* ; */ ; */ x; B", 2, (const char *const[]){"A /* ; /* ; */ ; */ x", "B"});
    splits("A -- ; '\n x; B", 2, (const char *const[]){"A -- ; '\n x", "B"});
    splits("SELECT type'x;y'; B", 2, (const char *const[]){"SELECT type'x;y'", "B"});
}

static void comments_before_a_statement_are_left_out_and_its_line_is_kept(void **state)
{
    struct sql_file file;
    struct err err = {0};

    (void)state;
    assert_int_equal(sql_file_parse("f.sql", "-- one\n/* two\n*/ A;\n-- three\n\nB", &file, &err), 0);
    assert_int_equal(file.count, 2);
    assert_string_equal(file.statements[0].text, "A");
    assert_int_equal(file.statements[0].line, 3);
    assert_int_equal(file.statements[1].line, 6);
    sql_file_free(&file);
}

static void refuses(const char *text, const char *message)
{
    struct sql_file file;
    struct err err = {0};

    assert_int_equal(sql_file_parse("f.sql", text, &file, &err), -1);
    if (strstr(err.text, message) == NULL)
        fail_msg("%s: \"%s\" instead of \"%s\"", text, err.text, message);
}

static void what_cannot_be_run_is_named_with_its_line(void **state)
{
    (void)state;
    refuses("A;\n\\copy t from 'x'", "f.sql:2: a command of psql");
    refuses("A;\nSELECT 'abc;", "f.sql:2: what begins here");
    refuses("A; DO $q$ abc $r$;", "f.sql:1: what begins here with $q");
    refuses("/* /* */ A;", "f.sql:1: what begins here with /*");
    refuses("A \"", "f.sql:1: what begins here");
    refuses("-- nothing\n ;; ", "no statement");
    refuses("", "no statement");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(semicolons_inside_something_do_not_separate),
        cmocka_unit_test(comments_before_a_statement_are_left_out_and_its_line_is_kept),
        cmocka_unit_test(what_cannot_be_run_is_named_with_its_line),
    };

    return cmocka_run_group_tests_name("sql_file", tests, NULL, NULL);
}
