//===- SvgPlot.cpp - plots that need nothing but a browser ----------------===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SvgPlot.h"

#include "Format.h"

#include <algorithm>
#include <cmath>

namespace pagefold::report {
namespace {

constexpr double width = 560, height = 270;
constexpr double left = 58, right = 14, top = 14, bottom = 44;
constexpr double plotWidth = width - left - right, plotHeight = height - top - bottom;

std::string attribute(const char *name, double value) {
  return std::string(" ") + name + "=\"" + fixed(value, 1) + "\"";
}

std::string line(double x1, double y1, double x2, double y2, const char *cssClass) {
  return "<line" + attribute("x1", x1) + attribute("y1", y1) + attribute("x2", x2) +
         attribute("y2", y2) + " class=\"" + cssClass + "\"/>\n";
}

std::string label(double x, double y, const char *anchor, const std::string &text,
                  const char *cssClass = "tick") {
  return "<text" + attribute("x", x) + attribute("y", y) + " text-anchor=\"" + anchor +
         "\" class=\"" + cssClass + "\">" + escapeHtml(text) + "</text>\n";
}

/// 1200 as "1.2k", 0.05 as "0.05".
std::string tickText(double value) {
  double size = std::fabs(value);
  auto shortened = [](double number) {
    std::string text = fixed(number, 2);
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.')
      text.pop_back();
    return text;
  };
  if (size >= 1e6)
    return shortened(value / 1e6) + "M";
  if (size >= 1e3)
    return shortened(value / 1e3) + "k";
  return size >= 0.01 || size == 0 ? shortened(value) : fixed(value, 4);
}

/// Maps data to the drawing.
struct Axes {
  double xMin = 0, xMax = 1, yMax = 1;
  bool logX = false;

