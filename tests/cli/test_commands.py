# SPDX-License-Identifier: Apache-2.0
"""Commands beside run and bench: help, isa, asm, disasm, machine, kernel, and programs on the PATH."""

from __future__ import annotations

import json
import os
import re
import shlex
from pathlib import Path

import pytest
from cli.cli_support import PROGRAM, TINY, good, npulab, refused, write_copy
from support import ROOT, shipped

COMMANDS = ("run", "asm", "disasm", "isa", "machine", "kernel", "bench")
GROUPS = {"machine": ("list", "show", "check", "diff", "schema"), "kernel": ("list", "show")}
PAGES = [(), *[(name,) for name in COMMANDS], *[(group, name) for group in GROUPS for name in GROUPS[group]]]


def listed(page: str) -> list[str]:
    """The commands that a help page lists."""
    block = page.split("\nCommands:\n")[1].split("\n\n")[0]
    return [line.split()[0] for line in block.splitlines() if re.match(r"  \S", line)]


def test_version() -> None:
    version = re.search(r"project\(npulab VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"))
    assert version
    assert good("--version") == f"npulab {version.group(1)}\n"


def test_help_lists_the_commands_there_are() -> None:
    assert listed(good("--help")) == list(COMMANDS)
    for group, commands in GROUPS.items():
        assert listed(good(group, "--help")) == list(commands)


@pytest.mark.parametrize("words", PAGES, ids=" ".join)
def test_every_help_page_teaches_with_examples_that_parse(words: tuple[str, ...]) -> None:
    page = good(*words, "--help")
    assert page == good(*words, "-h")
    assert page.startswith(f"usage: {' '.join(('npulab', *words))}")
    examples = [line.strip() for line in page.split("\nExamples:\n")[1].splitlines() if line.startswith("  npulab ")]
    assert examples
    for example in examples:
        line = re.split(r"  +#?|[|>]", example)[0]
        called = shlex.split(line)[1:]
        # Files of the reader are not there; options and commands are.
        message = npulab(*called, cwd=Path("/")).err
        assert not re.search(r"unknown-option|bad-option|unknown-command|argument", message), f"{line}: {message}"


def test_no_command_shows_the_help_and_is_refused() -> None:
    result = npulab()
    assert result.status == 2
    assert result.out == ""
    assert "Commands:" in result.err


@pytest.mark.parametrize(("word", "nearest"), [("rnu", "run"), ("machin", "machine"), ("disas", "disasm")])
def test_unknown_command_names_the_nearest(word: str, nearest: str) -> None:
    message = refused(word)
    assert "unknown-command" in message
    assert f"did you mean '{nearest}'?" in message


@pytest.mark.parametrize("later", ["validate", "calibrate", "audit", "new"])
def test_commands_that_are_not_there_are_not_promised(later: str) -> None:
    assert f"no command '{later}'" in refused(later)
    assert later not in listed(good("--help"))


def test_unknown_subcommand_names_the_nearest() -> None:
    assert "'npulab machine' has no command 'shwo'; did you mean 'show'?" in refused("machine", "shwo")


def test_unknown_option_names_the_nearest_and_the_help() -> None:
    message = refused("run", "gemv/naive", "--machin", "tiny")
    assert "no option '--machin'; did you mean '--machine'?" in message
    assert "npulab run --help" in message


def test_arguments_missing_or_too_many() -> None:
    assert "KERNEL is missing" in refused("run")
    assert "unexpected argument 'b'" in refused("run", "a", "b")
    assert "unexpected argument 'x'" in refused("machine", "list", "x")
    assert "NAME|FILE... is missing" in refused("machine", "check")


def test_options_may_follow_and_precede_the_arguments(tmp_path: Path) -> None:
    kernel = write_copy(tmp_path)
    assert good("asm", kernel, *TINY, "-D", "N=4") == good("asm", *TINY, "-DN=4", kernel)
    assert good("asm", kernel, "--machine=tiny", "--param", "N=4") == good("asm", kernel, *TINY, "-D", "N=4")


def test_option_given_twice_or_without_value() -> None:
    message = refused("run", "gemv/naive", *TINY, "--machine", "edge")
    assert "--machine is given twice: 'tiny' and 'edge'" in message
    assert "--machine needs a value: NAME|FILE" in refused("run", "gemv/naive", "--machine")
    assert "--check takes no value" in refused("run", "gemv/naive", "--check=yes")


