"""Real chat templates, rendered by plain jinja2 and by ours: whether the texts are equal, and what the budget costs.

Run: python tests/benchmarks/compare_templates.py FOLDER, with a folder of *.jinja files. Those of llama.cpp
come with the source of its Python package:

    pip download --no-deps --no-binary llama-cpp-python llama-cpp-python==0.3.36
    tar xzf llama_cpp_python-0.3.36.tar.gz --strip-components=4 --wildcards '*/models/templates/*.jinja'
"""

import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

from jinja2 import TemplateError, nodes
from jinja2.ext import Extension, LoopControlExtension
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from cuttlebone.inference.bounded_jinja import BoundedEnvironment
from cuttlebone.inference.rendering_budget import RenderingBudget
from cuttlebone.inference.template_prices import BUDGET_KEY
from cuttlebone_abi import Json

Messages: TypeAlias = list[dict[str, str]]
Render: TypeAlias = Callable[[Messages, Json], str]

TURNS_MAX = 200
CONVERSATIONS: dict[str, Messages] = {
    "one turn": [{"role": "user", "content": "Hi ü 'q' <b>"}],
    "with a system message": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": " Hi "},
        {"role": "assistant", "content": "<think>x</think>Ok."},
        {"role": "user", "content": "More"},
    ],
    "out of order": [
        {"role": "assistant", "content": "first"},
        {"role": "user", "content": "second"},
    ],
    "long": [
        {"role": ("user", "assistant")[turn % 2], "content": "word " * 600}
        for turn in range(TURNS_MAX + 1)
    ],
}
TOOL: Json = {
    "type": "function",
    "function": {
        "name": "get",
        "description": "Gets <it> & more",
        "parameters": {
            "type": "object",
            "properties": {"a": {"type": "string", "description": "d"}},
            "required": ["a"],
        },
    },
}
DAY = datetime(2026, 11, 30, tzinfo=UTC)


class Generation(Extension):
    """The tag `generation` as transformers has it: a block of its own."""

    tags = {"generation"}  # noqa: RUF012  # as jinja declares it

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.CallBlock(self.call_method("_body"), [], [], body, lineno=line)

    def _body(self, caller: Callable[[], str]) -> str:
        return caller()


def plain(source: str) -> Render:
    """A template as transformers sets jinja2 up for it."""
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[LoopControlExtension, Generation]
    )
    environment.filters["tojson"] = to_json
    template = environment.from_string(source)
    return lambda messages, tools: template.render(values(messages, tools))


def ours(source: str) -> Render:
    """The same template as a host renders it."""
    template = BoundedEnvironment().from_string(source)

    def render(messages: Messages, tools: Json) -> str:
        budget = RenderingBudget(sum(len(message["content"]) for message in messages))
        context = template.new_context({**values(messages, tools), BUDGET_KEY: budget})
        return "".join(template.root_render_func(context))

    return render


def to_json(value: Json, ensure_ascii: bool = False, **form: Any) -> str:  # noqa: FBT001  # as templates call it
    return json.dumps(value, ensure_ascii=ensure_ascii, **form)


def values(messages: Messages, tools: Json) -> dict[str, Any]:
    given = {} if tools is None else {"tools": tools}
    return given | {
        "messages": messages,
        "add_generation_prompt": True,
        "bos_token": "<s>",
        "eos_token": "</s>",
        "raise_exception": refuse,
        "strftime_now": DAY.strftime,
    }


def refuse(message: str) -> NoReturn:
    raise TemplateError(message)


def outcome(render: Render, messages: Messages, tools: Json) -> tuple[str, float]:
    """What a rendering gives, text or error, and its seconds; the second time, as the first warms up."""
    text, took_s = "", 0.0
    for _ in range(2):
        begun_s = time.perf_counter()
        try:
            text = render(messages, tools)
        except Exception as error:  # noqa: BLE001  # a template is a program: any may come
            text = f"error: {error}"
        took_s = time.perf_counter() - begun_s
    return text, took_s


def compared(folder: Path) -> Iterator[tuple[str, bool, float]]:
    """Each rendering: what it is, whether the texts are equal, and our seconds through those of plain jinja2."""
    for path in sorted(folder.glob("*.jinja")):
        source = path.read_text(encoding="utf-8")
        one, other = plain(source), ours(source)
        for name, messages in CONVERSATIONS.items():
            for tools in (None, [TOOL]):
                (text, plain_s), (again, our_s) = (
                    outcome(render, messages, tools) for render in (one, other)
                )
                yield (
                    f"{path.name}, {name}{' with tools' * bool(tools)}",
                    text == again,
                    our_s / plain_s,
                )


def main(folder: Path) -> int:
    """Compare all, tell of each that differs, and sum up."""
    found = list(compared(folder))
    different = [what for what, equal, _ in found if not equal]
    for what in different:
        print(f"different: {what}")  # noqa: T201
    ratio = statistics.median(ratio for _, _, ratio in found)
    print(f"{len(found)} renderings, {len(different)} different; {ratio:.1f} times plain jinja2")  # noqa: T201
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
