//===- pagefold-report.cpp - replays a trace and says what limits it ------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AdvisePageSize.h"
#include "Compare.h"
#include "CostModelCheck.h"
#include "File.h"
#include "Format.h"
#include "HitRates.h"
#include "ReportHtml.h"
#include "ReportJson.h"
#include "ReportText.h"
#include "TextTable.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <unistd.h>

using namespace pagefold::report;
using pagefold::runtime::Error;
using pagefold::runtime::EvictionPolicy;

namespace {

/// Prints the error; the exit code of a command that could not do its work.
int report(const Error &error) {
  std::cerr << "pagefold-report: " << error.message() << "\n";
  return 1;
}

/// What the commands that read a trace have in common.
struct TraceArguments {
  std::string path;
  TraceOptions options;

  void addTo(CLI::App &app) {
    app.add_option("TRACE", path, "Azure csv or Mooncake JSON lines")->required();
    app.add_flag("--skip-bad", options.skipBad,
                 "leave bad lines out instead of stopping at the first");
    app.add_option("--time-scale", options.timeScale, "factor on arrival times: 2 halves the load");
    app.add_option("--jitter", options.jitter,
                   "seconds; spreads each arrival over so much (Mooncake stamps are 3 s apart)");
    app.add_option("--seed", options.seed, "of the jitter");
    app.add_option("--limit", options.limit, "the first so many requests");
    app.add_option("--span-tokens", options.spanTokens, "tokens a hash id stands for (512)");
  }

  Result<Trace> read() const {
    Result<Trace> trace = readTrace(path, options);
    if (trace)
      for (const SkippedLine &line : trace->skipped)
        std::cerr << path << ":" << line.line << ": " << line.reason << ", left out\n";
    return trace;
  }
};

/// What the commands that replay have in common.
struct ServingArguments {
  std::string modelPath, device = "H200";
  std::vector<std::string> kernelPaths;
  ReplayOptions options;
  uint32_t pageSize = 0;
  double memoryGigabytes = 0, overheadMilliseconds = -1;
  bool noPrefixCache = false, wholePrefill = false;
  std::string eviction = "lru";

  void addTo(CLI::App &app) {
    app.add_option("MODEL", modelPath, "config.json of a Hugging Face model, see examples/models")
        ->required();
    app.add_option("--device", device, "H200, H100, A100 or a JSON file");
    app.add_option("--kernels", kernelPaths,
                   "measured attention times; the table for the page size, or else the first");
    app.add_option("--page-size", pageSize, "tokens (the model file's, or 16)")
        ->check(CLI::Range(1, 1024));
    app.add_option("--pool-pages", options.poolPages, "pages (what the device's memory holds)");
    app.add_option("--memory-gb", memoryGigabytes, "device memory, instead of the device's own")
        ->check(CLI::PositiveNumber);
    app.add_option("--overhead-ms", overheadMilliseconds, "c, the time between two steps")
        ->check(CLI::NonNegativeNumber);
    auto &scheduler = options.scheduler;
    app.add_option("--token-budget", scheduler.tokenBudget, "tokens a step (8192)");
    app.add_option("--max-running", scheduler.maxRunning, "sequences at once (1024)");
    app.add_option("--max-prefill-chunk", scheduler.maxPrefillChunk, "tokens of one prompt a step");
    app.add_flag("--whole-prefill", wholePrefill, "no chunks: a prompt runs in one step");
    app.add_flag("--whole-prompt-must-fit", scheduler.wholePromptMustFit,
                 "admit only when all pages of the prompt are there");
    app.add_option("--watermark", scheduler.watermark, "share of the pool that admissions leave");
    app.add_flag("--no-prefix-cache", noPrefixCache, "compute every prompt in full");
    app.add_option("--min-partial-hit", options.minPartialHit,
                   "tokens from which a hit inside a page is copied; 0: never");
    app.add_option("--eviction", eviction, "lru or lfu")->check(CLI::IsMember({"lru", "lfu"}));
  }