def test_isa_takes_mnemonics_as_kernels_do_and_names_the_nearest() -> None:
    assert good("isa", "VADD") == good("isa", "vadd") == good("isa", "Vadd.F32")
    for near, wanted in (("vad", "vadd"), ("VMULL", "vmul"), ("wait_flg", "wait_flag")):
        assert f"did you mean '{wanted}'?" in refused("isa", near)


def test_cf_03_a_key_twice_names_both() -> None:
    for command in (("run", "gemv/naive"), ("machine", "show", "tiny"), ("asm", "gemv/naive")):
        message = refused(*command, "--set", "gm.channels=2", "--set", "gm.channels=4")
        assert "--set gm.channels=4: gm.channels: is set twice, first by --set gm.channels=2" in message
    message = refused("run", "gemv/naive", *TINY, "-D", "M=4", "-D", "M=4")
    assert "-D M=4: parameter M is given twice, first as 4" in message


def test_defaults_and_data_are_in_the_help() -> None:
    page = good("run", "--help")
    assert re.search(r"--max-cycles N .*\n? *.*\(default\s+1000000000\)", page)
    table = page.split("\nDATA of an input:\n")[1].split("\n\n")[0]
    assert re.findall(r"^  (\S+)", table, re.MULTILINE) == [
        "FILE.npy",
        "random[:SEED]",
        "zeros",
        "ones",
        "arange",
        "const:V",
    ]


# --- programs on the PATH ------------------------------------------------------------------------


@pytest.fixture
def external(tmp_path: Path) -> dict[str, str]:
    script = tmp_path / "npulab-hello"
    script.write_text('#!/bin/sh\necho "hello: $@"\nexit 7\n', encoding="utf-8")
    script.chmod(0o755)
    (tmp_path / "npulab-data.txt").write_text("no program", encoding="utf-8")
    return {"PATH": f"{tmp_path}:{os.environ['PATH']}"}


def test_unknown_command_becomes_the_program_of_that_name(external: dict[str, str]) -> None:
    result = npulab("hello", "--machine", "a b", "-x", env=external)
    assert (result.status, result.out, result.err) == (7, "hello: --machine a b -x\n", "")


def test_programs_on_the_path_are_listed_and_suggested(external: dict[str, str]) -> None:
    page = good("--help", env=external)
    further = page.split("Further commands on the PATH: ")[1]
    assert "hello" in further
    assert "data.txt" not in further
    assert "did you mean 'hello'?" in refused("helo", env=external)


def test_commands_come_before_programs(external: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "npulab-hello").rename(tmp_path / "npulab-isa")
    assert "hello" not in good("isa", "vadd", env=external)


# --- isa -----------------------------------------------------------------------------------------


def test_isa_lists_every_instruction_with_its_meaning() -> None:
    text = good("isa")
    page = (ROOT / "docs/isa.md").read_text(encoding="utf-8")
    mnemonics = re.findall(r"^### (\w+)$", page, re.MULTILINE)
    assert mnemonics
    assert re.findall(r"^  ([a-z]\w*)(?:[. ].*)?$", text, re.MULTILINE) == mnemonics
    assert "vfma.TYPE dst, a, b" in text


def test_isa_shows_one_instruction_in_full() -> None:
    text = good("isa", "vfmaw")
    assert text.startswith("vfmaw.TYPE.TYPE2 dst, a, b {n, mask,")
    assert "widened exactly" in text
    assert re.search(r"TYPE f32 +TYPE2 f16, bf16", text)
    assert re.search(r"b +read +a vector register, a lane", text)
    assert re.search(r"mask +64 bits or register", text)
    assert text == good("isa", "vfmaw.f32.f16")
    assert "did you mean 'vfma'?" in refused("isa", "vfmma")


# --- asm and disasm ------------------------------------------------------------------------------


