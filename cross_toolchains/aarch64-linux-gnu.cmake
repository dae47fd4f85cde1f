# Debian's arm64 cross compiler against an old glibc, with every other library linked statically: one
# package for JetPack 4 to 7. `./dev` makes the system root (sysroot.sh beside this file).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc-12)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++-12)

get_filename_component(_top "${CMAKE_CURRENT_LIST_DIR}/.." ABSOLUTE)
set(LAIRD_ARM64_ROOT "${_top}/build/deps/arm64" CACHE PATH "System root with the old glibc")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES LAIRD_ARM64_ROOT)
set(_root "${LAIRD_ARM64_ROOT}")
set(_triple aarch64-linux-gnu)

# Nothing of the build machine's /usr/include or /usr/lib may be found.
set(CMAKE_SYSROOT "${_root}")
set(CMAKE_FIND_ROOT_PATH "${_root}")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_LIBRARY_ARCHITECTURE ${_triple})
set(ENV{PKG_CONFIG_LIBDIR} "${_root}/usr/lib/${_triple}/pkgconfig")

# --sysroot is not enough: Debian's cross compiler looks in /usr/aarch64-linux-gnu first, where glibc
# 2.36 is. So the search path is spelled out; the first folder holds a c++config.h without the calls
# that came with glibc 2.30.
set(_system "-nostdinc -isystem /usr/lib/gcc-cross/${_triple}/12/include")
string(APPEND _system " -isystem ${_root}/usr/include/${_triple} -isystem ${_root}/usr/include")
set(_standard_library "-nostdinc++ -isystem ${_root}/c++config -isystem /usr/${_triple}/include/c++/12")
string(APPEND _standard_library " -isystem /usr/${_triple}/include/c++/12/${_triple}")
# Stay at armv8-a: the Nano's A57 has no LSE atomics; the outlined helpers pick at run time. Paths of this
# checkout stay out of the programs: two folders give the same bytes.
set(_common "-march=armv8-a -moutline-atomics -fstack-protector-strong -ffunction-sections -fdata-sections")
string(APPEND _common " -ffile-prefix-map=${_top}=.")
set(CMAKE_C_FLAGS_INIT "${_common} ${_system}")
set(CMAKE_CXX_FLAGS_INIT "${_common} ${_standard_library} ${_system}")

set(_libs "${_root}/usr/lib/${_triple}")
set(CMAKE_EXE_LINKER_FLAGS_INIT
  "-B${_libs} -L${_libs} -L${_root}/lib/${_triple} -static-libgcc -static-libstdc++ -pie")
string(APPEND CMAKE_EXE_LINKER_FLAGS_INIT
  " -Wl,--exclude-libs,ALL,--gc-sections,--as-needed,-z,relro,-z,now,-z,noexecstack")
# Libraries that programs open: the CUDA plugin, and those of the tests.
set(CMAKE_MODULE_LINKER_FLAGS_INIT "-B${_libs} -L${_libs} -L${_root}/lib/${_triple} -static-libgcc")
# Not among the linker flags: the shim must come after every static library that needs it.
set(CMAKE_CXX_STANDARD_LIBRARIES "${_root}/glibc_shim.o -ldl -lpthread -lm")
set(CMAKE_C_STANDARD_LIBRARIES "-lpthread")

set(CMAKE_CROSSCOMPILING_EMULATOR "qemu-aarch64;-L;${_root}")
