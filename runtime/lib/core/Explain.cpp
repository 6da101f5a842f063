//===- Explain.cpp - what was compiled, and what a launch does ------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "pagefold/runtime/Explain.h"

#include "AboutJson.h"
#include "ExplainText.h"
#include "LaunchWork.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

using namespace pagefold::runtime;

namespace {

//===----------------------------------------------------------------------===//
// The compile
//===----------------------------------------------------------------------===//

Json argumentsJson(const FunctionPlan &function) {
  Json json = Json::array();
  for (const ArgumentPlan &arg : function.args) {
    Json shape = Json::array();
    for (const Extent &extent : arg.shape) {
      const std::string plus = extent.value ? "+" + std::to_string(extent.value) : "";
      shape.push_back(extent.kind == Extent::Kind::Fixed    ? Json(extent.value)
                      : extent.kind == Extent::Kind::Symbol ? Json(extent.symbol + plus)
                                                            : Json(nullptr));
    }
    constexpr const char *kAccess[] = {"read", "write", "readwrite"};
    json.push_back({{"name", arg.name},
                    {"dtype", dtypeName(arg.dtype)},
                    {"shape", std::move(shape)},
                    {"access", kAccess[static_cast<size_t>(arg.access)]}});
  }
  return json;
}

void addSchedule(const KernelAbout &about, Json &json) {
  json["op"] = about.op;
  if (!about.space)
    return;
  const SpacePlan &space = *about.space;
  json["form"] = about.form;
  json["q_tile"] = space.qTile;
  if (space.groupRows)
    json["group_rows"] = space.groupRows;
  json["kv_tile"] = space.kvTile;
  json["splits"] = space.splits;
  if (about.stages)
    json["stages"] = about.stages;
  if (!about.pages.empty()) {
    json["pages"] = {{"path", about.pages}, {"page", space.pageSize}};
    if (about.boxKeys)
      json["pages"]["box_keys"] = about.boxKeys;
  }
  json["visits"] = space.ranges;
  if (space.oneRange)
    json["visits_one_range"] = true;
}

void addRegisters(const RegisterUse &use, const char *from, Json &json) {
  json["registers"] = {{"count", use.registers}, {"spilled", use.spilled}, {"from", from}};
}

Json kernelJson(const KernelPlan &kernel, const RegisterUse *device) {
  Json json = {{"symbol", kernel.symbol}};
  if (kernel.about)
    addSchedule(*kernel.about, json);
  if (!kernel.cuda) {
    json["workers"] = kernel.workers == KernelPlan::Workers::One ? "one" : "all";
    return json;
  }
  json["threads"] = kernel.cuda->threads;
  json["shared"] = kernel.cuda->shared;
  json[kernel.cuda->ctas ? "ctas" : "ctas_per_sm"] =
      kernel.cuda->ctas ? kernel.cuda->ctas : kernel.cuda->ctasPerSm;
  if (device)
    addRegisters(*device, "driver", json);
  else if (kernel.about && kernel.about->registers)
    addRegisters(*kernel.about->registers, "ptxas", json);
  return json;
}

//===----------------------------------------------------------------------===//
// A launch
//===----------------------------------------------------------------------===//

/// To six digits.
double rounded(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.6g", value);
  return std::strtod(text, nullptr);
}

/// Times in microseconds.
double microseconds(double seconds) { return rounded(seconds * 1e6); }

Json workJson(const KernelAbout &about, const KernelWork &work) {
  Json json = {{"flops", work.flops}, {"bytes", work.bytes}, {"loads", work.loads}};
  if (!about.space)
    return json;
  json["executed_flops"] = work.executedFlops;
  json["tiles"] = {
      {"full", work.tilesFull}, {"partial", work.tilesPartial}, {"skipped", work.tilesSkipped}};
  if (work.sampled)
    json["sampled"] = true;
  return json;
}

Json boundJson(const Bound &bound) {
  return {{"compute_us", microseconds(bound.compute)},
          {"memory_us", microseconds(bound.memory)},
          {"roofline_us", microseconds(bound.roofline)},
          {"schedule_us", microseconds(bound.schedule)},
          {"busy", rounded(bound.busy)},
          {"class", bound.kind}};
}

Status checkCount(const FunctionPlan &function, const LaunchFacts &launch) {
  auto inputs = static_cast<size_t>(
      std::count_if(function.args.begin(), function.args.end(),
                    [](const ArgumentPlan &arg) { return arg.access != Access::Write; }));
  if (launch.args.size() != inputs && launch.args.size() != function.args.size())
    return fail(ErrorCode::InvalidArgument,
                "function '" + function.name + "': an explanation expects its " +
                    std::to_string(inputs) + " inputs, or all " +
                    std::to_string(function.args.size()) + " arguments, got " +
                    std::to_string(launch.args.size()));
  for (size_t i = 0; i < launch.args.size(); ++i)
    if (!launch.args[i] ||
        launch.args[i]->ndim != static_cast<int32_t>(function.args[i].shape.size()))
      return fail(ErrorCode::InvalidArgument,
                  "function '" + function.name + "', argument " + std::to_string(i) + " '" +
                      function.args[i].name + "': expects a tensor of rank " +
                      std::to_string(function.args[i].shape.size()) + ", got " +
                      (launch.args[i] ? std::to_string(launch.args[i]->ndim) : "null"));
  return {};
}

/// What all kernels of a launch add up to.
class Totals {
public:
  explicit Totals(const LaunchFacts &launch) : launch_(launch) {}

