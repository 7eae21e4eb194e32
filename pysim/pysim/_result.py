# SPDX-License-Identifier: Apache-2.0
"""The result of a run: outputs as NumPy arrays, time, and the report behind it."""

from __future__ import annotations

import html
from typing import Any

from pysim import _core
from pysim._arrays import Array, note_on_bits
from pysim._errors import VerdictError
from pysim._section import Section, view


class Result:
    """What a run gave. Outputs are attributes too: ``result.y`` is ``result.outputs["y"]``.

    kernel, machine, params: what ran. outputs: arrays by tensor. cycles, time_us: of the kernel. notes: what to know
    about the outputs.
    """

    def __init__(
        self,
        kernel: str,
        machine: str,
        params: dict[str, int],
        outputs: dict[str, Array],
        types: dict[str, str],
        report: _core.Report,
    ) -> None:
        self.kernel = kernel
        self.machine = machine
        self.params = params
        self.outputs = outputs
        self.cycles = report.cycles
        self.time_us = report.time_us
        self.notes = [f"{name}: {note}" for name, kind in types.items() if (note := note_on_bits(kind))]
        self._source: _core.Report | None = report
        self._report: dict[str, Any] = {}
        self._text = ""

    def _settle(self) -> None:
        """Takes everything out of the compiled report, once: most runs of a sweep never need it."""
        if self._source is not None:
            self._report, self._text = self._source.to_dict(), self._source.to_text()
            self._source = None

    @property
    def report(self) -> dict[str, Any]:
        """The whole report, as the program writes it with --json."""
        self._settle()
        return self._report

    @property
    def text(self) -> str:
        """The whole report for people."""
        self._settle()
        return self._text

    @property
    def diagnostics(self) -> list[Section]:
        """Findings that let the run go on: severity, code, message, where, count."""
        return view(self.report["diagnostics"])  # type: ignore[no-any-return]

    @property
    def check(self) -> Section | None:
        """How the outputs compare with the reference operation; None when the run was not checked."""
        check = self.report["check"]
        return Section(check) if check["requested"] else None

    def raise_for_verdict(self) -> None:
        """VerdictError for a failed check or a finding that is an error."""
        if self.check is not None and not self.check["passed"]:
            raise VerdictError(f"{self.kernel}: {self._check_line()}", "mismatch")
        for finding in self.diagnostics:
            if finding["severity"] == "error":
                raise VerdictError(finding["message"], finding["code"], finding["where"])

    def __getattr__(self, name: str) -> Array:
        outputs: dict[str, Array] = self.__dict__.get("outputs", {})
        if name in outputs:
            return outputs[name]
        known = [*outputs, *(key for key in [*self.__dict__, *dir(type(self))] if not key.startswith("_"))]
        raise AttributeError(f"the result has no '{name}'{_core.suggestion(name, known)}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.outputs]

    def __getstate__(self) -> dict[str, Any]:
        self._settle()
        return self.__dict__

    def _check_line(self) -> str:
        check = self.report["check"]
        if check["passed"]:
            closest = check["closest"]
            bound = f"{closest['bound']:.4g}" if closest["bound"] is not None else "any number"
            off = f"{closest['where']} is closest to its bound: {closest['error']:.4g} of {bound}"
            return f"passed: {check['elements']:,} elements, {off if closest['where'] else 'no finite element is off'}"
        worst = "".join(
            f"; {one['tensor']}{one['index']}: got {one['got']}, expected {one['expected']}"
            for one in check["worst"][:1]
        )
        return f"failed: {check['mismatches']:,} of {check['elements']:,} elements differ{worst}"

    def _lines(self) -> list[tuple[str, str]]:
        report = self.report
        lines = [("time", f"{self.cycles:,} cycles = {self.time_us:,.6g} us on {report['cores']} cores")]
        for name, memory in report["memory"].items():
            if memory["utilization"] is not None:
                share = f"{memory['utilization']:.1%} of {memory['peak_gbps']:,.6g} GB/s"
                lines.append((name, f"{memory['bandwidth_gbps']:,.6g} GB/s, {share}"))
        bound = report["bound"]
        lines.append(("bound", f"at least {bound['lower_bound_us']:,.6g} us, by {bound['limited_by']}"))
        lines.append(("held up by", str(bound["bounded_by"])))
        if report["check"]["requested"]:
            lines.append(("check", self._check_line()))
        lines += [(one["severity"], f"{one['where']}: {one['message']} [{one['code']}]") for one in self.diagnostics]
        lines += [(name, f"{array.dtype} {list(array.shape)}") for name, array in self.outputs.items()]
        return lines + [("note", note) for note in self.notes]

    def __repr__(self) -> str:
        lines = self._lines()
        width = max(len(label) for label, _ in lines)
        return "\n".join(
            [f"{self.kernel} on {self.machine}", *(f"  {label:<{width}}  {text}" for label, text in lines)]
        )

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{html.escape(label)}</th>"
            f"<td style='text-align:left'>{html.escape(text)}</td></tr>"
            for label, text in self._lines()
        )
        title = html.escape(f"{self.kernel} on {self.machine}")
        full = html.escape(self.text)
        return (
            f"<table><caption><b>{title}</b></caption>{rows}</table>"
            f"<details><summary>whole report</summary><pre>{full}</pre></details>"
        )
