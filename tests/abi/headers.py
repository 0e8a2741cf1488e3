# SPDX-License-Identifier: MIT
"""Every public header compiles alone, with every compiler and language that a user may have, without a warning."""

import subprocess

import abi
import tap

STRICT = ["-pedantic", "-Wall", "-Wextra", "-Wshadow", "-Wundef", "-Werror", "-fsyntax-only"]
COMPILERS = {
    "gcc C99": ["gcc", "-xc", "-std=c99", "-Wstrict-prototypes", "-Wc++-compat"],
    "gcc C17": ["gcc", "-xc", "-std=c17"],
    "g++ C++98": ["g++", "-xc++", "-std=c++98", "-Wno-long-long"],
    "g++ C++20": ["g++", "-xc++", "-std=c++20"],
    "clang C99": ["clang", "-xc", "-std=c99"],
    "clang++ C++98": ["clang++", "-xc++", "-std=c++98", "-Wno-c++11-long-long"],
    "clang++ C++20": ["clang++", "-xc++", "-std=c++20"],
    "musl-gcc C99": ["musl-gcc", "-xc", "-std=c99"],
}


def complaints(compiler, source):
    command = [*COMPILERS[compiler], *STRICT, f"-I{abi.HEADERS}", "-"]
    return subprocess.run(command, input=source, stderr=subprocess.PIPE, text=True, check=False).stderr


def compiles(compiler, source):
    assert not complaints(compiler, source), complaints(compiler, source)


def twice(header):
    """Includes a header as the first thing, and once more."""
    return f"#include <compute/{header}>\n" * 2


PROVIDER = """
#include <compute/provider.h>
COMPUTE_PROVIDER_DEFINE ("acme", "1.0.0", "Acme Ltd", "MIT", "https://acme.example", COMPUTE_CAP_EXECUTE, 0);
int compute_provider_init (const struct compute_host *host, const struct compute_provider **ret_provider,
                           struct compute_error *err)
{
  (void) host;
  (void) ret_provider;
  return compute_error_set (err, COMPUTE_E_UNAVAILABLE, 0, "%s", "not today");
}
"""

INITIALISERS = """
#include <compute/compute.h>
struct compute_error error = COMPUTE_ERROR_INIT;
struct compute_config config = COMPUTE_CONFIG_INIT;
struct compute_command command = COMPUTE_COMMAND_INIT;
struct compute_call call = COMPUTE_CALL_INIT;
struct compute_result result = COMPUTE_RESULT_INIT;
struct compute_instance instance = COMPUTE_INSTANCE_INIT;
struct compute_file_info info = COMPUTE_FILE_INFO_INIT;
struct compute_registry_options options = COMPUTE_REGISTRY_OPTIONS_INIT;
int has (const struct compute_provider *provider);
int has (const struct compute_provider *provider) { return COMPUTE_HAS (provider, get_extension) ? 1 : 0; }
"""


def finds(compiler):
    assert "unused" in complaints(compiler, "static int nobody_calls (int unused) { return 0; }")


def cases():
    for compiler in COMPILERS:
        yield f"a warning is found, {compiler}", lambda c=compiler: finds(c)
        for header in sorted(path.name for path in (abi.HEADERS / "compute").glob("*.h")):
            yield f"{header} alone, {compiler}", lambda c=compiler, h=header: compiles(c, twice(h))
        yield f"initialisers, {compiler}", lambda c=compiler: compiles(c, INITIALISERS)
        yield f"COMPUTE_PROVIDER_DEFINE, {compiler}", lambda c=compiler: compiles(c, PROVIDER)


if __name__ == "__main__":
    tap.run(dict(cases()))