  double x(double value) const {
    double part =
        logX ? std::log(value / xMin) / std::log(xMax / xMin) : (value - xMin) / (xMax - xMin);
    return left + std::clamp(part, 0.0, 1.0) * plotWidth;
  }
  double y(double value) const {
    return top + plotHeight * (1 - std::clamp(value / yMax, 0.0, 1.0));
  }
};

/// Adds each series onto the ones before it.
std::vector<Series> stackedUp(std::vector<Series> series) {
  for (size_t s = 1; s < series.size(); ++s)
    for (size_t i = 0; i < series[s].points.size() && i < series[s - 1].points.size(); ++i)
      series[s].points[i].second += series[s - 1].points[i].second;
  return series;
}

Axes axesFor(const LineChart &chart, const std::vector<Series> &series) {
  Axes axes;
  axes.logX = chart.logX;
  double low = HUGE_VAL, high = -HUGE_VAL, most = 0;
  for (const Series &each : series)
    for (auto [x, y] : each.points) {
      if (chart.logX && x <= 0)
        continue;
      low = std::min(low, x);
      high = std::max(high, x);
      most = std::max(most, y);
    }
  if (low < high) {
    axes.xMin = low;
    axes.xMax = high;
  } else if (low == high) {
    axes.xMin = low;
    axes.xMax = low + (low > 0 ? low : 1);
  }
  axes.yMax = axisTicks(chart.yMax > 0 ? chart.yMax : most).back();
  return axes;
}

std::vector<double> xTicks(const Axes &axes) {
  std::vector<double> ticks;
  if (axes.logX) {
    for (double tick = std::pow(10, std::ceil(std::log10(axes.xMin) - 1e-9));
         tick <= axes.xMax * 1.001; tick *= 10)
      ticks.push_back(tick);
    return ticks;
  }
  std::vector<double> steps = axisTicks(axes.xMax - axes.xMin);
  double step = steps[1] - steps[0];
  for (double tick = std::ceil(axes.xMin / step) * step; tick <= axes.xMax + step * 1e-6;
       tick += step)
    ticks.push_back(tick);
  return ticks;
}

std::string frame(const LineChart &chart, const Axes &axes) {
  std::string out;
  for (double tick : axisTicks(axes.yMax)) {
    out += line(left, axes.y(tick), left + plotWidth, axes.y(tick), "grid");
    out += label(left - 6, axes.y(tick) + 4, "end", tickText(tick));
  }
  for (double tick : xTicks(axes)) {
    out += line(axes.x(tick), top + plotHeight, axes.x(tick), top + plotHeight + 4, "axis");
    out += label(axes.x(tick), top + plotHeight + 17, "middle", tickText(tick));
  }
  out += line(left, top + plotHeight, left + plotWidth, top + plotHeight, "axis");
  out += label(left + plotWidth / 2, height - 8, "middle", chart.xLabel, "label");
  out += "<text transform=\"translate(13," + fixed(top + plotHeight / 2, 1) +
         ") rotate(-90)\" text-anchor=\"middle\" class=\"label\">" + escapeHtml(chart.yLabel) +
         "</text>\n";
  return out;
}

std::string pathOf(const Series &series, const Axes &axes) {
  std::string path;
  for (auto [x, y] : series.points) {
    if (axes.logX && x <= 0)
      continue;
    path += (path.empty() ? "M" : "L") + fixed(axes.x(x), 1) + "," + fixed(axes.y(y), 1);
  }
  return path;
}

std::string area(const Series &series, const Axes &axes, size_t index) {
  std::string path = pathOf(series, axes);
  if (path.empty())
    return "";
  path += "L" + fixed(axes.x(series.points.back().first), 1) + "," + fixed(axes.y(0), 1) + "L" +
          fixed(axes.x(series.points.front().first), 1) + "," + fixed(axes.y(0), 1) + "Z";
  return "<path d=\"" + path + "\" style=\"fill:var(--series-" + std::to_string(index) +
         ")\"><title>" + escapeHtml(series.name) + "</title></path>\n";
}

std::string curve(const Series &series, const Axes &axes, size_t index) {
  return "<path d=\"" + pathOf(series, axes) + "\" class=\"line\" style=\"stroke:var(--series-" +
         std::to_string(index) + ")\"><title>" + escapeHtml(series.name) + "</title></path>\n";
}

std::string legend(const std::vector<Series> &series) {
  if (series.size() < 2)
    return "";
  std::string out = "<div class=\"legend\">";
  for (size_t i = 0; i < series.size(); ++i)
    out += "<span><i style=\"background:var(--series-" + std::to_string(i) + ")\"></i>" +
           escapeHtml(series[i].name) + "</span>";
  return out + "</div>\n";
}

std::string figure(const std::string &title, const std::string &legendText, double tall,
                   const std::string &body) {
  return "<figure><figcaption>" + escapeHtml(title) + "</figcaption>\n" + legendText +
         "<svg viewBox=\"0 0 " + fixed(width, 0) + " " + fixed(tall, 0) +
         "\" role=\"img\" aria-label=\"" + escapeHtml(title) + "\">\n" + body + "</svg></figure>\n";
}

} // namespace

std::string escapeHtml(const std::string &text) {
  std::string out;
  for (char c : text) {
    switch (c) {
    case '&':
      out += "&amp;";
      break;
    case '<':
      out += "&lt;";
      break;
    case '>':
      out += "&gt;";
      break;
    case '"':
      out += "&quot;";
      break;
    default:
      out += c;
    }
  }
  return out;
}

std::vector<double> axisTicks(double limit) {
  if (!(limit > 0) || !std::isfinite(limit))
    limit = 1;
  double rough = limit / 5, power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (double factor : {1.0, 2.0, 2.5, 5.0})
    if (factor * power >= rough * (1 - 1e-9)) {
      step = factor * power;
      break;
    }
  std::vector<double> ticks = {0};
  while (ticks.back() < limit * (1 - 1e-9))
    ticks.push_back(step * double(ticks.size()));
  return ticks;
}

std::string toSvg(const LineChart &chart) {
  std::vector<Series> series = chart.stacked ? stackedUp(chart.series) : chart.series;
  Axes axes = axesFor(chart, series);
  std::string marks;
  if (chart.stacked)
    for (size_t i = series.size(); i-- > 0;) // the tallest first, so that the others lie on it
      marks += area(series[i], axes, i);
  else
    for (size_t i = 0; i < series.size(); ++i)
      marks += curve(series[i], axes, i);
  std::string body = chart.stacked ? marks + frame(chart, axes) : frame(chart, axes) + marks;
  if (!chart.markName.empty()) {
    double x = axes.x(chart.markX);
    bool isRight = x > left + plotWidth / 2;
    body +=
        line(x, top, x, top + plotHeight, "mark") +
        label(x + (isRight ? -5 : 5), top + 11, isRight ? "end" : "start", chart.markName, "label");
  }
  return figure(chart.title, legend(chart.series), height, body);
}

std::string toSvg(const BarChart &chart) {
  constexpr double rowHeight = 26, nameWidth = 170, textWidth = 110;
  double most = 0;
  for (const Bar &bar : chart.bars)
    most = std::max(most, bar.value);
  std::string body;
  double y = 6;
  for (const Bar &bar : chart.bars) {
    double length = most > 0 ? bar.value / most * (width - nameWidth - textWidth) : 0;
    body += label(nameWidth - 8, y + 15, "end", bar.name, "label");
    body += "<rect" + attribute("x", nameWidth) + attribute("y", y + 2) +
            attribute("width", std::max(length, 1.0)) + attribute("height", rowHeight - 8) +
            " rx=\"2\" style=\"fill:var(--series-0)\"/>\n";
    body += label(nameWidth + std::max(length, 1.0) + 6, y + 15, "start", bar.text);
    y += rowHeight;
  }
  return figure(chart.title, "", y + 6, body);
}

} // namespace pagefold::report
