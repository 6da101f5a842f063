/* tool.c - one tool of the package; all there is to it is in libpagefold.so
 *
 * Part of Pagefold, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 */

int pagefold_tool_main(const char *tool, int argc, char **argv);

int main(int argc, char **argv) { return pagefold_tool_main(PAGEFOLD_TOOL, argc, argv); }
