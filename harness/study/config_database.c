#include "study/config_database.h"

struct database_spec config_database_spec(const struct study *study, const char *url, const char *state_dir)
{
    return (struct database_spec){
        .kind = study->has_database ? "postgresql" : "none",
        .url = url,
        .state_dir = state_dir,
        .table = study->table,
        .rows = study->rows,
        .schema_path = study->schema_path,
        .seed_path = study->seed_path,
        .reset_path = study->reset_path,
        .checksum_path = study->checksum_path,
    };
}
