//===- ReportHtml.cpp - the report for a browser --------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReportHtml.h"

#include "Diagnosis.h"
#include "Format.h"
#include "HitRates.h"
#include "SvgPlot.h"

#include <algorithm>
#include <cmath>

namespace pagefold::report {
namespace {

// The palette keeps its order under the common kinds of colour blindness, on light and on dark.
constexpr const char *style = R"(
:root { color-scheme: light dark;
  --page: #fcfcfb; --card: #ffffff; --ink: #1c1b1a; --soft: #6b6964; --rule: #e4e2dd;
  --series-0: #2a78d6; --series-1: #e07b1f; --series-2: #1f9a6b; --series-3: #a44fbf; --series-4: #8a8781; }
@media (prefers-color-scheme: dark) { :root {
  --page: #171716; --card: #201f1e; --ink: #efeeec; --soft: #a3a09a; --rule: #383633;
  --series-0: #5a9be8; --series-1: #eb9448; --series-2: #3fb888; --series-3: #c07ad6; --series-4: #77746f; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 28px 24px 60px; max-width: 1220px; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; }
h1 { font-size: 22px; margin: 0 0 2px; } h2 { font-size: 17px; margin: 34px 0 10px; }
.label-simulated { display: inline-block; font-size: 12px; letter-spacing: .06em; padding: 1px 8px; border-radius: 9px;
  border: 1px solid var(--series-1); color: var(--series-1); vertical-align: 3px; margin-left: 8px; }
.verdict { font-size: 17px; margin: 12px 0 18px; padding: 10px 14px; border-left: 4px solid var(--series-2); background: var(--card); }
.verdict.saturated { border-color: var(--series-1); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(260px, 1fr)); gap: 10px; }
.tile { background: var(--card); border: 1px solid var(--rule); border-radius: 6px; padding: 9px 12px; }
.tile b { display: block; font-size: 19px; font-weight: 600; } .tile span { color: var(--soft); font-size: 13px; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 470px), 1fr)); gap: 14px; align-items: start; }
figure { margin: 0; background: var(--card); border: 1px solid var(--rule); border-radius: 6px; padding: 10px 12px 4px; }
figcaption { font-weight: 600; font-size: 14px; margin-bottom: 2px; } svg { width: 100%; height: auto; display: block; }
.legend { font-size: 12.5px; color: var(--soft); } .legend span { margin-right: 14px; white-space: nowrap; }
.legend i { display: inline-block; width: 10px; height: 10px; border-radius: 2px; margin-right: 5px; vertical-align: -1px; }
.tick, .label { font-size: 11.5px; fill: var(--soft); } .grid { stroke: var(--rule); stroke-width: 1; }
.axis { stroke: var(--soft); stroke-width: 1; } .line { fill: none; stroke-width: 2; stroke-linejoin: round; }
.mark { stroke: var(--ink); stroke-width: 1.2; stroke-dasharray: 4 3; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; background: var(--card); border: 1px solid var(--rule); }
th, td { padding: 4px 12px; text-align: right; border-bottom: 1px solid var(--rule); font-variant-numeric: tabular-nums; }
th:first-child, td:first-child { text-align: left; } th { font-weight: 600; color: var(--soft); font-size: 13px; }
ol.diagnosis > li { margin-bottom: 8px; } ol.diagnosis ul { margin: 2px 0; padding-left: 18px; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 2px 18px; } dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
)";

using Row = std::vector<std::string>;

std::string htmlTable(const Row &head, const std::vector<Row> &rows) {
  std::string out = "<div class=\"scroll\"><table><tr>";
  for (const std::string &cell : head)
    out += "<th>" + escapeHtml(cell) + "</th>";
  out += "</tr>\n";
  for (const Row &row : rows) {
    out += "<tr>";
    for (const std::string &cell : row)
      out += "<td>" + escapeHtml(cell) + "</td>";
    out += "</tr>\n";
  }
  return out + "</table></div>\n";
}

std::string tile(const std::string &value, const std::string &name) {
  return "<div class=\"tile\"><b>" + escapeHtml(value) + "</b><span>" + escapeHtml(name) +
         "</span></div>\n";
}

