# Finds LLVM and MLIR 22 and defines how a compiler library is built.
set(PAGEFOLD_LLVM_MAJOR 22)
if(NOT MLIR_DIR)
  find_program(PAGEFOLD_LLVM_CONFIG NAMES llvm-config-${PAGEFOLD_LLVM_MAJOR})
  if(PAGEFOLD_LLVM_CONFIG)
    execute_process(COMMAND ${PAGEFOLD_LLVM_CONFIG} --libdir
                    OUTPUT_VARIABLE _libdir OUTPUT_STRIP_TRAILING_WHITESPACE)
    set(MLIR_DIR ${_libdir}/cmake/mlir)
  endif()
endif()
# No version here: MLIR's version file accepts an exact match only.
find_package(MLIR CONFIG QUIET)
if(NOT MLIR_FOUND)
  message(FATAL_ERROR "Pagefold needs LLVM and MLIR ${PAGEFOLD_LLVM_MAJOR}, found none: run scripts/setup, or "
    "apt-get install libmlir-22-dev mlir-22-tools llvm-22-dev llvm-22-tools liblld-22-dev")
endif()
if(NOT LLVM_VERSION_MAJOR EQUAL PAGEFOLD_LLVM_MAJOR)
  message(FATAL_ERROR "Pagefold needs LLVM ${PAGEFOLD_LLVM_MAJOR}, found ${LLVM_PACKAGE_VERSION} at ${LLVM_DIR}: "
    "install libmlir-22-dev, or pass -DMLIR_DIR=<prefix>/lib/cmake/mlir of an LLVM ${PAGEFOLD_LLVM_MAJOR}")
endif()
find_program(MLIR_TBLGEN_EXE NAMES mlir-tblgen mlir-tblgen-${PAGEFOLD_LLVM_MAJOR}
             HINTS ${LLVM_TOOLS_BINARY_DIR})
if(NOT MLIR_TBLGEN_EXE)
  message(FATAL_ERROR "Pagefold needs mlir-tblgen, which libmlir-22-dev does not bring: apt-get install mlir-22-tools")
endif()

list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
include(TableGen)
include(AddLLVM)
include(AddMLIR)
separate_arguments(_defs NATIVE_COMMAND "${LLVM_DEFINITIONS}")
add_definitions(${_defs})
# System headers: their warnings are not ours.
include_directories(SYSTEM ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
include_directories(${CMAKE_SOURCE_DIR}/include ${CMAKE_BINARY_DIR}/include)
set(PAGEFOLD_TBLGEN_TARGETS "" CACHE INTERNAL "")

# One precompiled header for all compiler sources: MLIR's headers cost 6 s a translation unit.
add_library(pagefold_pch STATIC ${CMAKE_SOURCE_DIR}/cmake/pch.cpp)
target_precompile_headers(pagefold_pch PRIVATE ${CMAKE_SOURCE_DIR}/cmake/pch.h)
target_compile_options(pagefold_pch PRIVATE -fno-exceptions)

# pagefold_compiler_library(NAME source... [LINK library...])
function(pagefold_compiler_library name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_precompile_headers(${name} REUSE_FROM pagefold_pch)
  target_compile_options(${name} PRIVATE -fno-exceptions)
  # The dylibs: a static archive of MLIR beside them would double every registry.
  target_link_libraries(${name} PUBLIC ${ARG_LINK} MLIR LLVM)
  add_dependencies(${name} pagefold_tblgen)
endfunction()
add_custom_target(pagefold_tblgen)

# pagefold_tblgen(TARGET_SUFFIX td-file  output generator-flags... ; ...) is spelled with
# LLVM's own functions in include/; every such target joins pagefold_tblgen.
function(pagefold_public_tablegen target)
  add_public_tablegen_target(${target})
  add_dependencies(pagefold_tblgen ${target})
endfunction()
