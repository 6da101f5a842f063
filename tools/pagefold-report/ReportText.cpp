//===- ReportText.cpp - the report for a terminal -------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReportText.h"

#include "Diagnosis.h"
#include "Format.h"
#include "TextTable.h"

namespace pagefold::report {
namespace {

constexpr size_t pageWidth = 108, titleWidth = 14;

/// Breaks a text into lines that fit the page; later lines begin under the first.
std::string wrapped(const std::string &first, const std::string &text) {
  std::string out, line = first;
  bool isEmpty = true;
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find(' ', at), text.size());
    std::string word = text.substr(at, end - at);
    if (!isEmpty && displayWidth(line) + 1 + displayWidth(word) > pageWidth) {
      out += line + "\n";
      line = std::string(displayWidth(first), ' ');
      isEmpty = true;
    }
    line += (isEmpty ? "" : " ") + word;
    isEmpty = false;
    at = end + 1;
  }
  return out + line + "\n";
}

/// " 3 TPOT, ITL    text": a section of the page.
std::string section(int number, const std::string &title, const std::string &text) {
  std::string head = (number < 10 ? " " : "") + std::to_string(number) + " " + title;
  head += std::string(displayWidth(head) < titleWidth + 3 ? titleWidth + 3 - displayWidth(head) : 1,
                      ' ');
  return wrapped(head, text);
}

/// A further line of the section above.
std::string more(const std::string &text) {
  return wrapped(std::string(titleWidth + 3, ' '), text);
}

std::string heading(const Report &report) {
  std::string title = "pagefold-report  SIMULATED  " + report.trace.name + " on " +
                      report.cost.model().name + ", " + report.cost.device().name;
  return title + "\n" + std::string(std::min(displayWidth(title), pageWidth), '=') + "\n";
}

std::string latencyTable(const Metrics &metrics) {
  TextTable table({"", "mean", "p50", "p95", "p99", "max"});
  auto add = [&](const char *name, const Summary &summary) {
    table.add({name, duration(summary.mean), duration(summary.median), duration(summary.p95),
               duration(summary.p99), duration(summary.max)});
  };
  add("TTFT", metrics.ttft);
  add("  queue", metrics.queue);
  add("  prefill", metrics.prefill);
  add("TPOT", metrics.tpot);
  add("ITL", metrics.itl);
  add("end to end", metrics.endToEnd);
  return table.text(titleWidth + 3);
}

std::string latencySection(const Report &report) {
  const Metrics &metrics = report.metrics;
  double queue = metrics.ttft.mean > 0 ? metrics.queue.mean / metrics.ttft.mean : 0;
  return section(2, "TTFT", percent(queue) + " of the mean is queue") + latencyTable(metrics) +
         section(3, "TPOT, ITL",
                 "longest stall between two tokens " + duration(metrics.longestStall) +
                     ", longest step " + duration(report.result.maxStep));
}

std::string throughputSection(const Report &report) {
  const Metrics &metrics = report.metrics;
  return section(4, "throughput",
                 "goodput " + fixed(metrics.goodput, 2) + " of " +
                     fixed(metrics.requestThroughput, 2) + " requests/s (" +
                     percent(metrics.goodShare) + " meet TTFT " + duration(report.levels.ttft) +
                     " and TPOT " + duration(report.levels.tpot) + ")") +
         more("prefill " + grouped(metrics.prefillThroughput) + ", output " +
              grouped(metrics.outputThroughput) + ", all " + grouped(metrics.totalThroughput) +
              " tokens/s; " + grouped(metrics.completed) + " requests in " +
              duration(report.result.makespan) +
              (metrics.rejected ? ", " + grouped(metrics.rejected) + " could never run (" +
                                      report.result.firstRejection + ")"
                                : ""));
}