std::string tiles(const Report &report) {
  const Metrics &metrics = report.metrics;
  std::string reuse = metrics.reuse ? percent(metrics.reuse->byTokens) : "n/a";
  std::string ceiling =
      metrics.reuse ? "hit rate by tokens, of " + percent(metrics.reuse->ceiling) : "hit rate";
  return "<div class=\"tiles\">" +
         tile(duration(metrics.ttft.median) + " / " + duration(metrics.ttft.p99),
              "TTFT p50 / p99") +
         tile(duration(metrics.tpot.median) + " / " + duration(metrics.tpot.p99),
              "TPOT p50 / p99") +
         tile(fixed(metrics.goodput, 2) + " / s",
              "goodput, of " + fixed(metrics.requestThroughput, 2) + " requests / s") +
         tile(grouped(metrics.outputThroughput), "output tokens / s") +
         tile(grouped(metrics.prefillThroughput), "prefilled tokens / s") + tile(reuse, ceiling) +
         tile(percent(metrics.pool.watermark), "watermark of the pool") +
         tile(grouped(double(report.result.scheduler.preemptions)),
              "preemptions, recompute tax " + percent(metrics.recomputeTax, 2)) +
         "</div>\n";
}

std::string diagnosisHtml(const Report &report) {
  std::string out = "<ol class=\"diagnosis\">", topic;
  for (const Finding &finding : diagnose(report)) {
    if (finding.topic != topic) {
      out += (topic.empty() ? "<li><b>" : "</ul></li>\n<li><b>") + escapeHtml(finding.topic) +
             "</b><ul>";
      topic = finding.topic;
    }
    out += "<li>" + escapeHtml(finding.sentence) + "</li>\n";
  }
  return out + "</ul></li></ol>\n";
}

//===----------------------------------------------------------------------===//
// Charts
//===----------------------------------------------------------------------===//

/// The given percentile of a value of the requests that arrived in each of 60 slices of time.
Series percentileOverTime(const Report &report, const char *name, double percent,
                          double (*value)(const RequestRecord &)) {
  constexpr size_t slices = 60;
  double width = std::max(report.trace.duration(), 1e-9) / slices;
  std::vector<std::vector<double>> values(slices);
  for (const RequestRecord &request : report.result.requests)
    if (request.finished && request.outputTokens > 1)
      values[std::min(slices - 1, size_t(request.arrival / width))].push_back(value(request));
  Series series{name, {}};
  for (size_t i = 0; i < slices; ++i) {
    if (values[i].empty())
      continue;
    std::sort(values[i].begin(), values[i].end());
    series.points.emplace_back((i + 0.5) * width, percentile(values[i], percent));
  }
  return series;
}

/// How many per cent of the values lie at or below x, in 200 points.
Series cumulative(const char *name, std::vector<double> values) {
  std::sort(values.begin(), values.end());
  Series series{name, {}};
  for (int i = 0; i <= 200 && !values.empty(); ++i)
    series.points.emplace_back(percentile(values, i / 2.0), i / 2.0);
  return series;
}

template <typename Value> Series overTime(const Report &report, const char *name, Value value) {
  Series series{name, {}};
  const TimeSeries &bins = report.result.series;
  for (size_t i = 0; i < bins.bins().size(); ++i)
    series.points.emplace_back((i + 0.5) * bins.binWidth(), value(bins.bins()[i]));
  return series;
}

double average(double integral, const TimeBin &bin) {
  return bin.time > 0 ? integral / bin.time : 0;
}