def test_asm_and_disasm_are_inverse(tmp_path: Path) -> None:
    kernel = write_copy(tmp_path)
    binary, text, again = tmp_path / "copy.npub", tmp_path / "again.npu", tmp_path / "again.npub"
    said = good("asm", kernel, *TINY, "-D", "N=32", "-o", binary)
    assert re.search(r"copy: 5 instructions for tiny, hash [0-9a-f]{16}, \d+ bytes in", said)
    assert binary.read_bytes().startswith(b"NPUK")
    good("disasm", binary, *TINY, "--output", text)
    assert text.read_text(encoding="utf-8") == good("disasm", binary, *TINY)
    good("asm", text, *TINY, "-o", again)
    hashes = [re.search(r"hash (\w+)", good("asm", path, *TINY)).group(1) for path in (binary, again)]  # type: ignore[union-attr]
    assert hashes[0] == hashes[1]


def test_asm_without_output_is_a_check(tmp_path: Path) -> None:
    kernel = write_copy(tmp_path)
    good("asm", kernel, *TINY)
    assert list(tmp_path.iterdir()) == [kernel]
    kernel.write_text(".kernel bad\n  vadd.f32 v0, v2\n  end\n", encoding="utf-8")
    assert re.search(r"bad\.npu|copy_f32\.npu:2:", refused("asm", kernel, *TINY))


def test_set_changes_what_the_assembler_checks(tmp_path: Path) -> None:
    kernel = write_copy(tmp_path)
    good("asm", kernel, *TINY, "-D", "N=512")
    message = refused("asm", kernel, *TINY, "-D", "N=512", "--set", "core_types.core.buffers.ub.bytes=1024")
    assert "1024" in message


def test_binary_has_its_parameters_fixed(tmp_path: Path) -> None:
    kernel, binary = write_copy(tmp_path), tmp_path / "copy.npub"
    good("asm", kernel, *TINY, "-o", binary)
    assert "whose parameters were fixed" in refused("run", binary, *TINY, "-D", "N=4")


def test_broken_binaries_are_refused(tmp_path: Path) -> None:
    kernel, binary = write_copy(tmp_path), tmp_path / "copy.npub"
    good("asm", kernel, *TINY, "-o", binary)
    whole = binary.read_bytes()
    for length in (0, 3, 4, 10, len(whole) - 1):
        binary.write_bytes(whole[:length])
        assert "copy.npub" in refused("disasm", binary, *TINY)
    assert "no binary kernel" in refused("disasm", kernel, *TINY)


# CF-11: what editors leave in a text does not matter.
@pytest.mark.parametrize("change", ["crlf", "bom", "no-last-newline"])
def test_cf_11_text_kernels_from_any_editor(change: str, tmp_path: Path) -> None:
    kernel = write_copy(tmp_path)
    expected = re.search(r"hash \w+", good("asm", kernel, *TINY))
    text = kernel.read_bytes()
    kernel.write_bytes(
        {"crlf": text.replace(b"\n", b"\r\n"), "bom": b"\xef\xbb\xbf" + text, "no-last-newline": text.rstrip()}[change]
    )
    found = re.search(r"hash \w+", good("asm", kernel, *TINY))
    assert expected
    assert found
    assert found.group() == expected.group()


# --- machine -------------------------------------------------------------------------------------


def test_machine_list_names_them_with_what_they_model() -> None:
    rows = dict(line.split(maxsplit=1) for line in good("machine", "list").splitlines())
    assert sorted(rows) == [path.stem for path in shipped("configs/*.yaml")]
    assert "by hand" in rows["tiny"]


def test_machine_show_is_a_machine_file(tmp_path: Path) -> None:
    shown = tmp_path / "shown.yaml"
    shown.write_text(good("machine", "show", "ascend910_opsblas"), encoding="utf-8")
    assert good("machine", "diff", "ascend910_opsblas", shown) == ""
    assert json.loads(good("machine", "show", "tiny", "--json"))["gm"]["channels"] == 1
    changed = good("machine", "show", "tiny", "--set", "gm.channels=2", "--json")
    assert json.loads(changed)["gm"]["channels"] == 2


def test_machine_check_says_all_that_is_wrong(tmp_path: Path) -> None:
    assert good("machine", "check", "tiny", "edge") == "tiny: good (tiny)\nedge: good (edge)\n"
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text("extends: tiny\nname: wrong\ngm:\n  chanels: 2\n  banks: -1\n", encoding="utf-8")
    message = refused("machine", "check", wrong)
    assert re.search(r"wrong\.yaml:4:\d+: .*chanels.*did you mean 'channels'", message)
    assert re.search(r"wrong\.yaml:5:\d+: .*banks", message)
    assert "quarter" in refused("machine", "check", "tiny", "--set", "gm.banks=quarter")


