# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# For sdk/quickstart.sh, tests/run.sh and .ci/run, which source it in the top folder: installs what a build or a test
# needs and is not there, builds in ./build and runs tests.

# setup_needs build|test|ci: a line each of what shows that a need is there, and the Debian package that brings it.
# NAME.pc is a pkg-config module, -OPTION something that clang links, sbin/NAME a program of root's, which the PATH of
# others may leave out, anything else a program.
setup_needs ()
{
  cat <<'NEEDS'
cc gcc
pkg-config pkg-config
meson meson
ninja ninja-build
musl-gcc musl-tools
glib-2.0.pc libglib2.0-dev
libcjson.pc libcjson-dev
yaml-0.1.pc libyaml-dev
NEEDS
  [ "$1" != build ] || return 0
  cat <<'NEEDS'
g++ g++
make make
groff groff-base
python3 python3
clang clang
clang-format clang-format
-fsanitize=fuzzer libclang-rt-dev
shellcheck shellcheck
strace strace
valgrind valgrind
zsh zsh
bash-completion.pc bash-completion
busybox busybox-static
sbin/dockerd docker.io
docker-registry docker-registry
sbin/runc runc
podman podman
newuidmap uidmap
NEEDS
  [ "$1" = ci ] || return 0
  echo clang-tidy clang-tidy
}

setup_has ()
{
  case $1 in
    *.pc) pkg-config --exists "${1%.pc}" 2>/dev/null ;;
    -*)
      echo 'int LLVMFuzzerTestOneInput (void) { return 0; }' |
        clang -x c - "$1" -o /dev/null 2>/dev/null
      ;;
    sbin/*) (PATH=$PATH:/usr/sbin:/sbin && command -v "${1#sbin/}" >/dev/null) ;;
    *) command -v "$1" >/dev/null ;;
  esac
}

# setup_missing build|test|ci: the packages of what is not there, on one line.
setup_missing ()
{
  setup_needs "$1" | while read -r evidence package; do
    setup_has "$evidence" || printf ' %s' "$package"
  done
}

# setup_run COMMAND...: shows it, then runs it as root.
setup_run ()
{
  [ "$(id -u)" = 0 ] || set -- sudo "$@"
  echo "+ $*"
  "$@"
}

# setup_install build|test|ci: installs the missing packages with apt; without apt, or without a way to become root, names them
# and fails.
setup_install ()
{
  missing=$(setup_missing "$1")
  [ -n "$missing" ] || return 0
  if ! command -v apt-get >/dev/null; then
    echo "$0: install what these Debian packages hold, then run this again:$missing" >&2
    return 1
  fi
  if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then
    echo "$0: not root and no sudo; let root run: apt-get install$missing" >&2
    return 1
  fi

  setup_run apt-get update -q || return
  # shellcheck disable=SC2086 # a list of packages
  setup_run env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing || return
  missing=$(setup_missing "$1")
  if [ -n "$missing" ]; then
    echo "$0: still missing after the installation:$missing" >&2
    return 1
  fi
}

# setup_build tests=true|false: builds in ./build; a folder that is there already may gain the tests, never lose them.
setup_build ()
{
  if [ ! -f build/build.ninja ]; then
    meson setup build "-D$1" || return
  elif [ "$1" = tests=true ]; then
    meson configure build "-D$1" || return
  fi
  ninja -C build
}

# setup_test FOLDER [MESON TEST OPTION...]: builds what these tests need and runs them; what failed comes last, then the
# sum.
setup_test ()
{
  rm -f "$1"/meson-logs/testlog*.json
  status=0
  meson test -C "$@" || status=$?
  python3 tests/sum.py "$1"/meson-logs/testlog*.json || status=1
  return "$status"
}
