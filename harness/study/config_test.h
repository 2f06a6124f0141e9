/* config_test - the part of config that reads one test of a study file. */
#ifndef STUDY_CONFIG_TEST_H
#define STUDY_CONFIG_TEST_H

#include "study/config.h"

/* `dir`: the study file's folder. `has_database` is also the default of "database". */
int config_read_test(const struct json_at *at, const char *dir, bool has_database, struct study_test *test,
                     struct err *err);
/* Many requests as text, whatever it came from (`name`): the fault of the first line that has one. */
int config_check_requests(const char *name, const struct study_test *test, const char *text, size_t len,
                          struct err *err);
void config_free_test(struct study_test *test);

#endif
