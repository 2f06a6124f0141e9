#include "cli/commands.h"

#include <stdio.h>

#include <curl/curl.h>
#include <jansson.h>
#include <libpq-fe.h>
#include <openssl/crypto.h>
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

/* One a line, so that two changes do not meet. */
/* clang-format off */
const struct command *const commands[] = {
    &cmd_run,
    &cmd_status,
    &cmd_check,
    &cmd_load,
    &cmd_report,
    &cmd_compare,
    &cmd_duel,
    &cmd_verify,
    &cmd_export,
    &cmd_bundle,
    &cmd_ceiling,
    &cmd_list,
    &cmd_db,
    &cmd_calibrate,
    &cmd_docs,
    NULL,
};
/* clang-format on */

void commands_print_version(void)
{
    char pcre2[64] = "unknown";
    int pq = PQlibVersion();

    (void)pcre2_config(PCRE2_CONFIG_VERSION, pcre2);
    printf("restbench %s\n", RESTBENCH_VERSION);
    printf("libcurl %s, libpq %d.%d, jansson %s, PCRE2 %s, %s\n", curl_version_info(CURLVERSION_NOW)->version,
           pq / 10000, pq % 10000, jansson_version_str(), pcre2, OpenSSL_version(OPENSSL_VERSION));
}
