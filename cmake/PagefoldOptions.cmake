# Warnings, sanitizers and the linker: what every target of the project shares.
option(PAGEFOLD_WERROR "Treat warnings as errors" OFF)
set(PAGEFOLD_SANITIZE "" CACHE STRING "Sanitizers for the project's own code, e.g. address,undefined or thread")

add_compile_options(-Wall -Wextra -Wno-unused-parameter)
if(PAGEFOLD_WERROR)
  add_compile_options(-Werror)
endif()
if(PAGEFOLD_SANITIZE)
  add_compile_options(-fsanitize=${PAGEFOLD_SANITIZE} -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=${PAGEFOLD_SANITIZE})
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  add_link_options(-fuse-ld=lld)
endif()
# The build id is a hash of the contents, by which the artifact cache knows the compiler (lib/Jit/CompilerIdentity.cpp).
add_link_options(-Wl,--gc-sections -Wl,--build-id=sha1)
add_compile_options(-ffunction-sections)
