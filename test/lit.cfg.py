"""What every lit test of Pagefold finds: our tools and LLVM's on the path."""

import os

import lit.formats

config.name = "Pagefold"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.pagefold_build, "test")

config.environment["PATH"] = os.pathsep.join(
    [os.path.join(config.pagefold_build, "bin"), config.llvm_tools, os.environ["PATH"]]
)
config.environment["FILECHECK_OPTS"] = "--enable-var-scope --dump-input-filter=error"
config.substitutions += [("%python", config.python), ("%source", config.pagefold_source)]
