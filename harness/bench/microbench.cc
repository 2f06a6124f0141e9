// The hot paths, one by one: what a request costs the generator beyond its system calls, and a line of the CSV.
//
//   make microbench                                  all of them
//   build/microbench --benchmark_filter=answer --benchmark_repetitions=5 --benchmark_format=json
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <unistd.h>
#include <vector>

extern "C" {
#include "base/text.h"
#include "load/deadline.h"
#include "load/histogram.h"
#include "load/http_answer.h"
#include "load/http_memo.h"
#include "load/request.h"
#include "results/csv.h"
#include "results/record.h"
#include "results/tables.h"
}

namespace
{
const std::string head = "HTTP/1.1 200 OK\r\nServer: bench\r\nContent-Type: application/json; charset=utf-8\r\n"
                         "Date: Mon, 30 Nov 2026 12:34:56 GMT\r\n";
const std::string small_answer = head + "Content-Length: 11\r\n\r\n{\"ok\":true}";
const std::string large_answer = head + "Content-Length: 16384\r\n\r\n" + std::string(16384, 'x');
const std::string chunked_answer = head + "Transfer-Encoding: chunked\r\n\r\nb\r\n{\"ok\":true}\r\n0\r\n\r\n";

void read_answer(benchmark::State &state, const std::string &bytes, size_t piece)
{
    for (auto _ : state) {
        struct http_answer answer;
        enum http_answer_result result = HTTP_ANSWER_MORE;

        http_answer_begin(&answer, false);
        for (size_t at = 0; at < bytes.size() && result == HTTP_ANSWER_MORE;) {
            size_t used;

            result = http_answer_feed(&answer, bytes.data() + at, std::min(piece, bytes.size() - at), &used);
            at += used;
        }
        if (result != HTTP_ANSWER_DONE)
            state.SkipWithError("the answer was not read");
        benchmark::DoNotOptimize(answer);
    }
    state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * bytes.size()));
}

void answer_small(benchmark::State &state)
{
    read_answer(state, small_answer, small_answer.size());
}

void answer_bytewise(benchmark::State &state)
{
    read_answer(state, small_answer, 1);
}

void answer_chunked(benchmark::State &state)
{
    read_answer(state, chunked_answer, chunked_answer.size());
}

void answer_16k(benchmark::State &state)
{
    read_answer(state, large_answer, large_answer.size());
}

// The usual case: the head is that of the last answer.
void answer_memo(benchmark::State &state)
{
    static struct http_memo memo;
    struct http_answer answer;
    size_t used;

    http_answer_begin(&answer, false);
    http_answer_feed(&answer, small_answer.data(), small_answer.size(), &used);
    http_memo_keep(&memo, &answer, small_answer.data(), small_answer.size());
    for (auto _ : state) {
        bool hit = http_memo_hit(&memo, false, small_answer.data(), small_answer.size());

        if (!hit)
            state.SkipWithError("no hit");
        benchmark::DoNotOptimize(hit);
        benchmark::ClobberMemory();
    }
}

std::vector<int64_t> latencies()
{
    std::vector<int64_t> values;
    uint64_t seed = 42;

    for (int i = 0; i < 4096; i++) {
        seed = seed * 6364136223846793005U + 1442695040888963407U;
        values.push_back(static_cast<int64_t>(50000 * std::exp2(static_cast<double>(seed >> 40) / 16777216.0 * 4)));
    }
    return values;
}

void histogram_record_one(benchmark::State &state)
{
    static struct histogram histogram;
    const std::vector<int64_t> values = latencies();
    size_t i = 0;

    for (auto _ : state) {
        histogram_record(&histogram, values[i++ & 4095]);
        benchmark::ClobberMemory();
    }
}

void histogram_merge_two(benchmark::State &state)
{
    static struct histogram into;
    static struct histogram from;

    for (int64_t value : latencies())
        histogram_record(&from, value);
    for (auto _ : state) {
        histogram_merge(&into, &from);
        benchmark::ClobberMemory();
    }
}

// A request is answered and the next begins: its deadline moves on; now and then one is due for a look.
void deadline_per_request(benchmark::State &state)
{
    auto count = static_cast<uint32_t>(state.range(0));
    std::vector<struct deadline> deadlines(count, {DEADLINE_NEVER, 0, 0});
    struct deadline_heap heap;
    int64_t now = 0;
    uint32_t i = 0;

    deadline_heap_init(&heap, count);
    for (auto _ : state) {
        now += 5000;
        deadline_set(&heap, &deadlines[i], now + 2000000000);
        if (++i == count)
            i = 0;
        if (deadline_next_ns(&heap) <= now)
            benchmark::DoNotOptimize(deadline_pop(&heap, now));
    }
    deadline_heap_free(&heap);
}

