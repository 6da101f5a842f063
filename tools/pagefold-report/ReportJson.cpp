//===- ReportJson.cpp - the report for programs ---------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReportJson.h"

#include "Diagnosis.h"
#include "Format.h"
#include "HitRates.h"

#include <array>
#include <cmath>

namespace pagefold::report {

using json = nlohmann::ordered_json;

namespace {

void addLatency(json &out, const std::string &name, const Summary &summary) {
  out["mean_" + name + "_ms"] = summary.mean * 1e3;
  out["median_" + name + "_ms"] = summary.median * 1e3;
  out["std_" + name + "_ms"] = summary.deviation * 1e3;
  out["p95_" + name + "_ms"] = summary.p95 * 1e3;
  out["p99_" + name + "_ms"] = summary.p99 * 1e3;
}

void addHeadline(json &out, const Report &report) {
  const Metrics &metrics = report.metrics;
  out["completed"] = metrics.completed;
  out["rejected"] = metrics.rejected;
  out["duration"] = report.result.makespan;
  out["total_input_tokens"] = report.trace.promptTokens();
  out["total_output_tokens"] = report.trace.outputTokens();
  out["request_throughput"] = metrics.requestThroughput;
  out["request_goodput"] = metrics.goodput;
  out["output_throughput"] = metrics.outputThroughput;
  out["total_token_throughput"] = metrics.totalThroughput;
  out["prefill_throughput"] = metrics.prefillThroughput;
  out["max_concurrent_requests"] = report.result.maxRunning;
  addLatency(out, "ttft", metrics.ttft);
  addLatency(out, "tpot", metrics.tpot);
  addLatency(out, "itl", metrics.itl);
  addLatency(out, "e2el", metrics.endToEnd);
  addLatency(out, "queue", metrics.queue);
  addLatency(out, "prefill", metrics.prefill);
  addLatency(out, "decode", metrics.decode);
  out["longest_stall_ms"] = metrics.longestStall * 1e3;
}

json verdictJson(const Report &report) {
  const Metrics &metrics = report.metrics;
  return {{"sentence", verdict(report)},
          {"saturated", metrics.saturation.saturated},
          {"bound_by", nameOf(metrics.bottleneck)},
          {"ttft_growth", metrics.saturation.ttftGrowth},
          {"concurrency_growth", metrics.saturation.concurrencyGrowth},
          {"device_idle_share", metrics.idleTime},
          {"slo_ttft_ms", report.levels.ttft * 1e3},
          {"slo_tpot_ms", report.levels.tpot * 1e3}};
}

json reuseJson(const Report &report) {
  const PromptSources &sources = report.result.sources;
  json out;
  if (!report.metrics.reuse) {
    out["known"] = false;
    out["why"] = "the trace does not tell which prompts begin alike";
    return out;
  }
  const ReuseMetrics &reuse = *report.metrics.reuse;
  out["known"] = true;
  out["hit_rate_tokens"] = reuse.byTokens;
  out["hit_rate_pages"] = reuse.byPages;
  out["hit_rate_requests"] = reuse.byRequests;
  out["hit_rate_mean_per_request"] = reuse.meanPerRequest;
  out["infinite_cache_hit_rate_tokens"] = reuse.ceiling;
  out["compute_saved_s"] = report.computeSaved();
  out["hit_len"] = {{"mean", reuse.hitLength.mean},
                    {"median", reuse.hitLength.median},
                    {"p95", reuse.hitLength.p95},
                    {"p99", reuse.hitLength.p99},
                    {"max", reuse.hitLength.max}};
  out["tokens"] = {{"reused", sources.reused},
                   {"cold", sources.cold},
                   {"evicted", sources.evicted},
                   {"sub_page_or_tail", sources.subPage},
                   {"last_token_cap", sources.lastToken},
                   {"in_flight_duplicate", sources.inFlight},
                   {"caching_disabled", sources.disabled}};
  json reasons;
  for (int i = 0; i < runtime::kNumMissReasons; ++i)
    reasons[runtime::missReasonName(runtime::MissReason(i))] = report.result.pages.missedTokens[i];
  out["manager_missed_tokens"] = reasons;
  return out;
}

json poolJson(const Report &report) {
  const PoolMetrics &pool = report.metrics.pool;
  const runtime::KvCounters &pages = report.result.pages;
  return {{"pages", report.result.poolPages},
          {"pages_that_fit", report.result.pagesThatFit},
          {"page_size", report.result.pageSize},
          {"live_share", pool.live},
          {"idle_share", pool.idle},
          {"free_share", pool.free},
          {"watermark", pool.watermark},
          {"internal_fragmentation", pool.fragmentation},
          {"allocated", pages.allocations},
          {"freed", pages.frees},
          {"held", pages.livePages + pages.idlePages},
          {"evictions", pages.evictions},
          {"copies_on_write", pages.copiesOnWrite},
          {"copies_on_hit", pages.copiesOnHit},
          {"duplicates_merged", pages.duplicatesMerged}};
}

json histogramJson(const LogHistogram &histogram) {
  return {{"count", histogram.count()},
          {"mean", histogram.mean()},
          {"p50", histogram.quantile(0.50)},
          {"p95", histogram.quantile(0.95)},
          {"p99", histogram.quantile(0.99)}};
}

json pagesJson(const Report &report) {
  const PageSurvey &survey = *report.result.survey;
  const PageLives &lives = *report.result.lives;
  json groups = json::array();
  for (const SharedGroup &group : survey.groups()) {
    if (groups.size() == 10)
      break;
    groups.push_back({{"prefix", group.prefix},
                      {"pages", group.pages},
                      {"holders", group.holders},
                      {"first_user_gone", group.orphaned}});
  }
  return {{"surveys", survey.surveys()},
          {"tile_tokens", PageSurvey::tileTokens},
          {"mean_contiguous_run_pages", survey.meanRun()},
          {"one_box_share", survey.oneBoxShare()},
          {"boxes_per_tile", survey.boxesPerTile()},
          {"max_table_entries", survey.maxTablePages()},
          {"mean_table_entries", survey.meanTablePages()},
          {"mean_shared_pages", survey.meanSharedPages()},
          {"mean_shared_pages_first_user_gone", survey.meanOrphanedPages()},
          {"most_shared", groups},
          {"kv_block_lifetime_seconds", histogramJson(lives.lifetime)},
          {"kv_block_idle_before_evict_seconds", histogramJson(lives.idleBeforeEvict)},
          {"kv_block_reuse_gap_seconds", histogramJson(lives.reuseGap)}};
}

json timeJson(const Report &report) {
  const TimeSpent &time = report.result.time;
  const StepCounts &steps = report.result.steps;
  const WaitingTime &waiting = report.result.waiting;
  return {{"busy_s", time.busy},
          {"overhead_s", time.overhead},
          {"prefill_linear_s", time.prefillLinear},
          {"prefill_attention_s", time.prefillAttention},
          {"prefill_head_s", time.prefillHead},
          {"decode_linear_s", time.decodeLinear},
          {"decode_attention_s", time.decodeAttention},
          {"decode_head_s", time.decodeHead},
          {"compute_bound_s", time.compute()},
          {"bandwidth_bound_s", time.bandwidth()},
          {"prefill_compute_bound_s", time.prefillCompute()},
          {"decode_compute_bound_s", time.decodeLinearCompute},
          {"waiting_for_pages_s", waiting.pages},
          {"waiting_for_tokens_s", waiting.tokenBudget},
          {"waiting_for_sequences_s", waiting.sequences},
          {"steps", steps.steps},
          {"prefill_only_steps", steps.prefillOnly},
          {"decode_only_steps", steps.decodeOnly},
          {"mixed_steps", steps.mixed},
          {"prefill_tokens", steps.prefillTokens},
          {"decode_tokens", steps.decodeTokens},
          {"recomputed_tokens", steps.recomputedTokens},
          {"recompute_tax", report.metrics.recomputeTax},
          {"preemptions", report.result.scheduler.preemptions},
          {"attention_launches", steps.attentionLaunches},
          {"product_launches", steps.productLaunches},
          {"longest_step_ms", report.result.maxStep * 1e3}};
}

json seriesJson(const Report &report) {
  const TimeSeries &series = report.result.series;
  json out = {{"bin_s", series.binWidth()}, {"bins", json::array()}};
  for (const TimeBin &bin : series.bins()) {
    double time = bin.time > 0 ? bin.time : 1;
    double slots = bin.integral.livePages * report.result.pageSize;
    out["bins"].push_back({{"busy_s", bin.time},
                           {"live_pages", bin.integral.livePages / time},
                           {"idle_pages", bin.integral.idlePages / time},
                           {"free_pages", bin.integral.freePages / time},
                           {"max_live_pages", bin.maxLivePages},
                           {"running", bin.integral.running / time},
                           {"waiting", bin.integral.waiting / time},
                           {"fragmentation", slots > 0 ? 1 - bin.integral.liveTokens / slots : 0},
                           {"longest_step_ms", bin.longestStep * 1e3},
                           {"prefill_tokens", bin.prefillTokens},
                           {"decode_tokens", bin.decodeTokens}});
  }
  return out;
}

json whatIfJson(const Report &report) {
  json groups = json::array(), layouts = json::array(), levers = json::array();
  for (const GroupRow &row : groupTable(report.cost, report.result))
    groups.push_back({{"kv_heads", row.kvHeads},
                      {"group", row.group},
                      {"kv_bytes_per_token", row.kvBytesPerToken},
                      {"pool_tokens", row.poolTokens},
                      {"decode_attention_s", row.decodeAttention},
                      {"mean_step_ms", row.meanStep * 1e3}});
  for (const LayoutRow &row : layoutTable(report.cost, report.result))
    layouts.push_back({{"layout", row.layout},
                       {"contiguous_bytes", row.contiguousBytes},
                       {"boxes_per_tile", row.boxesPerTile},
                       {"measured", row.measured}});
  auto add = [&](const Lever &lever) {
    levers.push_back({{"kind", lever.kind},
                      {"what", lever.what},
                      {"mean_e2el_ms", lever.endToEnd * 1e3},
                      {"mean_ttft_ms", lever.ttft * 1e3},
                      {"mean_tpot_ms", lever.tpot * 1e3},
                      {"output_throughput", lever.outputThroughput},
                      {"request_goodput", lever.goodput},
                      {"e2el_change", lever.endToEndChange}});
  };
  if (report.levers.requests)
    add(report.levers.base);
  for (const Lever &lever : report.levers.tried)
    add(lever);
  return {{"gqa", groups},
          {"layout", layouts},
          {"levers", levers},
          {"lever_requests", report.levers.requests}};
}

json traceJson(const Report &report) {
  const Trace &trace = report.trace;
  json skipped = json::array();
  for (const SkippedLine &line : trace.skipped)
    skipped.push_back({{"line", line.line}, {"reason", line.reason}});
  return {{"name", trace.name},
          {"format", trace.format},
          {"sha256", trace.sha256},
          {"requests", trace.requests.size()},
          {"duration_s", trace.duration()},
          {"span_tokens", trace.spanTokens},
          {"time_scale", report.traceOptions.timeScale},
          {"jitter_s", report.traceOptions.jitter},
          {"seed", report.traceOptions.seed},
          {"limit", report.traceOptions.limit},
          {"tenants", trace.tenants.size()},
          {"adapters", trace.adapters.size()},
          {"skipped_lines", skipped}};
}

json modelJson(const Model &model) {
  return {{"name", model.name},
          {"num_hidden_layers", model.layers},
          {"hidden_size", model.hidden},
          {"intermediate_size", model.intermediate},
          {"num_attention_heads", model.queryHeads},
          {"num_key_value_heads", model.kvHeads},
          {"head_dim", model.headDim},
          {"vocab_size", model.vocabulary},
          {"weight_dtype", nameOf(model.weights)},
          {"kv_dtype", nameOf(model.kv)},
          {"linear_elements", model.linearElements()},
          {"lm_head_elements", model.lmHeadElements()},
          {"kv_bytes_per_token", model.kvBytesPerToken()}};
}

json deviceJson(const Device &device) {
  return {{"name", device.name},
          {"peak_tflops", device.flops16 / 1e12},
          {"fp8_tflops", device.flops8 / 1e12},
          {"bandwidth_tb_s", device.bandwidth / 1e12},
          {"memory_gb", device.memory / 1e9},
          {"memory_fraction", device.memoryFraction},
          {"reserve_gb", device.reserve / 1e9},
          {"overhead_ms", device.overhead * 1e3},
          {"weight_efficiency", device.weightEfficiency},
          {"kv_efficiency", device.kvEfficiency},
          {"gemm_efficiency", device.gemmEfficiency16},
          {"gemm_efficiency_fp8", device.gemmEfficiency8},
          {"attention_efficiency", device.attentionEfficiency}};
}

json servingJson(const Report &report) {
  const runtime::SchedulerOptions &scheduler = report.options.scheduler;
  return {{"page_size", report.result.pageSize},
          {"pool_pages", report.result.pagesThatFit},
          {"prefix_caching", report.options.prefixCaching},
          {"min_partial_hit", report.options.minPartialHit},
          {"eviction", report.options.eviction == runtime::EvictionPolicy::Lru ? "lru" : "lfu"},
          {"token_budget", scheduler.tokenBudget},
          {"max_running", scheduler.maxRunning},
          {"chunked_prefill", scheduler.chunkedPrefill},
          {"max_prefill_chunk", scheduler.maxPrefillChunk},
          {"whole_prompt_must_fit", scheduler.wholePromptMustFit},
          {"watermark", scheduler.watermark}};
}

json provenanceJson(const Report &report) {
  return {{"clock", "simulated: the runtime's page manager and scheduler, on modelled step times"},
          {"decode_attention_time", report.decodeTimeSource()},
          {"prefill_attention_time", report.prefillTimeSource()},
          {"trace", traceJson(report)},
          {"model", modelJson(report.cost.model())},
          {"device", deviceJson(report.cost.device())},
          {"serving", servingJson(report)}};
}

/// Request times in buckets as a server exports them: cumulative, with their sum and count.
json promHistogram(const Report &report, double (*value)(const RequestRecord &)) {
  constexpr std::array bounds = {0.3,  0.5,   0.8,   1.0,   1.5,   2.0,    2.5,
                                 5.0,  10.0,  15.0,  20.0,  30.0,  40.0,   50.0,
                                 60.0, 120.0, 240.0, 480.0, 960.0, 1920.0, 7680.0};
  json buckets = json::object();
  double sum = 0;
  size_t count = 0;
  std::array<size_t, bounds.size()> below{};
  for (const RequestRecord &request : report.result.requests) {
    if (!request.finished)
      continue;
    double seconds = value(request);
    sum += seconds;
    ++count;
    for (size_t i = 0; i < bounds.size(); ++i)
      below[i] += seconds <= bounds[i];
  }
  for (size_t i = 0; i < bounds.size(); ++i)
    buckets[fixed(bounds[i], 1)] = below[i];
  return {{"buckets", buckets}, {"sum", sum}, {"count", count}};
}

json prometheusJson(const Report &report) {
  const runtime::KvCounters &pages = report.result.pages;
  const runtime::SchedulerCounters &scheduler = report.result.scheduler;
  auto queue = [](const RequestRecord &r) { return r.queueTime(); };
  auto prefill = [](const RequestRecord &r) { return r.firstToken - r.admitted; };
  auto decode = [](const RequestRecord &r) { return r.lastToken - r.firstToken; };
  return {{"kv_cache_usage_perc", double(pages.livePages) / pages.totalPages},
          {"prefix_cache_queries", pages.queriedTokens},
          {"prefix_cache_hits", pages.hitTokens},
          {"num_requests_running", scheduler.running},
          {"num_requests_waiting", scheduler.waiting},
          {"num_preemptions", scheduler.preemptions},
          {"iteration_tokens_total", scheduler.scheduledTokens},
          {"request_queue_time_seconds", promHistogram(report, queue)},
          {"request_prefill_time_seconds", promHistogram(report, prefill)},
          {"request_decode_time_seconds", promHistogram(report, decode)}};
}

} // namespace

json toJson(const Report &report) {
  json out = {{"format", "pagefold-report"}, {"version", jsonVersion}, {"label", "simulated"}};
  out["verdict"] = verdictJson(report);
  addHeadline(out, report);
  out["reuse"] = reuseJson(report);
  out["pool"] = poolJson(report);
  out["pages"] = pagesJson(report);
  out["time"] = timeJson(report);
  out["what_if"] = whatIfJson(report);
  out["diagnosis"] = json::array();
  for (const Finding &finding : diagnose(report))
    out["diagnosis"].push_back({{"topic", finding.topic}, {"sentence", finding.sentence}});
  out["prometheus"] = prometheusJson(report);
  out["provenance"] = provenanceJson(report);
  out["series"] = seriesJson(report);
  return out;
}

std::string toPrometheus(const Report &report) {
  std::string text = "# simulated by pagefold-report from " + report.trace.name + "\n";
  const json metrics = prometheusJson(report);
  for (const auto &[name, value] : metrics.items()) {
    if (value.is_object()) {
      text += "# TYPE " + name + " histogram\n";
      for (const auto &[bound, count] : value["buckets"].items())
        text += name + "_bucket{le=\"" + bound + "\"} " + count.dump() + "\n";
      text += name + "_bucket{le=\"+Inf\"} " + value["count"].dump() + "\n";
      text += name + "_sum " + value["sum"].dump() + "\n";
      text += name + "_count " + value["count"].dump() + "\n";
      continue;
    }
    bool isGauge = name == "kv_cache_usage_perc" || name.find("num_requests") == 0;
    text += "# TYPE " + name + (isGauge ? " gauge\n" : " counter\n");
    text += name + " " + value.dump() + "\n";
  }
  return text;
}

} // namespace pagefold::report