std::string reuseSection(const Report &report) {
  if (!report.metrics.reuse)
    return section(5, "hit rate", "n/a: the trace does not tell which prompts begin alike") +
           section(6, "misses", "n/a");
  const ReuseMetrics &reuse = *report.metrics.reuse;
  const PromptSources &sources = report.result.sources;
  auto part = [&](uint64_t tokens) { return percent(double(tokens) / double(sources.total())); };
  std::string misses =
      "of prompt tokens: cold " + part(sources.cold) + ", evicted " + part(sources.evicted) +
      ", sub-page or tail " + percent(double(sources.subPage) / double(sources.total()), 2) +
      ", last-token cap " + percent(double(sources.lastToken) / double(sources.total()), 2) +
      ", in-flight duplicate " + part(sources.inFlight);
  if (sources.disabled)
    misses += ", caching off " + part(sources.disabled);
  return section(5, "hit rate",
                 percent(reuse.byTokens) + " of prompt tokens, of " + percent(reuse.ceiling) +
                     " with an infinite cache; " + percent(reuse.byPages) + " of pages, " +
                     percent(reuse.byRequests) + " of requests") +
         more("reused tokens " + grouped(double(sources.reused)) + "; hit_len mean " +
              grouped(reuse.hitLength.mean) + ", p50 " + grouped(reuse.hitLength.median) +
              ", p95 " + grouped(reuse.hitLength.p95) + ", p99 " + grouped(reuse.hitLength.p99) +
              "; device time saved " + duration(report.computeSaved())) +
         more("reuse shorter than " + std::to_string(report.trace.spanTokens) +
              " tokens is not in this trace, nor that of outputs: a lower bound") +
         section(6, "misses", misses);
}

std::string poolSection(const Report &report) {
  const PoolMetrics &pool = report.metrics.pool;
  const ReplayResult &result = report.result;
  const PageLives &lives = *result.lives;
  auto times = [](const LogHistogram &histogram) {
    return histogram.count() ? "p50 " + duration(histogram.quantile(0.5)) + ", p99 " +
                                   duration(histogram.quantile(0.99))
                             : std::string("none");
  };
  return section(7, "KV over time",
                 "live " + percent(pool.live) + ", idle but cached " + percent(pool.idle) +
                     ", free " + percent(pool.free) + " of " + grouped(double(result.poolPages)) +
                     " pages" +
                     (result.pagesThatFit > result.poolPages
                          ? " (all the trace can fill; " + grouped(double(result.pagesThatFit)) +
                                " fit)"
                          : "") +
                     "; watermark " + percent(pool.watermark)) +
         more("running at most " + grouped(result.maxRunning) + ", waiting at most " +
              grouped(result.maxWaiting) + "; somebody waited for pages " +
              duration(result.waiting.pages) + ", tokens " + duration(result.waiting.tokenBudget) +
              ", sequences " + duration(result.waiting.sequences)) +
         more("page lifetime " + times(lives.lifetime) + "; reclaimed after idling " +
              times(lives.idleBeforeEvict) + "; found again after " + times(lives.reuseGap));
}

std::string sharingLine(const Report &report) {
  const PageSurvey &survey = *report.result.survey;
  if (survey.groups().empty())
    return more("no page was seen shared by two running requests");
  std::string text = "shared pages " + grouped(survey.meanSharedPages()) + " on average, " +
                     grouped(survey.meanOrphanedPages()) +
                     " of them outlived their first user; at the most, kept alive by:";
  size_t shown = 0;
  for (const SharedGroup &group : survey.groups()) {
    if (shown++ == 3)
      break;
    text += std::string(shown > 1 ? ";" : "") + " " + grouped(double(group.holders)) +
            " requests that begin with " + group.prefix + " (" + grouped(double(group.pages)) +
            " pages)";
  }
  return more(text);
}

std::string preemptionSection(const Report &report) {
  const StepCounts &steps = report.result.steps;
  return section(8, "preemptions",
                 grouped(double(report.result.scheduler.preemptions)) + "; recompute tax " +
                     percent(report.metrics.recomputeTax, 2) + " (" +
                     grouped(double(steps.recomputedTokens)) + " tokens)");
}

