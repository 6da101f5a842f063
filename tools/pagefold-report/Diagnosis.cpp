//===- Diagnosis.cpp - what the numbers say, in the order to ask ----------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Diagnosis.h"

#include "Format.h"
#include "HitRates.h"

#include <algorithm>

namespace pagefold::report {
namespace {

double share(double part, double whole) { return whole > 0 ? part / whole : 0; }

std::string largestPart(const TimeSpent &time) {
  if (time.overhead > std::max(time.prefill(), time.decode()))
    return "the time between steps";
  return time.prefill() > time.decode() ? "prefill" : "decode";
}

std::string phaseShares(const Report &report) {
  const TimeSpent &time = report.result.time;
  return "Prefill takes " + percent(share(time.prefill(), time.busy)) + " of the device's time, " +
         "decode " + percent(share(time.decode(), time.busy)) + ", and " +
         percent(share(time.overhead, time.busy)) + " passes between steps (" +
         duration(report.cost.device().overhead) + " x " + grouped(report.result.steps.steps) +
         "): look at " + largestPart(time) + " first.";
}

std::string rooflineClasses(const Report &report) {
  const TimeSpent &time = report.result.time;
  auto classify = [](const char *phase, double compute, double all) {
    double part = share(compute, all);
    bool isCompute = part >= 0.5;
    return std::string(phase) + " is bound by " + (isCompute ? "compute" : "bandwidth") + " (" +
           percent(isCompute ? part : 1 - part) + " of its time)";
  };
  return classify("Prefill", time.prefillCompute(), time.prefill()) + "; " +
         classify("decode", time.decodeLinearCompute, time.decode()) + ".";
}

std::string attentionShare(const Report &report) {
  const TimeSpent &time = report.result.time;
  double attention = time.prefillAttention + time.decodeAttention;
  return "Attention is " + percent(share(attention, time.busy)) + " of the device's time (" +
         percent(share(time.prefillAttention, time.busy)) + " prefill, " +
         percent(share(time.decodeAttention, time.busy)) +
         " decode): no attention kernel can save more than that.";
}

std::string waitingCauses(const Report &report) {
  const WaitingTime &waiting = report.result.waiting;
  double busy = report.result.time.busy;
  if (waiting.total() == 0)
    return "Somebody waited during 0 % of it: every request was admitted at the next step.";
  std::string cause = waiting.pages >= std::max(waiting.tokenBudget, waiting.sequences)
                          ? "KV capacity, not a kernel, holds requests back"
                          : "the device's speed, not KV capacity, holds requests back";
  return "Somebody waited during " + percent(share(waiting.total(), busy)) + " of it: for pages " +
         percent(share(waiting.pages, busy)) + ", for the step's tokens " +
         percent(share(waiting.tokenBudget, busy)) + ", for a sequence slot " +
         percent(share(waiting.sequences, busy)) + "; " + cause + ".";
}

std::string preemptionCost(const Report &report) {
  int64_t count = report.result.scheduler.preemptions;
  if (count == 0)
    return "0 preemptions: nothing was computed twice.";
  return grouped(count) + " preemptions recomputed " +
         grouped(report.result.steps.recomputedTokens) + " tokens, " +
         percent(report.metrics.recomputeTax, 2) + " of all computed ones; " +
         grouped(double(report.result.pages.resumedHitTokens)) +
         " more were found in the prefix cache when their requests came back.";
}

/// The largest reason why a reusable token was not reused.
std::string largestLoss(const PromptSources &sources) {
  struct Loss {
    const char *reason;
    uint64_t tokens;
  };
  const Loss losses[] = {{"had been evicted", sources.evicted},
                         {"were still being computed by another request", sources.inFlight},
                         {"lay in less than a page", sources.subPage},
                         {"were not looked for (prefix caching is off)", sources.disabled}};
  const Loss *largest =
      std::max_element(std::begin(losses), std::end(losses),
                       [](const Loss &a, const Loss &b) { return a.tokens < b.tokens; });
  if (largest->tokens == 0)
    return "nothing that could be reused was lost";
  return "most of the difference, " + percent(share(largest->tokens, sources.total())) + ", " +
         largest->reason;
}

std::vector<std::string> reuseSentences(const Report &report) {
  if (!report.metrics.reuse)
    return {"Reuse is n/a, not 0 %: the trace does not tell which prompts begin alike."};
  const ReuseMetrics &reuse = *report.metrics.reuse;
  double saved = report.computeSaved();
  return {percent(reuse.byTokens) + " of prompt tokens were reused, of " + percent(reuse.ceiling) +
              " that an infinite cache would; " + largestLoss(report.result.sources) + ".",
          "Reuse saved " + duration(saved) + " of device time, " +
              percent(share(saved, report.result.time.busy + saved)) +
              " of what it would have been: a hit cuts products, not attention over the hit."};
}

std::string groupSentence(const Report &report) {
  const Model &model = report.cost.model();
  std::vector<GroupRow> rows = groupTable(report.cost, report.result);
  auto own = std::find_if(rows.begin(), rows.end(),
                          [&](const GroupRow &row) { return row.kvHeads == model.kvHeads; });
  std::string text = "A group of " + std::to_string(own->group) + " query heads a KV head keeps " +
                     bytes(own->kvBytesPerToken) + " a token";
  if (own == rows.begin())
    return text + "; no smaller cache is left to GQA.";
  auto next = std::prev(own);
  return text + "; a group of " + std::to_string(next->group) + " would hold " +
         fixed(next->poolTokens / own->poolTokens, 1) +
         "x the tokens and bring the mean step from " + duration(own->meanStep) + " to " +
         duration(next->meanStep) + ".";
}

std::string identitySentence(const Report &report) {
  const Trace &trace = report.trace;
  if (trace.tenants.size() == 1 && trace.adapters.size() == 1)
    return "1 tenant and 1 adapter: the trace names no others, so that they cost no reuse (0 %).";
  Trace merged = trace;
  for (TraceRequest &request : merged.requests)
    request.tenant = request.adapter = 0;
  double apart = hitRate(trace, Eviction::LeastRecent, 0).tokens;
  double together = hitRate(merged, Eviction::LeastRecent, 0).tokens;
  return std::to_string(trace.tenants.size()) + " tenants and " +
         std::to_string(trace.adapters.size()) + " adapters do not share pages: that costs " +
         percent(together - apart) + " of prompt tokens (reusable " + percent(apart) + " apart, " +
         percent(together) + " together).";
}

std::vector<std::string> leverSentences(const Report &report) {
  const Levers &levers = report.levers;
  if (levers.tried.empty())
    return {"No lever was tried (--lever-requests 0)."};
  constexpr double worthIt = -0.02;
  const Lever &best = levers.tried.front();
  std::string change = " (" + signedPercent(best.endToEndChange) + ")";
  std::vector<std::string> sentences;
  if (best.endToEndChange > worthIt)
    sentences.push_back(
        "No lever that was tried cuts the mean end-to-end time by 2 %: the best is " + best.what +
        change + ".");
  else
    sentences.push_back("The largest lever is " + best.kind + ": " + best.what +
                        " takes the mean end-to-end time from " + duration(levers.base.endToEnd) +
                        " to " + duration(best.endToEnd) + change + ".");
  for (const Lever &lever : levers.tried)
    if (lever.kind == "kernel" && &lever != &best)
      sentences.push_back("A perfect attention kernel would change it by " +
                          signedPercent(lever.endToEndChange) + ".");
  if (levers.requests < report.trace.requests.size())
    sentences.push_back("Levers were tried on the first " + grouped(double(levers.requests)) +
                        " requests, where the queue is shorter than at the end.");
  return sentences;
}

} // namespace

std::string verdict(const Report &report) {
  const Metrics &metrics = report.metrics;
  const Saturation &saturation = metrics.saturation;
  std::string bound = nameOf(metrics.bottleneck);
  if (saturation.saturated)
    return "SATURATED by " + bound + ": TTFT grows by " + duration(saturation.ttftSlope) +
           " with each second of the trace, so that it depends on how long the trace is";
  std::string text = "keeps up, bound by " + bound;
  if (metrics.idleTime > 0.005)
    text += "; the device is idle " + percent(metrics.idleTime) + " of the time";
  return text;
}

std::vector<Finding> diagnose(const Report &report) {
  std::vector<Finding> findings;
  auto add = [&](const char *topic, std::string sentence) {
    findings.push_back({topic, std::move(sentence)});
  };
  add("prefill or decode", phaseShares(report));
  add("prefill or decode", rooflineClasses(report));
  add("kernel or KV management", attentionShare(report));
  add("kernel or KV management", waitingCauses(report));
  add("kernel or KV management", preemptionCost(report));
  for (std::string &sentence : reuseSentences(report))
    add("reuse", std::move(sentence));
  add("GQA, adapters, tenants", groupSentence(report));
  add("GQA, adapters, tenants", identitySentence(report));
  for (std::string &sentence : leverSentences(report))
    add("lever", std::move(sentence));
  return findings;
}

} // namespace pagefold::report