def test_machine_diff_is_status_1_when_they_differ() -> None:
    result = npulab("machine", "diff", "tiny", "tiny_ub")
    assert result.status == 1
    assert "core_types.core.vector.operands: registers -> ub" in result.out


def test_machine_schema_is_a_json_schema() -> None:
    schema = json.loads(good("machine", "schema"))
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert "core_types" in json.dumps(schema)


# CF-08: a file that cannot be read is said so, by its path, with status 2.
@pytest.mark.parametrize("kind", ["missing", "empty", "directory", "binary"])
@pytest.mark.parametrize("what", ["machine", "kernel", "suite"])
def test_cf_08_files_that_are_none(kind: str, what: str, tmp_path: Path) -> None:
    path = tmp_path / {"machine": "m.yaml", "kernel": "k.npu", "suite": "s.yaml"}[what]
    if kind == "empty":
        path.touch()
    elif kind == "directory":
        path.mkdir()
    elif kind == "binary":
        path.write_bytes(bytes(range(256)))
    words = {
        "machine": ("machine", "check", path),
        "kernel": ("asm", path, *TINY),
        "suite": ("bench", path),
    }[what]
    message = refused(*words)
    assert path.name in message
    assert {"missing": "No such file", "empty": "", "directory": "directory", "binary": ""}[kind] in message


def test_unknown_machine_names_the_nearest() -> None:
    assert "no machine 'tinny'" in refused("run", "gemv/naive", "--machine", "tinny")
    assert "did you mean 'tiny'?" in refused("run", "gemv/naive", "--machine", "tinny")


# --- kernel --------------------------------------------------------------------------------------


def test_kernel_list_and_show() -> None:
    rows = dict(line.split(maxsplit=1) for line in good("kernel", "list").splitlines())
    assert "gemv/register_blocked" in rows
    text = good("kernel", "show", "gemv/register_blocked", "-D", "M=100", "-D", "K=24")
    assert re.search(r"M=100 +0\.\.\d+ +rows of A", text)
    assert re.search(r"A +in +f16 +\[100, 24\]", text)
    assert re.search(r"y +out +f16 +\[100\]", text)
    assert "gemv A=A" in text
    assert "did you mean 'gemv/naive'?" in refused("kernel", "show", "gemv/nave")
    assert "did you mean 'M'?" in refused("kernel", "show", "gemv/naive", "-D", "m=3")


def test_kernel_show_source_assembles(tmp_path: Path) -> None:
    kernel = write_copy(tmp_path)
    assert good("kernel", "show", kernel, "--source") == kernel.read_text(encoding="utf-8")
    assert "none: --check is not possible" in good("kernel", "show", kernel)


# --- data folders --------------------------------------------------------------------------------


def test_data_folder_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "configs").mkdir()
    mine = good("machine", "show", "tiny").replace("name: tiny", "name: mine")
    (tmp_path / "configs/mine.yaml").write_text(mine, encoding="utf-8")
    (tmp_path / "kernels").mkdir()
    write_copy(tmp_path / "kernels")
    env = {"NPULAB_DATA": str(tmp_path)}
    assert good("machine", "list", env=env).split()[0] == "mine"
    assert good("kernel", "list", env=env).split()[0] == "copy_f32"


def test_data_folder_that_is_missing_is_refused(tmp_path: Path) -> None:
    message = refused("machine", "list", env={"NPULAB_DATA": str(tmp_path / "none")})
    assert "no such folder" in message
    assert "NPULAB_DATA" in message
    assert "neither is in this folder" in refused("machine", "list", env={"NPULAB_DATA": str(tmp_path)})


def test_data_is_found_from_any_folder_and_through_a_link(tmp_path: Path) -> None:
    link = tmp_path / "npulab"
    link.symlink_to(PROGRAM)
    result = npulab("machine", "list", cwd=Path("/"), program=link)
    assert result.status == 0
    assert "tiny" in result.out
