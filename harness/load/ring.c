#include "load/ring.h"

#include <stdlib.h>
#include <string.h>

#include "base/fsx.h"
#include "base/json.h"
#include "base/text.h"

#define FILE_LIMIT ((size_t)1 << 30)
#define MOST_WEIGHT 1000000
/* An order this long goes round; up to it each request stands in it exactly as often as its weight says. */
#define ORDER_LEAST 4096
#define ORDER_MOST ((uint64_t)1 << 22)

struct build {
    const struct url *url;
    const struct ring_options *options;
    struct ring *ring;
    uint64_t *weights;
    size_t cap;
};

static uint64_t draw(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

static int check_path(const struct json_at *at, const char *path, struct err *err)
{
    struct json_at here = json_at_key(at, "path");

    if (*path != '/')
        return json_at_error(&here, err, "a path begins with '/'");
    for (const char *p = path; *p != '\0'; p++)
        if (*p <= ' ' || *p > '~' || *p == '#')
            return json_at_error(&here, err, "the path holds a byte that must be escaped: %%%02X", (unsigned char)*p);
    return 0;
}

static int read_headers(const struct json_at *at, const struct request_headers *common, struct request_headers *headers,
                        struct err *err)
{
    struct json_at object = json_at_key(at, "headers");
    const char *name;
    json_t *value;

    for (size_t i = 0; i < common->count; i++)
        if (request_headers_add(headers, common->items[i].name, common->items[i].value, err) != 0)
            return -1;
    if (object.value == NULL)
        return 0;
    if (json_at_object(&object, err) != 0)
        return -1;
    json_object_foreach (object.value, name, value) {
        struct json_at here = json_at_key(&object, name);
        struct err why = {0};

        if (!json_is_string(value))
            return json_at_error(&here, err, "a header's value is a string");
        if (request_headers_add(headers, name, json_string_value(value), &why) != 0)
            return json_at_error(&here, err, "%s", why.text);
    }
    return 0;
}

static int read_expect(const struct json_at *at, struct request *request, struct err *err)
{
    static const char *const keys[] = {"status", "body", NULL};
    struct json_at expect = json_at_key(at, "expect");
    const int64_t none = 0;
    int64_t status;
    const char *body;

    if (expect.value == NULL)
        return 0;
    if (json_at_object(&expect, err) != 0 || json_at_only(&expect, keys, err) != 0 ||
        json_at_int(&expect, "status", &none, 0, 999, &status, err) != 0 ||
        json_at_string(&expect, "body", "", &body, err) != 0)
        return -1;
    if (status != 0 && status / 100 != 2) {
        struct json_at here = json_at_key(&expect, "status");

        return json_at_error(&here, err, "only answers 2xx count as right; give 200 to 299");
    }
    request->expected_status = (int)status;
    if (json_object_get(expect.value, "body") != NULL) {
        request->expected_body = text_dup(body);
        request->expected_len = strlen(body);
    }
    return 0;
}

static int build_request(struct build *build, const struct json_at *at, const char *path, struct request *request,
                         struct err *err)
{
    struct request_headers headers = {0};
    struct request_spec spec = {.target = path, .headers = &headers, .close = build->options->close};
    struct json_at body = json_at_key(at, "body");
    char *made = NULL;
    struct err why = {0};
    int rc = -1;

    if (body.value != NULL)
        made = json_is_string(body.value) ? text_dup_n(json_string_value(body.value), json_string_length(body.value))
                                          : json_line(body.value);
    spec.body = made;
    spec.body_len = json_is_string(body.value) ? json_string_length(body.value) : made != NULL ? strlen(made) : 0;
    if (json_at_string(at, "method", build->options->method, &spec.method, err) == 0 &&
        read_headers(at, build->options->headers, &headers, err) == 0) {
        if (request_build(build->url, &spec, request, &why) == 0)
            rc = read_expect(at, request, err);
        else
            (void)json_at_error(at, err, "%s", why.text);
    }
    free(made);
    request_headers_free(&headers);
    return rc;
}

static int read_line(struct build *build, const struct json_doc *doc, struct err *err)
{
    static const char *const keys[] = {"method", "path", "headers", "body", "weight", "expect", NULL};
    struct json_at at = json_at_root(doc);
    struct ring *ring = build->ring;
    const int64_t one = 1;
    int64_t weight;
    const char *path;

    if (json_at_object(&at, err) != 0 || json_at_only(&at, keys, err) != 0 ||
        json_at_string(&at, "path", NULL, &path, err) != 0 || check_path(&at, path, err) != 0 ||
        json_at_int(&at, "weight", &one, 1, MOST_WEIGHT, &weight, err) != 0)
        return -1;
    if (ring->count == build->cap) {
        build->cap = build->cap > 0 ? 2 * build->cap : 64;
        ring->requests = text_realloc(ring->requests, build->cap, sizeof *ring->requests);
        build->weights = text_realloc(build->weights, build->cap, sizeof *build->weights);
    }
    build->weights[ring->count] = (uint64_t)weight;
    memset(&ring->requests[ring->count], 0, sizeof *ring->requests);
    if (build_request(build, &at, path, &ring->requests[ring->count++], err) != 0)
        return -1;
    ring->expects_bodies |= ring->requests[ring->count - 1].expected_body != NULL;
    return 0;
}

/* For the message of a line that is wrong: the document as a whole file would have it, so that the line number is. */
static int read_at(struct build *build, const char *line, size_t len, size_t number, struct err *err)
{
    struct json_doc doc = {0};
    struct err why = {0};
    struct text padded = {0};
    int rc = json_doc_parse(build->options->file, line, len, &doc, &why);

    if (rc == 0)
        rc = read_line(build, &doc, &why);
    json_doc_free(&doc);
    if (rc == 0)
        return 0;
    for (size_t i = 1; i < number; i++)
        text_add_char(&padded, '\n');
    text_add_bytes(&padded, line, len);
    doc = (struct json_doc){0};
    if (json_doc_parse(build->options->file, padded.data, padded.len, &doc, err) == 0)
        (void)read_line(build, &doc, err);
    json_doc_free(&doc);
    text_free(&padded);
    return -1;
}

static void shuffle(uint32_t *order, size_t len, uint64_t seed)
{
    for (size_t i = len; i > 1; i--) {
        size_t k = (size_t)(draw(&seed) % i);
        uint32_t kept = order[i - 1];

        order[i - 1] = order[k];
        order[k] = kept;
    }
}

/* Weights that are too large for an exact order are drawn with their chances. */
static void draw_order(struct ring *ring, const uint64_t *weights, uint64_t sum, uint64_t seed)
{
    uint64_t *until = text_alloc(ring->count * sizeof *until);

    for (size_t i = 0, before = 0; i < ring->count; i++)
        until[i] = before += weights[i];
    ring->order_len = (size_t)ORDER_MOST;
    ring->order = text_alloc(ring->order_len * sizeof *ring->order);
    for (size_t i = 0; i < ring->order_len; i++) {
        uint64_t point = draw(&seed) % sum;
        size_t low = 0;
        size_t high = ring->count - 1;

        while (low < high) {
            size_t middle = (low + high) / 2;

            if (point < until[middle])
                high = middle;
            else
                low = middle + 1;
        }
        ring->order[i] = (uint32_t)low;
    }
    free(until);
}

static void make_order(struct ring *ring, const uint64_t *weights, uint64_t seed)
{
    uint64_t sum = weights[0]; /* a ring has at least one request */
    size_t rounds;
    size_t at = 0;

    for (size_t i = 1; i < ring->count; i++)
        sum += weights[i];
    if (sum == 0)
        return; /* a ring is never empty */
    if (sum > ORDER_MOST) {
        draw_order(ring, weights, sum, seed);
        return;
    }
    rounds = (size_t)((ORDER_LEAST + sum - 1) / sum);
    ring->order_len = (size_t)sum * rounds;
    ring->order = text_alloc(ring->order_len * sizeof *ring->order);
    for (size_t i = 0; i < ring->count; i++)
        for (uint64_t k = 0; k < weights[i] * rounds; k++)
            ring->order[at++] = (uint32_t)i;
    shuffle(ring->order, ring->order_len, seed);
}

int ring_parse(const struct url *url, const struct ring_options *options, const char *data, size_t len,
               struct ring *ring, struct err *err)
{
    struct build build = {url, options, ring, NULL, 0};
    size_t number = 0;
    int rc = 0;

    memset(ring, 0, sizeof *ring);
    for (const char *line = data; rc == 0 && line < data + len;) {
        const char *end = memchr(line, '\n', (size_t)(data + len - line));
        size_t line_len = (size_t)((end != NULL ? end : data + len) - line);

        number++;
        if (line_len > 0 && strspn(line, " \t\r") < line_len)
            rc = read_at(&build, line, line_len, number, err);
        line += line_len + 1;
    }
    if (rc == 0 && ring->count == 0)
        rc = err_set(err, "%s: no request in it; one JSON object a line", options->file);
    if (rc == 0)
        make_order(ring, build.weights, options->seed);
    free(build.weights);
    return rc;
}

int ring_load(const struct url *url, const struct ring_options *options, struct ring *ring, struct err *err)
{
    char *data = NULL;
    size_t len;
    int rc;

    memset(ring, 0, sizeof *ring);
    if (fsx_read(options->file, FILE_LIMIT, &data, &len, err) != 0)
        return -1;
    rc = ring_parse(url, options, data, len, ring, err);
    free(data);
    return rc;
}

void ring_free(struct ring *ring)
{
    for (size_t i = 0; i < ring->count; i++)
        request_free(&ring->requests[i]);
    free(ring->requests);
    free(ring->order);
    memset(ring, 0, sizeof *ring);
}
