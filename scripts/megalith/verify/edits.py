"""Possible changes of a C source: the mutants of mutation.py, found with tree-sitter.

A mutant is one change at one place inside a function body. It is named by its function and the text
of the line before and after, so that the name stays valid when other lines of the file change.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import tree_sitter_c
from tree_sitter import Language, Node, Parser

from megalith.run.paths import TOP

PARSER = Parser(Language(tree_sitter_c.language()))

SWAPS = {
    "relation": {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="},
    "arithmetic": {"+": "-", "-": "+", "*": "/", "/": "*", "%": "*", "<<": ">>", ">>": "<<"},
    "bits": {"&": "|", "|": "&", "^": "&"},
    "logic": {"&&": "||", "||": "&&"},
    "assignment": {"+=": "-=", "-=": "+=", "|=": "&=", "&=": "|=", "<<=": ">>=", ">>=": "<<="},
    "step": {"++": "--", "--": "++"},
}
OPERATOR = {old: (kind, new) for kind, pairs in SWAPS.items() for old, new in pairs.items()}

# Messages and self-checks: no test needs to fail when they change.
SILENT = re.compile(r"^(printk|panic|panic_register_dump|prefetch|__builtin_prefetch)$")


@dataclass(frozen=True)
class Mutant:
    file: str  # from the top
    function: str
    kind: str
    line: int
    start: int  # bytes of the file that are replaced
    end: int
    text: str  # by this
    before: str  # the line
    after: str

    @property
    def key(self) -> tuple[str, str, str, str]:
        return self.file, self.function, self.before, self.after

    def describe(self) -> str:
        return f"{self.file}:{self.line} {self.function}: {self.before}  =>  {self.after}"


def callee(node: Node) -> str:
    function = node.child_by_field_name("function")
    return function.text.decode() if function else ""


def changes(node: Node) -> Iterator[tuple[str, int, int, str]]:
    """(kind, start, end, text) of the possible changes of this node itself."""
    if node.type in ("binary_expression", "assignment_expression", "update_expression"):
        operator = node.child_by_field_name("operator")
        found = OPERATOR.get(operator.type) if operator else None
        if found:
            yield found[0], operator.start_byte, operator.end_byte, found[1]
    if node.type in ("if_statement", "while_statement", "conditional_expression"):
        condition = node.child_by_field_name("condition")
        if condition and node.type != "conditional_expression":
            inside = condition.text.decode()
            yield "condition", condition.start_byte, condition.end_byte, f"(!{inside})"
    if node.type == "unary_expression" and node.text.startswith(b"!"):
        yield "condition", node.start_byte, node.start_byte + 1, ""
    if node.type == "number_literal":
        yield from constant(node)
    if node.type in ("true", "false"):
        yield "constant", node.start_byte, node.end_byte, "false" if node.type == "true" else "true"
    if node.type == "expression_statement" and node.named_child_count:
        inner = node.named_children[0]
        if inner.type == "call_expression":
            yield "call deleted", node.start_byte, node.end_byte, ";"
        elif inner.type in ("assignment_expression", "update_expression"):
            yield "statement deleted", node.start_byte, node.end_byte, ";"
    if node.type in ("break_statement", "continue_statement"):
        yield "statement deleted", node.start_byte, node.end_byte, ";"


def constant(node: Node) -> Iterator[tuple[str, int, int, str]]:
    text = node.text.decode()
    number = re.fullmatch(r"(0x[0-9a-fA-F]+|\d+)([uUlL]*)", text)
    if number:
        value = int(number.group(1), 0 if number.group(1).startswith("0x") else 10)
        yield "constant", node.start_byte, node.end_byte, f"{value + 1}{number.group(2)}"


def walk(node: Node) -> Iterator[Node]:
    if node.type == "call_expression" and SILENT.match(callee(node)):
        return
    if node.type == "expression_statement" and node.named_child_count:
        inner = node.named_children[0]
        if inner.type == "call_expression" and (
            SILENT.match(callee(inner)) or callee(inner) in ("_Static_assert",)
        ):
            return
    yield node
    for child in node.children:
        yield from walk(child)


def function_name(node: Node) -> str:
    declarator = node.child_by_field_name("declarator")
    while declarator and declarator.type != "identifier":
        declarator = declarator.child_by_field_name("declarator")
    return declarator.text.decode() if declarator else "?"


def line_around(data: bytes, start: int, end: int) -> tuple[int, int]:
    begin = data.rfind(b"\n", 0, start) + 1
    stop = data.find(b"\n", end)
    return begin, len(data) if stop < 0 else stop


def squeeze(text: bytes) -> str:
    return " ".join(text.decode().split())


def functions(node: Node) -> Iterator[Node]:
    for child in node.children:
        if child.type == "function_definition":
            yield child
        elif child.type.startswith("preproc"):
            yield from functions(child)


def mutants(file: str) -> list[Mutant]:
    """All mutants of a file, in the order of their places."""
    data = (TOP / Path(file)).read_bytes()
    found: dict[tuple[str, str, str, str], Mutant] = {}
    for definition in functions(PARSER.parse(data).root_node):
        name = function_name(definition)
        body = definition.child_by_field_name("body")
        for node in walk(body) if body else ():
            for kind, start, end, text in changes(node):
                begin, stop = line_around(data, start, end)
                after = data[begin:start] + text.encode() + data[end:stop]
                mutant = Mutant(
                    file,
                    name,
                    kind,
                    data.count(b"\n", 0, start) + 1,
                    start,
                    end,
                    text,
                    squeeze(data[begin:stop]),
                    squeeze(after),
                )
                found.setdefault(mutant.key, mutant)  # a line that occurs twice counts once
    return list(found.values())


def apply(mutant: Mutant) -> bytes:
    data = (TOP / mutant.file).read_bytes()
    return data[: mutant.start] + mutant.text.encode() + data[mutant.end :]