  /// The model on the device, with each kernel table in turn, or once without.
  Result<std::vector<CostModel>> costModels();
};

Result<std::vector<CostModel>> ServingArguments::costModels() {
  options.prefixCaching = !noPrefixCache;
  options.scheduler.chunkedPrefill = !wholePrefill;
  options.eviction = eviction == "lfu" ? EvictionPolicy::Lfu : EvictionPolicy::Lru;
  Result<Model> model = readModel(modelPath);
  Result<Device> target = readDevice(device);
  if (!model)
    return tl::unexpected(model.error());
  if (!target)
    return tl::unexpected(target.error());
  if (pageSize)
    model->pageSize = pageSize;
  if (memoryGigabytes > 0)
    target->memory = memoryGigabytes * 1e9;
  if (overheadMilliseconds >= 0)
    target->overhead = overheadMilliseconds / 1e3;
  std::vector<CostModel> models;
  for (const std::string &path : kernelPaths) {
    Result<KernelTable> table = readKernelTable(path, *model, *target);
    if (!table)
      return tl::unexpected(table.error());
    auto place = table->pageSize == model->pageSize ? models.begin() : models.end();
    models.insert(place, CostModel(*model, *target, std::move(*table)));
  }
  if (models.empty())
    models.emplace_back(*model, *target);
  return models;
}

/// "replayed 3,400 of 12,031 requests", rewritten in place; nothing unless someone watches.
std::function<void(size_t, size_t)> progressLine() {
  if (!isatty(STDERR_FILENO))
    return nullptr;
  return [](size_t done, size_t all) {
    std::fprintf(stderr, "\rreplayed %s of %s requests ", grouped(double(done)).c_str(),
                 grouped(double(all)).c_str());
    std::fflush(stderr);
  };
}

void clearProgressLine() {
  if (isatty(STDERR_FILENO))
    std::fputs("\r\033[K", stderr);
}

/// Where the outputs of `replay` go, beside the terminal.
struct Outputs {
  std::string json, html, prometheus;

  pagefold::runtime::Status write(const Report &report) const {
    auto put = [](const std::string &path, auto makeText) -> pagefold::runtime::Status {
      return path.empty() ? pagefold::runtime::Status() : writeFile(path, makeText());
    };
    if (auto done = put(json, [&] { return toJson(report).dump(1) + "\n"; }); !done)
      return done;
    if (auto done = put(html, [&] { return toHtml(report); }); !done)
      return done;
    return put(prometheus, [&] { return toPrometheus(report); });
  }
};

class ReplayCommand {
public:
  CLI::App *addTo(CLI::App &app) {
    CLI::App *command = app.add_subcommand("replay", "the report: a page, --json, --html");
    traceArguments.addTo(*command);
    serving.addTo(*command);
    command->add_option("--json", outputs.json, "write the report as JSON");
    command->add_option("--html", outputs.html, "write the report as one HTML file with plots");
    command->add_option("--prometheus", outputs.prometheus,
                        "write the counters as /metrics shows them");
    command->add_option("--lever-requests", leverRequests,
                        "requests on which changes are tried, one at a time (1000); 0: none");
    command->add_option_function<double>(
        "--slo-ttft-ms", [this](double ms) { levels.ttft = ms / 1e3; }, "of goodput (450)");
    command->add_option_function<double>(
        "--slo-tpot-ms", [this](double ms) { levels.tpot = ms / 1e3; }, "of goodput (40)");
    return command;
  }

  int run() {
    Result<Trace> trace = traceArguments.read();
    if (!trace)
      return report(trace.error());
    Result<std::vector<CostModel>> costs = serving.costModels();
    if (!costs)
      return report(costs.error());
    serving.options.progress = progressLine();
    Result<Report> made = makeReport({std::move(*trace), traceArguments.options, costs->front(),
                                      serving.options, levels, leverRequests});
    clearProgressLine();
    if (!made)
      return report(made.error());
    std::cout << toText(*made);
    if (auto written = outputs.write(*made); !written)
      return report(written.error());
    return 0;
  }

private:
  TraceArguments traceArguments;
  ServingArguments serving;
  ServiceLevels levels;
  Outputs outputs;
  size_t leverRequests = 1000;
};

class AdviceCommand {
public:
  AdviceCommand() { traceArguments.options.limit = 2000; }

  CLI::App *addTo(CLI::App &app) {
    CLI::App *command = app.add_subcommand("advise-page-size", "page sizes 1 to 512 on this trace");
    traceArguments.addTo(*command);
    serving.addTo(*command);
    command->get_option("--limit")->description("the first so many requests (2000), 0 for all");
    return command;
  }

