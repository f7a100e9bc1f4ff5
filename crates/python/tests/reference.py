"""The API reference, `docs/reference/python.md`: names, signatures and docstrings read by griffe."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

import griffe

HEAD = """# Python API

Names of the package `gentle`, with units. This page is generated from their docstrings (`make docs`);
[python.md](python.md) is the guide.
"""


FOLDER = Path(__file__).resolve().parents[1]
"""The crate."""

PAGE = FOLDER.parents[1] / "docs" / "reference" / "python.md"


ASKED_FOR = ("executors.Executor", "store.Store")
"""Protocols that arguments may have, outside of the package's own names."""


def reference() -> str:
    """Return the page."""
    module = griffe.load(
        "gentle",
        search_paths=[str(FOLDER / "python")],
        docstring_parser="numpy",
        allow_inspection=False,
        resolve_aliases=True,
    )
    public = [(f"gentle.{name}", _final(module[name])) for name in module.exports if name != "__version__"]
    modules = [(name, member) for name, member in public if member.is_module]
    functions = [(name, member) for name, member in public if member.is_function]
    functions += [
        (f"{name}.{part.name}", part)
        for name, member in modules
        for part in member.functions.values()
        if not part.name.startswith("_") and not part.is_alias
    ]
    classes = [(name, member) for name, member in public if member.is_class]
    classes += [(f"gentle.{name}", _final(module[name])) for name in ASKED_FOR]
    classes += [
        (f"{name}.{part.name}", part)
        for name, member in modules
        for part in member.classes.values()
        if not part.name.startswith("_") and not part.is_alias
    ]
    parts = [HEAD, "## Functions\n", *(_function(name, member) for name, member in sorted(functions))]
    parts += ["## Classes\n", *(_class(name, member) for name, member in sorted(classes))]
    return "\n".join(parts)


def _final(member: griffe.Object | griffe.Alias) -> griffe.Object:
    return member.final_target if member.is_alias else member


def _function(name: str, function: griffe.Function) -> str:
    return f"### `{name}`\n\n{_signature(name, function)}\n{_text(function)}"


def _class(name: str, described: griffe.Class) -> str:
    made = described.members.get("__init__")
    is_made_by_users = described.name in {"CustomQueue", "Machines", "Scenario"}
    lines = [f"### `{name}`\n"]
    if is_made_by_users and made is not None:
        lines.append(_signature(name, made))
    lines.append(_text(described))
    rows = [
        (member, _one_line(member))
        for member in described.members.values()
        if not member.name.startswith("_") and not member.is_alias and (member.is_function or member.has_docstring)
    ]
    if rows:
        lines.append("| | |\n| --- | --- |")
        lines += [f"| `{_brief(member)}` | {text} |" for member, text in rows]
        lines.append("")
    return "\n".join(lines)


def _brief(member: griffe.Object) -> str:
    if not member.is_function:
        return member.name
    names = [parameter.name for parameter in member.parameters if parameter.name not in {"self", "cls"}]
    return f"{member.name}({', '.join(names)})"


def _signature(name: str, function: griffe.Function) -> str:
    parameters, keyword_only = [], False
    for parameter in function.parameters:
        if parameter.name == "self":
            continue
        is_variadic = parameter.kind is griffe.ParameterKind.var_positional
        if parameter.kind is griffe.ParameterKind.keyword_only and not keyword_only:
            keyword_only = True
            parameters.append("*")
        # Parameters after *items are keywords in any case.
        keyword_only = keyword_only or is_variadic
        has_default = parameter.default is not None and not is_variadic
        default = f" = {parameter.default}" if has_default else ""
        parameters.append(f"{'*' if is_variadic else ''}{parameter.name}: {parameter.annotation}{default}")
    result = f" -> {function.returns}" if function.returns and function.name != "__init__" else ""
    line = f"{name}({', '.join(parameters)}){result}"
    if len(line) > 100:
        inner = "".join(f"    {parameter},\n" for parameter in parameters)
        line = f"{name}(\n{inner}){result}"
    return f"```python\n{line}\n```\n"


def _one_line(member: griffe.Object) -> str:
    return _cell(member.docstring.value) if member.docstring else ""


def _cell(text: str) -> str:
    return _markdown(" ".join(text.split())).replace("|", "\\|")


def _text(member: griffe.Object) -> str:
    parts = []
    for section in member.docstring.parsed if member.docstring else []:
        match section.kind:
            case griffe.DocstringSectionKind.text:
                parts.append(_markdown(section.value) + "\n")
            case griffe.DocstringSectionKind.parameters:
                parts.append("| parameter | |\n| --- | --- |")
                for text, entries in groupby(section.value, key=lambda entry: entry.description):
                    names = ", ".join(f"`{entry.name}`" for entry in entries)
                    parts.append(f"| {names} | {_cell(text)} |")
                parts.append("")
            case griffe.DocstringSectionKind.examples:
                parts += [f"```python\n{text}\n```\n" for _, text in section.value]
            case kind:
                raise ValueError(f"{member.path}: a section {kind.value} is not rendered")
    return "\n".join(parts)


def _markdown(text: str) -> str:
    """Return text with the marks of Markdown: code has one backtick, and an example is a block of it."""
    lines, example = [], False
    for line in text.replace("``", "`").splitlines():
        begins = line.startswith(">>> ")
        if begins and not example:
            lines.append("```python")
        elif example and not line.strip():
            lines.append("```")
        example = begins or (example and bool(line.strip()))
        lines.append(line)
    if example:
        lines.append("```")
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(reference(), encoding="utf-8")