std::vector<LineChart> latencyCharts(const Report &report) {
  auto ttft = [](const RequestRecord &r) { return r.ttft(); };
  auto queue = [](const RequestRecord &r) { return r.queueTime(); };
  auto tpot = [](const RequestRecord &r) { return r.tpot() * 1e3; };
  auto stall = [](const RequestRecord &r) { return r.longestGap * 1e3; };
  std::vector<double> ttfts, queues, tpots;
  for (const RequestRecord &request : report.result.requests) {
    if (!request.finished)
      continue;
    ttfts.push_back(request.ttft());
    queues.push_back(request.queueTime());
    if (request.outputTokens > 1)
      tpots.push_back(request.tpot() * 1e3);
  }
  return {{.title = "TTFT by arrival",
           .xLabel = "arrival, s",
           .yLabel = "s",
           .series = {percentileOverTime(report, "TTFT p50", 50, ttft),
                      percentileOverTime(report, "TTFT p95", 95, ttft),
                      percentileOverTime(report, "of it queue, p50", 50, queue)}},
          {.title = "TPOT and longest stall by arrival",
           .xLabel = "arrival, s",
           .yLabel = "ms",
           .series = {percentileOverTime(report, "TPOT p50", 50, tpot),
                      percentileOverTime(report, "TPOT p95", 95, tpot),
                      percentileOverTime(report, "longest gap of a request, p50", 50, stall)}},
          {.title = "TTFT: requests at or below",
           .xLabel = "s (log)",
           .yLabel = "% of requests",
           .series = {cumulative("TTFT", std::move(ttfts)), cumulative("queue", std::move(queues))},
           .logX = true,
           .yMax = 100},
          {.title = "TPOT: requests at or below",
           .xLabel = "ms",
           .yLabel = "% of requests",
           .series = {cumulative("TPOT", std::move(tpots))},
           .yMax = 100}};
}

std::vector<LineChart> loadCharts(const Report &report) {
  double width = report.result.series.binWidth();
  auto running = [](const TimeBin &bin) { return average(bin.integral.running, bin); };
  auto waiting = [](const TimeBin &bin) { return average(bin.integral.waiting, bin); };
  auto prefill = [=](const TimeBin &bin) { return double(bin.prefillTokens) / width; };
  auto decode = [=](const TimeBin &bin) { return double(bin.decodeTokens) / width; };
  auto step = [](const TimeBin &bin) { return bin.longestStep * 1e3; };
  return {{.title = "Requests running and waiting",
           .xLabel = "time, s",
           .yLabel = "requests",
           .series = {overTime(report, "running", running), overTime(report, "waiting", waiting)}},
          {.title = "Prefill throughput",
           .xLabel = "time, s",
           .yLabel = "tokens / s",
           .series = {overTime(report, "prefill", prefill)}},
          {.title = "Decode throughput",
           .xLabel = "time, s",
           .yLabel = "tokens / s",
           .series = {overTime(report, "decode", decode)}},
          {.title = "Longest step",
           .xLabel = "time, s",
           .yLabel = "ms",
           .series = {overTime(report, "longest step", step)}}};
}

LineChart wasteChart(const Report &report) {
  LineChart chart{.title = "Tail waste by page size, all requests at their end",
                  .xLabel = "tokens a page (log)",
                  .yLabel = "% of slots",
                  .series = {{"tail waste", {}}},
                  .logX = true,
                  .markName = "in use",
                  .markX = double(report.result.pageSize)};
  for (uint32_t size = 1; size <= 512; size *= 2)
    chart.series[0].points.emplace_back(size, 100 * finalTailWaste(report.trace, size));
  return chart;
}

std::vector<LineChart> poolCharts(const Report &report) {
  auto live = [](const TimeBin &bin) { return average(bin.integral.livePages, bin); };
  auto idle = [](const TimeBin &bin) { return average(bin.integral.idlePages, bin); };
  auto free = [](const TimeBin &bin) { return average(bin.integral.freePages, bin); };
  double pageSize = report.result.pageSize;
  auto waste = [=](const TimeBin &bin) {
    double slots = bin.integral.livePages * pageSize;
    return slots > 0 ? 100 * (1 - bin.integral.liveTokens / slots) : 0;
  };
  return {{.title = "The pool over time",
           .xLabel = "time, s",
           .yLabel = "pages",
           .series = {overTime(report, "live", live), overTime(report, "idle but cached", idle),
                      overTime(report, "free", free)},
           .stacked = true,
           .yMax = double(report.result.poolPages)},
          {.title = "Internal fragmentation of live pages",
           .xLabel = "time, s",
           .yLabel = "% of slots",
           .series = {overTime(report, "fragmentation", waste)}},
          wasteChart(report)};
}