std::string fragmentationSection(const Report &report) {
  const PageSurvey &survey = *report.result.survey;
  const PoolMetrics &pool = report.metrics.pool;
  uint32_t pageSize = report.result.pageSize;
  TextTable waste({"page size", "1", "16", "64", "256"});
  std::vector<std::string> row = {"tail waste, all requests at their end"};
  for (uint32_t size : {1u, 16u, 64u, 256u})
    row.push_back(percent(finalTailWaste(report.trace, size), 2));
  waste.add(row);
  return section(9, "fragmentation",
                 percent(pool.fragmentation, 2) + " of live pages holds nothing (pages of " +
                     std::to_string(pageSize) + "); usage " + percent(pool.live) + ", filled " +
                     percent(pool.live * (1 - pool.fragmentation))) +
         more("locality: runs of " + fixed(survey.meanRun(), 1) + " pages; " +
              percent(survey.oneBoxShare()) + " of pages in tiles of " +
              std::to_string(PageSurvey::tileTokens) + " tokens that one TMA box could take; " +
              fixed(survey.boxesPerTile(), 2) + " boxes a tile") +
         more("page table at most " + grouped(double(survey.maxTablePages())) + " entries (" +
              bytes(double(survey.maxTablePages()) * 4) + ")") +
         waste.text(titleWidth + 3) + sharingLine(report);
}

std::string stepLines(const Report &report) {
  const TimeSpent &time = report.result.time;
  const StepCounts &steps = report.result.steps;
  auto part = [&](double seconds) { return percent(time.busy > 0 ? seconds / time.busy : 0); };
  double count = steps.steps ? double(steps.steps) : 1;
  return wrapped("   steps         ",
                 grouped(double(steps.steps)) + " (" + grouped(double(steps.prefillOnly)) +
                     " prefill, " + grouped(double(steps.decodeOnly)) + " decode, " +
                     grouped(double(steps.mixed)) + " mixed), mean " + duration(time.busy / count) +
                     "; a step has " + fixed(double(steps.attentionLaunches) / count, 0) +
                     " attention and " + fixed(double(steps.productLaunches) / count, 0) +
                     " product launches (modelled) and a gap of " +
                     duration(report.cost.device().overhead)) +
         more("time: prefill products " + part(time.prefillLinear) + ", attention " +
              part(time.prefillAttention) + "; decode products " + part(time.decodeLinear) +
              ", attention " + part(time.decodeAttention) + "; output projection " +
              part(time.prefillHead + time.decodeHead) + "; gaps " + part(time.overhead));
}

std::string provenanceSection(const Report &report) {
  const Device &device = report.cost.device();
  const Model &model = report.cost.model();
  const Trace &trace = report.trace;
  std::string load = grouped(double(trace.requests.size())) + " requests";
  if (trace.duration() > 0)
    load += ", " + fixed(double(trace.requests.size()) / trace.duration(), 2) + "/s, " +
            grouped(double(trace.promptTokens()) / trace.duration()) + " prompt tokens/s offered";
  load += ", time scale " + fixed(report.traceOptions.timeScale, 2) + ", jitter " +
          duration(report.traceOptions.jitter) + ", " + std::to_string(trace.skipped.size()) +
          " bad lines left out";
  const runtime::SchedulerOptions &scheduler = report.options.scheduler;
  return section(10, "provenance",
                 "simulated clock; trace sha256 " + trace.sha256.substr(0, 16) + "..., " + load) +
         more("decode attention from " + report.decodeTimeSource() + ", prefill attention from " +
              report.prefillTimeSource()) +
         more("c " + duration(device.overhead) + ", e_w " + fixed(device.weightEfficiency, 2) +
              ", e_k " + fixed(device.kvEfficiency, 2) + ", e_g " +
              fixed(model.weights == DType::FP8 ? device.gemmEfficiency8 : device.gemmEfficiency16,
                    2) +
              ", e_a " + fixed(device.attentionEfficiency, 2) + "; " +
              fixed(device.bandwidth / 1e12, 2) + " TB/s, " + fixed(device.flops16 / 1e12, 0) +
              " TFLOPS bf16, " + fixed(device.flops8 / 1e12, 0) + " fp8, " +
              percent(device.memoryFraction, 0) + " of " + fixed(device.memory / 1e9, 0) + " GB") +
         more(std::string("weights ") + nameOf(model.weights) + ", KV " + nameOf(model.kv) + ", " +
              bytes(model.kvBytesPerToken()) + " a token; budget " +
              std::to_string(scheduler.tokenBudget) + " tokens, " +
              std::to_string(scheduler.maxRunning) + " sequences, " +
              (scheduler.chunkedPrefill ? "chunked" : "whole") + " prefill, watermark " +
              percent(scheduler.watermark, 0) + ", prefix cache " +
              (report.options.prefixCaching ? "on" : "off"));
}