  void add(const KernelWork &work) {
    flops_ += work.flops;
    bytes_ += work.bytes;
  }
  void add(const Bound &bound, double launchSeconds) {
    roofline_ += bound.roofline;
    floor_ += launchSeconds;
    double spent = std::max(bound.schedule, launchSeconds);
    if (spent > longest_) {
      longest_ = spent;
      kind_ = bound.kind;
    }
  }

  Json json(const std::optional<MachinePlan> &machine) const {
    Json json = {{"flops", flops_}, {"bytes", bytes_}};
    if (launch_.milliseconds > 0)
      json["measured_us"] = rounded(launch_.milliseconds * 1e3);
    if (!machine)
      return json;
    json["machine"] = machine->name;
    json["roofline_us"] = microseconds(roofline_);
    json["launch_us"] = microseconds(floor_);
    json["class"] = roofline_ < floor_ ? "launch" : kind_;
    if (launch_.milliseconds > 0)
      json["fraction_of_roofline"] = rounded(roofline_ * 1e3 / launch_.milliseconds);
    return json;
  }

private:
  const LaunchFacts &launch_;
  double flops_ = 0, bytes_ = 0, roofline_ = 0, floor_ = 0, longest_ = 0;
  const char *kind_ = "launch";
};

Status explainLaunch(const Plan &plan, const FunctionPlan &function, const LaunchFacts &launch,
                     Json &json) {
  if (Status status = checkCount(function, launch); !status)
    return status;
  std::optional<MachinePlan> machine = plan.target.machine;
  if (machine && launch.multiprocessors)
    machine->multiprocessors = *launch.multiprocessors;
  Totals totals(launch);
  for (size_t i = 0; i < function.kernels.size(); ++i) {
    const std::optional<KernelAbout> &about = function.kernels[i].about;
    if (!about || (!about->space && about->traffic.empty()))
      continue; // its work is not known
    Result<KernelWork> work = workOf(function, *about, launch.args, launch.read);
    if (!work)
      return tl::unexpected(work.error());
    Json entry = workJson(*about, *work);
    totals.add(*work);
    if (machine) {
      Bound bound = boundOf(*about, *work, *machine);
      entry.update(boundJson(bound));
      totals.add(bound, static_cast<double>(machine->launchNanoseconds) * 1e-9);
    }
    json["kernels"][i]["launch"] = std::move(entry);
  }
  json["launch"] = totals.json(machine);
  return {};
}
} // namespace

//===----------------------------------------------------------------------===//
// All of it
//===----------------------------------------------------------------------===//

std::string pagefold::runtime::remarkLine(const Remark &remark, const std::string &function) {
  std::string line = remark.kind;
  if (!line.empty() && line[0] >= 'a' && line[0] <= 'z')
    line[0] = static_cast<char>(line[0] - 'a' + 'A');
  line += " " + remark.pass + ": in " + function + ": " + remark.text;
  return remark.reason.empty() ? line : line + ": " + remark.reason;
}

Result<ExplainFormat> pagefold::runtime::explainFormatFromName(std::string_view name) {
  if (name == "text")
    return ExplainFormat::Text;
  if (name == "json")
    return ExplainFormat::Json;
  return fail(ErrorCode::InvalidArgument,
              "an explanation expects the format text or json, got '" + std::string(name) + "'");
}

Result<std::string> pagefold::runtime::explainFunction(const Plan &plan,
                                                       const FunctionPlan &function,
                                                       const LaunchFacts *launch,
                                                       ExplainFormat format) {
  Json json = {{"function", function.name},
               {"graph", function.graphName()},
               {"compiler", plan.compiler},
               {"target", {{"kind", plan.target.kind}, {"cpu", plan.target.cpu}}},
               {"options", plan.options},
               {"bounds", function.bounds},
               {"args", argumentsJson(function)},
               {"workspace", function.workspaceSize},
               {"kernels", Json::array()}};
  for (size_t i = 0; i < function.kernels.size(); ++i)
    json["kernels"].push_back(kernelJson(function.kernels[i], launch && i < launch->registers.size()
                                                                  ? &launch->registers[i]
                                                                  : nullptr));
  if (launch)
    if (Status status = explainLaunch(plan, function, *launch, json); !status)
      return tl::unexpected(status.error());
  json["remarks"] = Json::array();
  for (const Remark &remark : function.remarks)
    json["remarks"].push_back(remarkToJson(remark));
  if (format == ExplainFormat::Json)
    return json.dump(1, ' ', false, Json::error_handler_t::replace);
  std::string text = explainText(json);
  for (const Remark &remark : function.remarks)
    text += remarkLine(remark, function.name) + "\n";
  return text;
}