// One request for all, or the next of many: what a ring costs.
void request_pick(benchmark::State &state)
{
    auto count = static_cast<size_t>(state.range(0));
    std::vector<struct request> requests(count);
    std::vector<uint32_t> order;
    size_t next = 0;

    srand(1);
    for (size_t i = 0; i < count; i++)
        order.push_back(static_cast<uint32_t>(static_cast<size_t>(rand()) % count));
    for (auto _ : state)
        benchmark::DoNotOptimize(request_next(requests.data(), count > 1 ? order.data() : nullptr, count, &next));
}

void clock_read(benchmark::State &state)
{
    struct timespec now;

    for (auto _ : state) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        benchmark::DoNotOptimize(now);
    }
}

void csv_line(benchmark::State &state)
{
    struct csv_line line = {};
    struct text text = {};
    struct err err = {};

    line.utc = "2026-11-30T12:34:56Z";
    line.server = "Go 1.27 \xc2\xb7 net/http";
    line.round = 1;
    line.test = "select_1";
    line.connections = 50;
    line.requests_per_s = 31240.5;
    line.latency_p50_ms = 1.512;
    line.latency_p99_ms = 3.401;
    line.responses_2xx = 468608;
    line.cpu_server_s = 14.71;
    line.cpu_postgres_s = 9.32;
    line.working_set_mb = 21.4;
    line.private_mb = 55.1;
    line.startup_s = 0.041;
    line.cpu_server_user_s = 8.2;
    line.cpu_server_kernel_s = 6.51;
    for (auto _ : state) {
        text_clear(&text);
        if (csv_format_line(&line, &text, &err) != 0)
            state.SkipWithError(err.text);
        benchmark::DoNotOptimize(text.data);
    }
    text_free(&text);
}

// A CSV of a million lines, three rows with four tests, in a file that is gone when the program ends.
std::string million_lines()
{
    static const char *const servers[] = {"Rust 1.95 \xc2\xb7 axum", "Go 1.27 \xc2\xb7 net/http",
                                          "\"Node 24, 6 processes\""};
    static const char *const tests[] = {"ping", "select_1", "select_50", "insert_100"};
    char path[] = "/tmp/restbench-microbench-XXXXXX";
    FILE *file = fdopen(mkstemp(path), "w");
    struct text header = {};

    csv_header(&header);
    fprintf(file, "%s\n", header.data);
    text_free(&header);
    for (int i = 0; i < 1000000; i++) {
        double rate = 20000 + i % 5000 * 7919 % 5000;

        fprintf(file,
                "2026-11-30T12:34:56Z,%s,%d,%s,%d,%.2f,1.512,3.401,%.0f,0,14.710000,9.320000,21.40,55.10,0.04,8.200000,"
                "6.510000\n",
                servers[i / 8 % 3], i / 24 + 1, tests[i / 2 % 4], i % 2 ? 200 : 50, rate, rate * 15);
    }
    fclose(file);
    return path;
}

void report_million(benchmark::State &state)
{
    std::string path = million_lines();

    for (auto _ : state) {
        struct record record;
        struct text text = {};
        struct err err = {};

        if (record_open(path.c_str(), &record, &err) != 0) {
            state.SkipWithError(err.text);
            break;
        }
        tables_write(&record, &text);
        benchmark::DoNotOptimize(text.data);
        text_free(&text);
        record_close(&record);
    }
    state.SetItemsProcessed(static_cast<int64_t>(state.iterations()) * 1000000);
    unlink(path.c_str());
}

BENCHMARK(answer_small);
BENCHMARK(answer_bytewise);
BENCHMARK(answer_chunked);
BENCHMARK(answer_16k);
BENCHMARK(answer_memo);
BENCHMARK(histogram_record_one);
BENCHMARK(histogram_merge_two);
BENCHMARK(deadline_per_request)->Arg(50)->Arg(10000);
BENCHMARK(request_pick)->Arg(1)->Arg(100000);
BENCHMARK(clock_read);
BENCHMARK(csv_line);
BENCHMARK(report_million)->Unit(benchmark::kMillisecond);
} // namespace

BENCHMARK_MAIN();
