//===- SvgPlot.h - plots that need nothing but a browser --------*- C++ -*-===//
//
// Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Charts as inline SVG. Colours are CSS variables (--series-0 ...) of the page around them, so
// that one chart serves light and dark pages; hovering shows values through <title>.
//
//===----------------------------------------------------------------------===//

#ifndef PAGEFOLD_REPORT_SVGPLOT_H
#define PAGEFOLD_REPORT_SVGPLOT_H

#include <string>
#include <utility>
#include <vector>

namespace pagefold::report {

struct Series {
  std::string name;
  std::vector<std::pair<double, double>> points; ///< by x
};

struct LineChart {
  std::string title = {}, xLabel = {}, yLabel = {};
  std::vector<Series> series = {};
  bool stacked = false;      ///< areas on top of each other; all series need the same x
  bool logX = false;         ///< points with x <= 0 are left out
  double yMax = 0;           ///< 0: from the data
  std::string markName = {}; ///< a vertical line at markX, where there is a name
  double markX = 0;
};

struct Bar {
  std::string name;
  double value = 0;
  std::string text; ///< written beside the bar
};

struct BarChart {
  std::string title;
  std::vector<Bar> bars;
};

/// <figure> elements with the SVG inside.
std::string toSvg(const LineChart &chart);
std::string toSvg(const BarChart &chart);

/// With & < > " replaced.
std::string escapeHtml(const std::string &text);

/// Round numbers that divide [0, limit] into 3 to 6 parts, ending at or after the limit.
std::vector<double> axisTicks(double limit);

} // namespace pagefold::report

#endif // PAGEFOLD_REPORT_SVGPLOT_H
