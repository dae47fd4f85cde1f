# Makes build/deps/arm64: Debian 11's glibc, and headers and static libraries of Debian 12. `./dev`
# sources this file; nothing is installed on this system, no foreign architecture is added to it.

# Headers and .a files. libspdlog-dev and libfmt-dev: headers only.
sysroot_packages=(libssl-dev libsqlite3-dev libpaho-mqtt-dev libpaho-mqttpp-dev zlib1g-dev libspdlog-dev
  libfmt-dev libcli11-dev libexpected-dev nlohmann-json3-dev libeigen3-dev)

# Fetches the three pinned packages of the old glibc. They are kept when the root is made anew: this
# release will leave the archive one day, and then a copy in this folder is all that is needed.
fetch_pinned_glibc() {
  local kept=$deps/pinned sum path file
  mkdir -p "$kept"
  while read -r sum path; do
    file=$kept/$(basename "$path")
    printf '%s  %s\n' "$sum" "$file" | sha256sum --check --status 2>/dev/null && continue
    rm -f "$file"
    /usr/lib/apt/apt-helper -q download-file "$(archive)$path" "$file" "SHA256:$sum" >/dev/null ||
      die "the archive has no $(basename "$path") with SHA256 $sum; put a copy into $kept"
  done < cross_toolchains/glibc.sha256
}

arm64_apt() {
  private_apt "$deps/arm64-apt" -o APT::Architecture=arm64 -o APT::Architectures=arm64 "$@"
}

# Downloads the packages of Debian 12 and the sources of Paho C++ into the folder $1/debs.
fetch_bookworm() {
  local root=$1
  mkdir -p "$root/debs"
  private_sources deb arch=arm64 "$deps/arm64-apt"
  sed 's/^deb /deb-src /' "$deps/arm64-apt/sources.list" > "$root/deb-src"
  cat "$root/deb-src" >> "$deps/arm64-apt/sources.list"
  rm "$root/deb-src"
  arm64_apt update >/dev/null
  (cd "$root/debs" && arm64_apt download "${sysroot_packages[@]}" >/dev/null &&
    arm64_apt source --download-only paho.mqtt.cpp >/dev/null)
}

# Unpacks into $1. Only glibc may be shared, so the shared libraries of Debian 12 are left out, and its
# package files for cmake of spdlog and fmt too, which name them.
unpack_sysroot() {
  local root=$1 deb path
  for deb in "$root"/debs/*.deb; do dpkg-deb -x "$deb" "$root"; done
  find "$root/usr/lib" -name '*.so*' -delete
  rm -rf "$root"/usr/lib/aarch64-linux-gnu/cmake
  while read -r _ path; do dpkg-deb -x "$deps/pinned/$(basename "$path")" "$root"; done \
    < cross_toolchains/glibc.sha256
  mkdir -p "$root/usr/lib/cmake" "$root/paho.mqtt.cpp"
  cp -r cross_toolchains/spdlog "$root/usr/lib/cmake/spdlog"
  tar -xf "$root"/debs/paho.mqtt.cpp_*.orig.tar.* -C "$root/paho.mqtt.cpp" --strip-components=1
}

# A link to /lib/... means the board's root. Followed here it would end in this machine's own glibc.
relative_links() {
  local root=$1 link
  find "$root" -lname '/*' | while read -r link; do
    ln -sfnr "$root$(readlink "$link")" "$link"
  done
}

# glibc 2.30 brought three calls that this configuration of libstdc++ takes for granted.
write_cxx_config() {
  local root=$1 from=/usr/aarch64-linux-gnu/include/c++/12/aarch64-linux-gnu/bits/c++config.h
  mkdir -p "$root/c++config/bits"
  sed -E '/^#define _GLIBCXX_USE_PTHREAD_(COND_CLOCKWAIT|MUTEX_CLOCKLOCK|RWLOCK_CLOCKLOCK) /d' \
    "$from" > "$root/c++config/bits/c++config.h"
  [ "$(($(wc -l < "$from") - $(wc -l < "$root/c++config/bits/c++config.h")))" = 3 ] ||
    die "$from does not define the three calls of glibc 2.30 that must be left out"
}

compile_shim() {
  local root=$1
  aarch64-linux-gnu-gcc-12 -std=c11 -O2 -fPIC -Wall -Wextra -Werror -fno-builtin -march=armv8-a \
    -nostdinc -isystem /usr/lib/gcc-cross/aarch64-linux-gnu/12/include \
    -isystem "$root/usr/include/aarch64-linux-gnu" -isystem "$root/usr/include" \
    -c cross_toolchains/glibc_shim.c -o "$root/glibc_shim.o"
}

compile_paho_cpp() {
  local root=$1
  cmake -S cross_toolchains/paho_cpp -B "$root/paho_build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_TOOLCHAIN_FILE="$top/cross_toolchains/aarch64-linux-gnu.cmake" \
    -DLAIRD_ARM64_ROOT="$root" -DPAHO_SOURCE="$root/paho.mqtt.cpp" -DCMAKE_INSTALL_PREFIX="$root/usr" \
    > "$deps/paho.log" 2>&1 &&
    cmake --build "$root/paho_build" -j "$jobs" --target install >> "$deps/paho.log" 2>&1 ||
    { cat "$deps/paho.log" >&2; die "Paho C++ could not be built for arm64"; }
  rm -rf "$root/paho_build"
}

make_sysroot() {
  local root=$deps/arm64 made
  made=$(find cross_toolchains -type f | LC_ALL=C sort | xargs cat | sha256sum)
  [ "$(cat "$root/.complete" 2>/dev/null)" = "$made" ] && return 0
  say "making the arm64 system root with glibc 2.31 in build/deps/arm64"
  # What was built against another root is of no use, and cmake would keep its flags.
  rm -rf "$root" "$top/build/aarch64"
  fetch_pinned_glibc
  fetch_bookworm "$root"
  unpack_sysroot "$root"
  relative_links "$root"
  write_cxx_config "$root"
  compile_shim "$root"
  compile_paho_cpp "$root"
  printf '%s\n' "$made" > "$root/.complete"
}