LineChart capacityChart(const Report &report) {
  const Trace &trace = report.trace;
  LineChart chart{.title = "Hit rate by capacity, inserted at arrival, nothing pinned",
                  .xLabel = "capacity, tokens (log)",
                  .yLabel = "% of prompt tokens",
                  .series = {{"LRU", {}}, {"LFU", {}}},
                  .logX = true,
                  .markName = "this pool",
                  .markX = double(report.result.poolPages) * report.result.pageSize};
  double distinct = double(distinctSpans(trace));
  for (int i = 0; i <= 8; ++i) {
    auto capacity = size_t(std::max(1.0, distinct * std::pow(2.0, i - 8)));
    double tokens = double(capacity) * trace.spanTokens;
    chart.series[0].points.emplace_back(
        tokens, 100 * hitRate(trace, Eviction::LeastRecent, capacity).tokens);
    chart.series[1].points.emplace_back(
        tokens, 100 * hitRate(trace, Eviction::LeastFrequent, capacity).tokens);
  }
  return chart;
}

BarChart sourcesChart(const Report &report) {
  const PromptSources &sources = report.result.sources;
  BarChart chart{"Where prompt tokens came from", {}};
  auto add = [&](const char *name, uint64_t tokens) {
    chart.bars.push_back({name, double(tokens),
                          percent(double(tokens) / std::max(1.0, double(sources.total())), 2)});
  };
  add("reused", sources.reused);
  add("cold", sources.cold);
  add("evicted", sources.evicted);
  add("sub-page or tail", sources.subPage);
  add("last-token cap", sources.lastToken);
  add("in-flight duplicate", sources.inFlight);
  if (sources.disabled)
    add("caching off", sources.disabled);
  return chart;
}

BarChart hitLengthChart(const Report &report) {
  BarChart chart{"hit_len: tokens reused, by requests", {}};
  constexpr uint32_t bounds[] = {0, 512, 1024, 2048, 4096, 8192, 16384, 32768};
  size_t total = 0, below = 0;
  for (const RequestRecord &request : report.result.requests)
    total += request.wasAdmitted;
  auto countUpTo = [&](uint32_t bound) {
    return size_t(std::count_if(
        report.result.requests.begin(), report.result.requests.end(),
        [&](const RequestRecord &r) { return r.wasAdmitted && r.hitTokens <= bound; }));
  };
  auto add = [&](std::string name, size_t count) {
    chart.bars.push_back({std::move(name), double(count),
                          grouped(double(count)) + " (" +
                              percent(double(count) / double(std::max<size_t>(total, 1))) + ")"});
  };
  for (uint32_t bound : bounds) {
    size_t upTo = countUpTo(bound);
    add(bound ? "up to " + grouped(bound) : "none", upTo - below);
    below = upTo;
  }
  add("more", total - below);
  return chart;
}

BarChart timeChart(const Report &report) {
  const TimeSpent &time = report.result.time;
  BarChart chart{"What the device's time went to", {}};
  auto add = [&](const char *name, double seconds) {
    chart.bars.push_back(
        {name, seconds,
         duration(seconds) + " (" + percent(seconds / std::max(time.busy, 1e-12)) + ")"});
  };
  add("prefill: products", time.prefillLinear);
  add("prefill: attention", time.prefillAttention);
  add("decode: products", time.decodeLinear);
  add("decode: attention", time.decodeAttention);
  add("output projection", time.prefillHead + time.decodeHead);
  add("between steps", time.overhead);
  return chart;
}