  int run() {
    Result<Trace> trace = traceArguments.read();
    if (!trace)
      return report(trace.error());
    Result<std::vector<CostModel>> costs = serving.costModels();
    if (!costs)
      return report(costs.error());
    Result<PageSizeAdvice> advice = advisePageSize(*trace, *costs, serving.options);
    if (!advice)
      return report(advice.error());
    std::cout << trace->name << ", " << grouped(double(trace->requests.size())) << " requests, on "
              << costs->front().model().name << ", " << costs->front().device().name
              << " (simulated)\n\n"
              << toText(*advice, *trace);
    return 0;
  }

private:
  TraceArguments traceArguments;
  ServingArguments serving;
};

class HitRatesCommand {
public:
  CLI::App *addTo(CLI::App &app) {
    CLI::App *command = app.add_subcommand("hit-rates", "what a cache of a given size could reuse");
    traceArguments.addTo(*command);
    command->add_option("--capacity", capacities, "spans; may be given several times")
        ->check(CLI::PositiveNumber);
    return command;
  }

  int run() const {
    Result<Trace> trace = traceArguments.read();
    if (!trace)
      return report(trace.error());
    if (!trace->hasSpans) {
      std::cout << trace->name << ": n/a, the trace does not tell which prompts begin alike\n";
      return 0;
    }
    printCeiling(*trace);
    printByCapacity(*trace);
    printByGranule(*trace);
    return 0;
  }

private:
  static void printCeiling(const Trace &trace) {
    HitRate all = hitRate(trace, Eviction::LeastRecent, 0);
    std::cout << trace.name << ", infinite cache (" << grouped(double(distinctSpans(trace)))
              << " spans of " << trace.spanTokens << " tokens): " << percent(all.spans)
              << " of spans, " << percent(all.tokens) << " of tokens, " << percent(all.requests)
              << " mean per request\n\n";
  }

  void printByCapacity(const Trace &trace) const {
    TextTable table({"capacity, spans", "tokens", "LRU", "LFU"});
    for (size_t capacity : capacities)
      table.add({grouped(double(capacity)), grouped(double(capacity) * trace.spanTokens),
                 percent(hitRate(trace, Eviction::LeastRecent, capacity).tokens),
                 percent(hitRate(trace, Eviction::LeastFrequent, capacity).tokens)});
    std::cout << "share of prompt tokens found; inserted at arrival, nothing pinned\n"
              << table.text();
  }

  static void printByGranule(const Trace &trace) {
    std::cout << "\ninfinite cache, prefixes found in multiples of\n";
    for (uint32_t granule = trace.spanTokens; granule <= 8 * trace.spanTokens; granule *= 2)
      std::cout << "  " << granule << " tokens: " << percent(hitRateAtGranule(trace, granule))
                << "\n";
    std::cout << "less than " << trace.spanTokens << " tokens cannot be measured from this trace\n";
  }

  TraceArguments traceArguments;
  std::vector<size_t> capacities = {1000, 3000, 10000, 30000, 50000, 100000};
};

int runCostCheck() {
  Result<CostCheckSummary> summary = checkCostModel();
  if (!summary)
    return report(summary.error());
  std::cout << toText(*summary);
  return summary->holds() ? 0 : 1;
}

int runCompare(const std::string &first, const std::string &second) {
  auto text = compareFiles(first, second);
  if (!text)
    return report(text.error());
  std::cout << *text;
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  CLI::App app("Replays a serving trace through Pagefold's page manager and scheduler, on modelled "
               "time, and says what limits it. See docs/report.md.");
  app.require_subcommand(1);

  ReplayCommand replay;
  AdviceCommand advice;
  HitRatesCommand rates;
  std::string first, second;
  CLI::App *replayApp = replay.addTo(app);
  CLI::App *adviceApp = advice.addTo(app);
  CLI::App *compareApp =
      app.add_subcommand("compare", "two JSON reports: what helped, what it cost");
  compareApp->add_option("A.json", first)->required();
  compareApp->add_option("B.json", second)->required();
  CLI::App *ratesApp = rates.addTo(app);
  app.add_subcommand("check-cost-model", "the cost model against published figures");

  CLI11_PARSE(app, argc, argv);
  if (*replayApp)
    return replay.run();
  if (*adviceApp)
    return advice.run();
  if (*compareApp)
    return runCompare(first, second);
  if (*ratesApp)
    return rates.run();
  return runCostCheck();
}
