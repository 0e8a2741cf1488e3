#!/bin/sh
# SPDX-License-Identifier: MIT
# From a fresh clone to a first command: installs what the build needs, builds in ./build, runs one command through the
# local provider and lists the providers.
set -eu
cd "$(dirname "$0")/.."
# shellcheck source=sdk/setup.sh
. sdk/setup.sh

setup_install build
setup_build tests=false

for command in "build/sdk/cli/compute run --on local -c 'echo hello'" build/sdk/plugin-ls/plugin-ls; do
  echo "\$ $command"
  eval "$command"
done
