# Debian's arm64 cross compiler, with the libraries that `./dev cross` unpacks under build/.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)

get_filename_component(_top "${CMAKE_CURRENT_LIST_DIR}/.." ABSOLUTE)
set(LAIRD_ARM64_ROOT "${_top}/build/deps/arm64" CACHE PATH "Unpacked arm64 libraries")
set(_libs "${LAIRD_ARM64_ROOT}/usr/lib/aarch64-linux-gnu")

# Headers that are the same on every architecture come from the host's /usr/include; libraries and
# their architecture's headers only from the unpacked folder.
set(CMAKE_FIND_ROOT_PATH "${LAIRD_ARM64_ROOT}" "/")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE BOTH)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE BOTH)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(SQLite3_LIBRARY "${_libs}/libsqlite3.so" CACHE FILEPATH "")
set(ZLIB_LIBRARY "${_libs}/libz.so" CACHE FILEPATH "")
# OpenSSL's and other headers that differ by architecture.
set(CMAKE_CXX_STANDARD_INCLUDE_DIRECTORIES "${LAIRD_ARM64_ROOT}/usr/include/aarch64-linux-gnu")
set(spdlog_DIR "${_libs}/cmake/spdlog" CACHE PATH "")
set(fmt_DIR "${_libs}/cmake/fmt" CACHE PATH "")
set(CMAKE_EXE_LINKER_FLAGS_INIT "-Wl,-rpath-link,${_libs} -Wl,-rpath-link,${LAIRD_ARM64_ROOT}/lib/aarch64-linux-gnu")

# Stay at armv8-a: the Nano's A57 has no LSE atomics; the outlined helpers pick at run time.
set(CMAKE_CXX_FLAGS_INIT "-march=armv8-a -moutline-atomics")
set(CMAKE_C_FLAGS_INIT "-march=armv8-a -moutline-atomics")

set(CMAKE_CROSSCOMPILING_EMULATOR
  "qemu-aarch64;-L;/usr/aarch64-linux-gnu;-E;LD_LIBRARY_PATH=${_libs}:${LAIRD_ARM64_ROOT}/lib/aarch64-linux-gnu:/usr/aarch64-linux-gnu/lib")
