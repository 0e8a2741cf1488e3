# SPDX-License-Identifier: MIT
"""The ABI that was published stays: golden files, and the frozen headers of version 1.0."""

import pathlib
import shutil
import tempfile

import abi
import tap


def parted(structs):
    """A layout file as {struct: (members, last line)}."""
    blocks = [block.splitlines() for block in structs.split("\n\n")]
    return {lines[0]: (lines[1:-1], lines[-1]) for lines in blocks}


def lost(old, new):
    """What of the old description is missing or different in the new one. A struct may grow at its end."""
    gone = [f"{name}" for name in sorted(set(old["names.txt"].splitlines()) - set(new["names.txt"].splitlines()))
            if not name.startswith("COMPUTE_ABI_MINOR")]
    for file_name in (name for name in old if name.startswith("layout-")):
        now = parted(new[file_name])
        for struct, (members, _) in parted(old[file_name]).items():
            if now.get(struct, ([], ""))[0][: len(members)] != members:
                gone.append(f"{file_name}: {struct}")
    return gone


FROZEN = abi.describe(abi.GOLDEN)
CURRENT = abi.describe(abi.HEADERS)


def test_headers_match_the_golden_files():
    for name, text in CURRENT.items():
        golden = (abi.GOLDEN / name).read_text()
        different = sorted(set(golden.splitlines()) ^ set(text.splitlines()))
        assert golden == text, f"{name}: {different}; if it was meant: python3 tests/abi/abi.py --write"


def test_headers_only_add_to_the_frozen_ones():
    assert not lost(FROZEN, CURRENT), lost(FROZEN, CURRENT)


def test_structs_that_are_laid_out_in_arrays_never_grow():
    for name in (name for name in FROZEN if name.startswith("layout-")):
        for struct in "struct compute_pair", "struct compute_mount", "struct compute_needed", "struct compute_note":
            assert parted(FROZEN[name]).get(struct) == parted(CURRENT[name])[struct] or struct not in parted(FROZEN[name])


def changed(old, new):
    """What lost() says of the current headers after a replacement in one of them."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(abi.HEADERS / "compute", f"{folder}/compute")
        header = next(path for path in pathlib.Path(folder, "compute").iterdir() if old in path.read_text())
        header.write_text(header.read_text().replace(old, new, 1))
        return lost(CURRENT, abi.describe(pathlib.Path(folder)))


def test_a_changed_type_a_moved_member_and_a_renumbered_code_are_found():
    assert changed("int32_t exit_code;", "int16_t exit_code;")
    assert changed("uint64_t stdout_bytes; /*", "uint64_t added, stdout_bytes; /*")
    assert changed("X (BUSY, -15,", "X (BUSY, -90,")
    assert changed("const char *compute_version (void)", "char *compute_version (void)")


def test_an_added_member_and_an_added_code_are_fine():
    assert not changed("  int64_t output_limit_bytes;\n  };", "  int64_t output_limit_bytes;\n    uint64_t added;\n  };")
    assert not changed('X (PROTOCOL, -17, "protocol", "the', 'X (ADDED, -90, "added", "added") X (PROTOCOL, -17, "protocol", "the')


if __name__ == "__main__":
    tap.main(globals())
