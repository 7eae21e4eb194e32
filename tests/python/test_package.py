# SPDX-License-Identifier: Apache-2.0
"""The package as such: stub of the compiled half, kernel list, entry point."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pysim
from pysim import _core
from support import ROOT, shipped

STUB = ROOT / "pysim/pysim/_core.pyi"
CMAKE_VERSION = re.compile(r"project\(npulab VERSION ([0-9.]+)")


def stub_names() -> dict[str, list[str]]:
    """Every function of the stub, methods as "Class.method", with its arguments."""
    names: dict[str, list[str]] = {}

    def walk(body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, ast.ClassDef):
                walk(node.body, f"{node.name}.")
            elif isinstance(node, ast.FunctionDef):
                arguments = [argument.arg for argument in node.args.args]
                names[prefix + node.name] = [name for name in arguments if name != "self"]
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                names[prefix + node.target.id] = []

    walk(ast.parse(STUB.read_text(encoding="utf-8")).body, "")
    return names


def module_names() -> dict[str, list[str]]:
    """The same of the module, whose docstrings begin with the signature."""
    owners = {"": _core, **{f"{key}.": item for key, item in vars(_core).items() if isinstance(item, type)}}
    names: dict[str, list[str]] = {}
    for prefix, owner in owners.items():
        for key in vars(owner):
            item = getattr(owner, key)
            signature = re.match(r"\w+\((.*)\) ->", item.__doc__ or "")
            made_here = key == "__init__" and signature
            if not isinstance(item, type) and (made_here or not key.startswith("_")):
                found = re.findall(r"(?:^|, )(\w+): ", signature.group(1)) if signature else []
                names[prefix + key] = [name for name in found if name != "self"]
    return names


def test_stub_is_the_module() -> None:
    assert stub_names() == module_names()


def test_public_names_exist() -> None:
    assert sorted(pysim.__all__) == sorted(name for name in pysim.__all__ if hasattr(pysim, name))
    assert (ROOT / "pysim/pysim/py.typed").is_file()


def test_version_is_the_projects() -> None:
    found = CMAKE_VERSION.search((ROOT / "CMakeLists.txt").read_text(encoding="utf-8"))
    assert found
    assert pysim.__version__ == found.group(1)


def test_kernels_names_everything_shipped() -> None:
    names = {path.relative_to("kernels").with_suffix("").as_posix() for path in shipped("kernels/*.npu")}
    listed = pysim.kernels()
    assert set(listed) == names
    assert all(text and "\n" not in text for text in listed.values())


def test_kernel_info_describes_the_header() -> None:
    info = pysim.kernel_info("gemv/register_blocked")
    assert info.name == "gemv/register_blocked"
    assert info.reference.operation == "gemv"
    tensors = {tensor.name: tensor for tensor in info.tensors}
    assert tensors["A"].shape_parameters == ["M", "K"]
    assert (tensors["y"].type, tensors["y"].direction) == ("f16", "out")
    assert {"M", "K"} <= {parameter.name for parameter in info.params}


def test_kernel_can_be_read(twice: str) -> None:
    kernel = pysim.assemble(twice, "tiny", N=5)
    assert kernel.name == "twice"
    assert kernel.doc == "y = x + x on one core."
    assert kernel.params == {"N": 5}
    assert kernel.tensors["x"].shape == [5]
    assert repr(kernel) == "<Kernel twice on tiny; N=5; x f16 [N] in, y f16 [N] out>"
    again = pysim.assemble(kernel.disassemble(), "tiny")
    assert again.hash == kernel.hash


def test_entry_point_is_the_program(tmp_path: Path) -> None:
    def npulab(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "pysim", *words], cwd=tmp_path, capture_output=True, text=True, check=False
        )

    version = npulab("--version")
    assert version.stdout == f"npulab {pysim.__version__}\n"
    listing = npulab("machine", "list")
    assert listing.returncode == 0, listing.stderr
    assert all(name in listing.stdout for name in pysim.machines())
    assert npulab("machine", "show", "none").returncode == 2
