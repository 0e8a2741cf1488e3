#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs what the build and the tests need, builds in ./build and runs every test. The last line is the sum. With
# COMPUTE_TEST_STRICT set, a test that was skipped has failed. Arguments go to "meson test".
set -eu
cd "$(dirname "$0")/.."
# shellcheck source=sdk/setup.sh
. sdk/setup.sh

setup_install test
setup_build tests=true
setup_test build "$@"