std::string charts(const Report &report) {
  auto all = [](const std::vector<LineChart> &list) {
    std::string out;
    for (const LineChart &chart : list)
      out += toSvg(chart);
    return out;
  };
  std::string reuse = toSvg(sourcesChart(report));
  if (report.metrics.reuse)
    reuse += toSvg(hitLengthChart(report)) + toSvg(capacityChart(report));
  else
    reuse = "<p>n/a: the trace does not tell which prompts begin alike.</p>";
  return "<h2>Latency</h2><div class=\"charts\">" + all(latencyCharts(report)) +
         "</div>\n<h2>Load and steps</h2><div class=\"charts\">" + all(loadCharts(report)) +
         toSvg(timeChart(report)) + "</div>\n<h2>Pages</h2><div class=\"charts\">" +
         all(poolCharts(report)) + "</div>\n<h2>Reuse</h2><div class=\"charts\">" + reuse +
         "</div>\n";
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

std::string latencyTable(const Report &report) {
  std::vector<Row> rows;
  auto add = [&](const char *name, const Summary &summary) {
    rows.push_back({name, duration(summary.mean), duration(summary.deviation),
                    duration(summary.median), duration(summary.p95), duration(summary.p99),
                    duration(summary.max)});
  };
  const Metrics &metrics = report.metrics;
  add("TTFT", metrics.ttft);
  add("of it queue", metrics.queue);
  add("of it prefill", metrics.prefill);
  add("TPOT", metrics.tpot);
  add("ITL", metrics.itl);
  add("end to end", metrics.endToEnd);
  return htmlTable({"", "mean", "std", "p50", "p95", "p99", "max"}, rows);
}

std::string pagesTable(const Report &report) {
  const PageSurvey &survey = *report.result.survey;
  const PageLives &lives = *report.result.lives;
  auto times = [](const LogHistogram &histogram) {
    return histogram.count()
               ? duration(histogram.quantile(0.5)) + " / " + duration(histogram.quantile(0.99))
               : std::string("none");
  };
  std::vector<Row> rows = {
      {"live / idle / free, time-weighted", percent(report.metrics.pool.live) + " / " +
                                                percent(report.metrics.pool.idle) + " / " +
                                                percent(report.metrics.pool.free)},
      {"pages of a contiguous run, mean", fixed(survey.meanRun(), 1)},
      {"pages in tiles of " + std::to_string(PageSurvey::tileTokens) +
           " tokens that one TMA box takes",
       percent(survey.oneBoxShare())},
      {"page table, most entries", grouped(double(survey.maxTablePages())) + " (" +
                                       bytes(double(survey.maxTablePages()) * 4) + ")"},
      {"shared pages, mean", grouped(survey.meanSharedPages())},
      {"of them outliving their first user", grouped(survey.meanOrphanedPages())},
      {"page lifetime, p50 / p99", times(lives.lifetime)},
      {"reclaimed after idling, p50 / p99", times(lives.idleBeforeEvict)},
      {"found again after, p50 / p99", times(lives.reuseGap)}};
  for (size_t i = 0; i < std::min<size_t>(5, survey.groups().size()); ++i) {
    const SharedGroup &group = survey.groups()[i];
    rows.push_back(
        {"shared at the most: prompts that begin with " + group.prefix,
         grouped(double(group.pages)) + " pages, " + grouped(double(group.holders)) + " requests"});
  }
  return htmlTable({"pages", ""}, rows);
}

std::string whatIfTables(const Report &report) {
  std::vector<Row> groups, layouts, levers;
  for (const GroupRow &row : groupTable(report.cost, report.result))
    groups.push_back({std::to_string(row.kvHeads) + " (" + std::to_string(row.group) + ")" +
                          (row.kvHeads == report.cost.model().kvHeads ? " as is" : ""),
                      bytes(row.kvBytesPerToken), grouped(row.poolTokens),
                      duration(row.decodeAttention), duration(row.meanStep)});
  for (const LayoutRow &row : layoutTable(report.cost, report.result))
    layouts.push_back({row.layout, grouped(row.contiguousBytes), fixed(row.boxesPerTile, 2),
                       row.measured ? "measured" : "not measured"});
  auto add = [&](const std::string &name, const std::string &change, const Lever &lever) {
    levers.push_back({name, duration(lever.endToEnd), change, duration(lever.ttft),
                      duration(lever.tpot), grouped(lever.outputThroughput),
                      fixed(lever.goodput, 2)});
  };
  add("as is", "", report.levers.base);
  for (const Lever &lever : report.levers.tried)
    add(lever.kind + ": " + lever.what, signedPercent(lever.endToEndChange), lever);
  std::string out;
  if (report.levers.requests)
    out += "<p>The first " + grouped(double(report.levers.requests)) +
           " requests, replayed with one change:</p>" +
           htmlTable({"lever", "end to end", "change", "TTFT", "TPOT", "output tok/s", "goodput"},
                     levers);
  return out + "<p>Other GQA groups, by arithmetic on this replay:</p>" +
         htmlTable(
             {"KV heads (group)", "KV a token", "tokens that fit", "decode attention", "mean step"},
             groups) +
         "<p>Layouts; their time is known only from a measured table:</p>" +
         htmlTable({"layout", "contiguous bytes of a head", "boxes a tile", "time"}, layouts);
}

std::string provenance(const Report &report) {
  const Device &device = report.cost.device();
  const Model &model = report.cost.model();
  const runtime::SchedulerOptions &scheduler = report.options.scheduler;
  std::string out = "<dl>";
  auto add = [&](const char *name, const std::string &text) {
    out += std::string("<dt>") + name + "</dt><dd>" + escapeHtml(text) + "</dd>\n";
  };
  add("clock", "simulated: the runtime's page manager and scheduler, on modelled step times");
  add("trace", report.trace.name + ", " + grouped(double(report.trace.requests.size())) +
                   " requests, time scale " + fixed(report.traceOptions.timeScale, 2) +
                   ", jitter " + duration(report.traceOptions.jitter) + ", " +
                   std::to_string(report.trace.skipped.size()) + " bad lines left out");
  add("trace sha256", report.trace.sha256);
  add("model", model.name + ", weights " + nameOf(model.weights) + ", KV " + nameOf(model.kv) +
                   ", " + bytes(model.kvBytesPerToken()) + " a token");
  add("device", device.name + ", " + fixed(device.bandwidth / 1e12, 2) + " TB/s, " +
                    fixed(device.flops16 / 1e12, 0) + " TFLOPS bf16, " +
                    percent(device.memoryFraction, 0) + " of " + fixed(device.memory / 1e9, 0) +
                    " GB");
  add("constants",
      "c " + duration(device.overhead) + ", e_w " + fixed(device.weightEfficiency, 2) + ", e_k " +
          fixed(device.kvEfficiency, 2) + ", e_g " +
          fixed(model.weights == DType::FP8 ? device.gemmEfficiency8 : device.gemmEfficiency16, 2) +
          ", e_a " + fixed(device.attentionEfficiency, 2));
  add("decode attention", report.decodeTimeSource());
  add("prefill attention", report.prefillTimeSource());
  add("pool", grouped(double(report.result.poolPages)) + " pages of " +
                  std::to_string(report.result.pageSize) + " tokens");
  add("scheduler", "budget " + std::to_string(scheduler.tokenBudget) + " tokens, " +
                       std::to_string(scheduler.maxRunning) + " sequences, " +
                       (scheduler.chunkedPrefill ? "chunked" : "whole") + " prefill, watermark " +
                       percent(scheduler.watermark, 0) + ", prefix cache " +
                       (report.options.prefixCaching ? "on" : "off"));
  return out + "</dl>\n";
}

} // namespace

std::string toHtml(const Report &report) {
  std::string title =
      report.trace.name + " on " + report.cost.model().name + ", " + report.cost.device().name;
  bool saturated = report.metrics.saturation.saturated;
  return "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" +
         escapeHtml(title) + " - pagefold-report</title>\n<style>" + style +
         "</style></head>\n<body>\n<h1>" + escapeHtml(title) +
         "<span class=\"label-simulated\">SIMULATED</span></h1>\n<div class=\"verdict" +
         (saturated ? " saturated" : "") + "\">" + escapeHtml(verdict(report)) + "</div>\n" +
         tiles(report) + "<h2>Diagnosis</h2>\n" + diagnosisHtml(report) + charts(report) +
         "<h2>Tables</h2>\n" + latencyTable(report) + "<br>" + pagesTable(report) +
         "<h2>What if</h2>\n" + whatIfTables(report) + "<h2>Provenance</h2>\n" +
         provenance(report) + "</body></html>\n";
}

} // namespace pagefold::report
