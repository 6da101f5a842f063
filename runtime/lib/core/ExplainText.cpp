//===- ExplainText.cpp - an explanation for people ------------------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExplainText.h"

#include <cstdio>

using namespace pagefold::runtime;

namespace {

/// A scalar without quotes; a number in as few digits as tell it.
std::string plain(const Json &value) {
  if (value.is_string())
    return value.get<std::string>();
  if (value.is_null())
    return "?";
  if (!value.is_number_float())
    return value.dump(-1, ' ', false, Json::error_handler_t::replace);
  char text[32];
  std::snprintf(text, sizeof(text), "%.6g", value.get<double>());
  return text;
}

std::string scaled(const Json &value, const char *unit) {
  constexpr const char *kPrefixes[] = {"", "k", "M", "G", "T", "P"};
  double number = value.get<double>();
  size_t prefix = 0;
  for (; number >= 1000 && prefix + 1 < std::size(kPrefixes); ++prefix)
    number /= 1000;
  char text[48];
  std::snprintf(text, sizeof(text), "%.4g %s%s", number, kPrefixes[prefix], unit);
  return text;
}

std::string list(const Json &values) {
  std::string text;
  for (const Json &value : values)
    text += (text.empty() ? "" : ", ") + plain(value);
  return text;
}

std::string argumentLine(const Json &arg) {
  std::string line =
      "    " + plain(arg["name"]) + ": " + plain(arg["dtype"]) + " [" + list(arg["shape"]) + "]";
  if (arg["access"] == "readwrite")
    line += ", updated in place";
  return line + "\n";
}

std::string argumentLines(const Json &args, bool results) {
  std::string lines;
  for (const Json &arg : args)
    if ((arg["access"] == "write") == results)
      lines += argumentLine(arg);
  return lines.empty() ? lines : (results ? "  results:\n" : "  args:\n") + lines;
}

std::string scheduleText(const Json &kernel) {
  if (!kernel.contains("form"))
    return "";
  std::string text = ", " + plain(kernel["form"]);
  for (const char *key : {"q_tile", "group_rows", "kv_tile", "splits", "stages"})
    if (kernel.contains(key))
      text += std::string(", ") + key + " " + plain(kernel[key]);
  if (!kernel.contains("pages"))
    return text;
  const Json &pages = kernel["pages"];
  text += ", pages of " + plain(pages["page"]) + " by " + plain(pages["path"]);
  return pages.contains("box_keys") ? text + " of " + plain(pages["box_keys"]) + " keys" : text;
}

std::string placeText(const Json &kernel) {
  if (kernel.contains("workers"))
    return plain(kernel["workers"]) == "one" ? "one worker" : "all workers";
  std::string text = plain(kernel["threads"]) + " threads, " + plain(kernel["shared"]) +
                     " bytes of shared memory, ";
  text += kernel.contains("ctas") ? plain(kernel["ctas"]) + " CTAs"
                                  : plain(kernel["ctas_per_sm"]) + " CTAs a multiprocessor";
  if (!kernel.contains("registers"))
    return text;
  const Json &use = kernel["registers"];
  return text + ", " + plain(use["count"]) + " registers (" + plain(use["from"]) + ")" +
         (use["spilled"] == 0 ? "" : ", " + plain(use["spilled"]) + " bytes spilled");
}

std::string tileText(const Json &tiles) {
  return plain(tiles["full"]) + " tiles full, " + plain(tiles["partial"]) + " partial, " +
         plain(tiles["skipped"]) + " skipped";
}

std::string launchLines(const Json &launch) {
  std::string lines = "      ";
  if (launch.contains("tiles"))
    lines += tileText(launch["tiles"]) + "; ";
  lines += scaled(launch["bytes"], "B");
  if (launch["loads"] != launch["bytes"])
    lines += " (" + scaled(launch["loads"], "B") + " loaded)";
  if (launch.contains("executed_flops"))
    lines += ", " + scaled(launch["flops"], "FLOP") + " (" +
             scaled(launch["executed_flops"], "FLOP") + " executed)";
  lines += "\n";
  if (!launch.contains("class"))
    return lines;
  return lines + "      " + plain(launch["class"]) + " bound: compute " +
         plain(launch["compute_us"]) + " us, memory " + plain(launch["memory_us"]) +
         " us, as scheduled " + plain(launch["schedule_us"]) + " us on " +
         plain(Json(100 * launch["busy"].get<double>())) + " % of the chip\n";
}

std::string kernelLines(const Json &kernel) {
  std::string lines = "    " + plain(kernel["symbol"]);
  if (kernel.contains("op"))
    lines += ": " + plain(kernel["op"]) + scheduleText(kernel);
  lines += "\n      " + placeText(kernel) + "\n";
  return kernel.contains("launch") ? lines + launchLines(kernel["launch"]) : lines;
}

std::string totalLines(const Json &launch) {
  std::string text =
      "  this launch: " + scaled(launch["bytes"], "B") + ", " + scaled(launch["flops"], "FLOP");
  if (launch.contains("class"))
    text += "; " + plain(launch["class"]) + " bound on " + plain(launch["machine"]) +
            ": roofline " + plain(launch["roofline_us"]) + " us, launches " +
            plain(launch["launch_us"]) + " us";
  if (launch.contains("measured_us"))
    text += "; measured " + plain(launch["measured_us"]) + " us";
  if (launch.contains("fraction_of_roofline"))
    text += ", " + plain(Json(100 * launch["fraction_of_roofline"].get<double>())) +
            " % of the roofline";
  return text + "\n";
}
} // namespace

std::string pagefold::runtime::explainText(const Json &explanation) {
  const Json &target = explanation["target"];
  const bool isVariant = explanation["graph"] != explanation["function"];
  std::string text = "'" + plain(explanation["function"]) + "'" +
                     (isVariant ? ", a variant of '" + plain(explanation["graph"]) + "'," : "") +
                     " for " + plain(target["kind"]) + " (" + plain(target["cpu"]) +
                     "), compiled by " + plain(explanation["compiler"]) + ":\n";
  if (!explanation["options"].empty())
    text += "  options: " + list(explanation["options"]) + "\n";
  std::string bounds;
  for (const auto &[name, bound] : explanation["bounds"].items())
    bounds += (bounds.empty() ? "" : ", ") + name + " " + plain(bound);
  text += "  bounds: " + bounds + "\n" + argumentLines(explanation["args"], false) +
          argumentLines(explanation["args"], true) +
          "  workspace: " + plain(explanation["workspace"]) + " bytes\n  kernels, in order:\n";
  for (const Json &kernel : explanation["kernels"])
    text += kernelLines(kernel);
  return explanation.contains("launch") ? text + totalLines(explanation["launch"]) : text;
}