std::string groupText(const Report &report) {
  TextTable table({"what if, KV heads (group)", "KV a token", "tokens that fit", "decode attention",
                   "mean step"});
  for (const GroupRow &row : groupTable(report.cost, report.result)) {
    bool isOwn = row.kvHeads == report.cost.model().kvHeads;
    table.add({std::to_string(row.kvHeads) + " (" + std::to_string(row.group) + ")" +
                   (isOwn ? " as is" : ""),
               bytes(row.kvBytesPerToken), grouped(row.poolTokens), duration(row.decodeAttention),
               duration(row.meanStep)});
  }
  return table.text();
}

std::string layoutText(const Report &report) {
  TextTable table({"what if, layout", "contiguous bytes of a head", "boxes a tile", "time"});
  for (const LayoutRow &row : layoutTable(report.cost, report.result))
    table.add({row.layout, grouped(row.contiguousBytes), fixed(row.boxesPerTile, 2),
               row.measured ? "measured" : "not measured"});
  return table.text();
}

std::string leverText(const Report &report) {
  const Levers &levers = report.levers;
  if (levers.requests == 0)
    return "";
  bool isAll = levers.requests == report.trace.requests.size();
  TextTable table({isAll ? "what if, replayed"
                         : "what if, first " + grouped(double(levers.requests)) + " requests",
                   "end to end", "change", "TTFT", "TPOT", "output tok/s", "goodput"});
  auto add = [&](const std::string &name, const std::string &change, const Lever &lever) {
    table.add({name, duration(lever.endToEnd), change, duration(lever.ttft), duration(lever.tpot),
               grouped(lever.outputThroughput), fixed(lever.goodput, 2)});
  };
  add("as is", "", levers.base);
  for (const Lever &lever : levers.tried)
    add(lever.kind + ": " + lever.what, signedPercent(lever.endToEndChange), lever);
  return table.text() + "\n";
}

std::string diagnosisText(const Report &report) {
  std::string out = "DIAGNOSIS\n", topic;
  int number = 0;
  for (const Finding &finding : diagnose(report)) {
    if (finding.topic != topic) {
      topic = finding.topic;
      out += " " + std::to_string(++number) + " " + topic + "\n";
    }
    out += wrapped("   - ", finding.sentence);
  }
  return out;
}

} // namespace

std::string toText(const Report &report) {
  return heading(report) + section(1, "verdict", verdict(report)) + latencySection(report) +
         throughputSection(report) + reuseSection(report) + poolSection(report) +
         preemptionSection(report) + fragmentationSection(report) + provenanceSection(report) +
         stepLines(report) + "\n" + groupText(report) + "\n" + layoutText(report) + "\n" +
         leverText(report) + diagnosisText(report);
}

} // namespace pagefold::report
