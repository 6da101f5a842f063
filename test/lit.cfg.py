"""What every lit test of Pagefold finds: our tools and LLVM's on the path."""

import os
import shutil

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
config.environment["PAGEFOLD_CACHE"] = "off"  # tests compile what they test
config.environment["FILECHECK_OPTS"] = "--enable-var-scope --dump-input-filter=error"
# LLVM's allocators poison what they have not given out, in code of ours that is inlined from their headers, but
# not in the dylib, which is built without sanitizers: the two disagree about the same memory.
config.environment["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "allow_user_poisoning=0")
config.substitutions += [("%python", config.python), ("%source", config.pagefold_source), ("%{build}", config.pagefold_build)]

# The driver without a GPU, which the runtime's tests build.
fake_driver = os.path.join(config.pagefold_build, "runtime/test/cuda/libpagefold_fake_driver.so")
if os.path.exists(fake_driver):
    config.available_features.add("fake-driver")
    config.substitutions.append(("%fake-driver", fake_driver))

# Assembling PTX needs CUDA's ptxas, which Pagefold itself does not: without it such tests are reported as unsupported.
ptxas = shutil.which("ptxas", path=os.pathsep.join([os.environ["PATH"], "/usr/local/cuda/bin"]))
if ptxas:
    config.available_features.add("ptxas")
    config.substitutions += [("%ptxas", ptxas), ("%{path-with-ptxas}", os.pathsep.join(
        [config.environment["PATH"], os.path.dirname(ptxas)]))]
