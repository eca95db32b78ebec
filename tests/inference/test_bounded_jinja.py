"""The sandbox of templates: what jinja makes, until it is too much."""

import tracemalloc
from datetime import datetime
from typing import Any, NoReturn

import pytest
from jinja2.sandbox import ImmutableSandboxedEnvironment

from cuttlebone.inference.bounded_jinja import BoundedEnvironment
from cuttlebone.inference.rendering_budget import RENDER_S_MAX, RenderingBudget, TooMuch
from cuttlebone.inference.template_prices import BUDGET_KEY

MADE_BYTES_MAX = 64 << 20
"""What a rendering of a short conversation may have in memory at once."""

MESSAGES = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": " <b>Hi</b>, 'you' "},
    {"role": "assistant", "content": "<think>why</think>Ü"},
    {"role": "user", "content": "Prove it."},
]


def rendered(source: str, **values: Any) -> str:  # whatever a template is given
    """What a template puts out within the budget of those messages."""
    content_chars = sum(len(message["content"]) for message in MESSAGES)
    template = BoundedEnvironment().from_string(source)
    context = template.new_context(
        {"messages": MESSAGES, BUDGET_KEY: RenderingBudget(content_chars), **values}
    )
    return "".join(template.root_render_func(context))


COMMON = {
    "loop variables": "{% for m in messages %}{{ loop.index0 }}{{ loop.first }}{{ loop.last }}"
    "{{ loop.length }}{{ loop.revindex }}{{ loop.previtem }}{% else %}none{% endfor %}",
    "loop controls": "{% for m in messages %}{% if loop.first %}{% continue %}{% endif %}"
    "{{ m.role }}{% break %}{% endfor %}",
    "a loop with a condition": "{% for m in messages if m.role == 'user' %}{{ m.content }}{% endfor %}",
    "a recursive loop": "{% for x in [1, [2, [3]]] recursive %}"
    "{% if x is iterable %}({{ loop(x) }}){% else %}{{ x }}{% endif %}{% endfor %}",
    "slices": "{{ messages[1:] | length }}{{ messages[::-1][0].content[1:4] }}{{ 'abc'[-1] }}",
    "namespaces": "{% set ns = namespace(n=0) %}{% for m in messages %}{% set ns.n = ns.n + 1 %}"
    "{% endfor %}{{ ns.n }}",
    "methods of text": "{{ messages[2].content.split('</think>')[-1].strip() }}{{ 'a,b'.split(',') }}"
    "{{ 'x'.startswith('x') }}{{ 'ab'.replace('a', 'bb') }}{{ '-'.join(['a', 'b']) }}"
    "{{ '{} and {0} and {name}'.replace('{0}', '').format(1, name=2) }}",
    "filters": "{{ messages | selectattr('role', 'equalto', 'user') | map(attribute='content') "
    "| map('trim') | join('|') }}{{ nothing | default('none') }}{{ [3, 1] | sort | first }}"
    "{{ {'a': 1} | items | list }}{{ 'a\nb' | indent(2) }}{{ 'a' | upper | string }}",
    "concatenation": "{{ 'a' ~ 1 ~ none ~ nothing ~ [1] }}{{ 'a' + 'b' }}{{ [1] + [2] }}",
    "macros": "{% macro say(m, mark='-') %}{{ mark }}{{ m.content | trim }}{% endmacro %}"
    "{% for m in messages %}{{ say(m, mark='*') }}{% endfor %}",
    "a call with a body": "{% macro box() %}[{{ caller() }}]{% endmacro %}"
    "{% call box() %}in{% endcall %}",
    "captured output": "{% set x %}a{{ messages | length }}{% endset %}{{ x }}",
    "a filtered body": "{% filter upper %}a{{ 'b' }}{% endfilter %}",
    "comparisons": "{{ 'think' in messages[2].content }}{{ [1, [2]] == [1, [2]] }}{{ 1 < 2 <= 2 }}",
    "tests": "{{ nothing is defined }}{{ 'x' is string }}{{ {} is mapping }}{{ none is none }}",
    "trimmed lines": "  {% if true %}\n  a\n  {% endif %}\n{%- if true -%} b {%- endif %}\n",
}


@pytest.mark.parametrize("name", COMMON)
def test_what_templates_use_gives_what_jinja_gives(name: str) -> None:
    plain = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    assert rendered(COMMON[name]) == plain.from_string(COMMON[name]).render(messages=MESSAGES)


def test_json_is_written_as_chat_templates_expect_it() -> None:
    assert rendered("{{ {'b': '<Ü>', 'a': [1]} | tojson }}") == '{"b": "<Ü>", "a": [1]}'
    assert rendered("{{ [1] | tojson(indent=2) }}") == "[\n  1\n]"


def test_what_the_model_says_may_be_marked_for_training() -> None:
    assert rendered("a{% generation %}{{ 'b' }}{% endgeneration %}c") == "abc"


X = "{% set x = 'xxxxxxxxxxxxxxxx' %}"
LISTS = "{% set x = [1] %}" + "{% set x = [x, x] %}" * 40

TOO_LARGE = {
    "text that doubles": X + "{% set x = x ~ x %}" * 40,
    "text that doubles in a loop": "{% set n = namespace(x='x') %}{% for i in range(40) %}"
    "{% set n.x = n.x ~ n.x %}{% endfor %}",
    "text that is added": X + "{% set x = x + x %}" * 40,
    "text that is joined": X + "{% set x = [x, x, x] | join(x) %}" * 20,
    "text that joins": X + "{% set x = x.join([x, x, x]) %}" * 20,
    "text that is replaced": X + "{% set x = x | replace('x', x) %}" * 20,
    "text that replaces": X + "{% set x = x.replace('x', x) %}" * 20,
    "text that is filled in": X + "{% set x = '{}{}'.format(x, x) %}" * 40,
    "text that is captured": X + "{% set x %}{{ x }}{{ x }}{% endset %}" * 40,
    "text that a macro doubles": "{% macro d(x) %}{{ x }}{{ x }}{% endmacro %}"
    + X
    + "{% set x = d(x) %}" * 40,
    "text between tags": "{% set n %}{% for i in range(90000) %}"
    + "x" * 90_000
    + "{% endfor %}{% endset %}",
    "text kept many times": X
    + "{% set x = x ~ x %}" * 14
    + "".join(f"{{% set y{n} = x ~ {n} %}}" for n in range(1000)),
    "a list that doubles": "{% set x = [1] %}" + "{% set x = x + x %}" * 40,
    "lists in lists": LISTS,
    "tuples in tuples": LISTS.replace("[", "(").replace("]", ")"),
    "mappings in mappings": "{% set x = {} %}" + "{% set x = {'a': x, 'b': x} %}" * 40,
    "lists from calls": "{% set x = dict() %}" + "{% set x = dict(a=x, b=x) %}" * 40,
    "repeated text": "{{ 'x' * 1000000000 }}",
    "repeated lists": "{{ [1] * 1000000000 }}",
    "powers": "{{ 9 ** 9 ** 9 }}",
    "a padded number": "{{ '%1000000000d' % 1 }}",
    "a padded field": "{{ '{:>1000000000}'.format(1) }}",
    "a padded nested field": "{{ '{:>{}}'.format(1, 1000000000) }}",
    "an indent": "{{ 'a\nb' | indent(1000000000) }}",
    "an indent of JSON": "{{ [[1]] | tojson(indent=1000000000) }}",
    "a method that pads": "{{ 'x'.ljust(1000000000) }}",
    "text taken apart": X + "{% set x = x ~ x %}" * 15 + "{% set y = x | list %}" * 20,
}

ENDLESS = {
    "loops": "{% for a in range(90000) %}{% for b in range(90000) %}{% endfor %}{% endfor %}",
    "a loop over a mapped list": "{% for a in range(90000) %}"
    "{% for b in range(90000) | map('abs') %}{% endfor %}{% endfor %}",
    "sums": "{% for a in range(90000) %}{{ '' if range(90000) | sum }}{% endfor %}",
    "a recursive loop": "{% for a in range(90000) recursive %}{{ loop(range(90000)) }}{% endfor %}",
    "macros": "{% macro f() %}{{ '' }}{% endmacro %}"
    "{% for a in range(90000) %}{% for b in range(90000) %}{{ f() }}{% endfor %}{% endfor %}",
    "searches": X
    + "{% set x = x ~ x %}" * 14
    + "{% for a in range(90000) %}{{ '' if 'y' in x }}{% endfor %}" * 9,
}


@pytest.mark.parametrize("name", TOO_LARGE)
def test_what_grows_without_bound_is_refused_before_it_has_grown(name: str) -> None:
    tracemalloc.start()
    try:
        with pytest.raises((TooMuch, OverflowError)):
            rendered(TOO_LARGE[name])
        assert tracemalloc.get_traced_memory()[1] < MADE_BYTES_MAX
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", ENDLESS)
def test_what_does_not_end_is_ended(name: str) -> None:
    with pytest.raises(TooMuch):
        rendered(ENDLESS[name])


def test_the_time_of_a_rendering_is_bounded_whatever_a_step_costs() -> None:
    slow = "{% for a in range(90000) %}{{ wait() }}{% endfor %}"
    budget = RenderingBudget(0, processor_s=iter([0.0, 0.1, RENDER_S_MAX + 0.1]).__next__)
    with pytest.raises(TooMuch, match=f"longer than {RENDER_S_MAX} s"):
        rendered(slow, wait=str, **{BUDGET_KEY: budget})


def test_a_template_that_calls_itself_is_an_error() -> None:
    with pytest.raises((RecursionError, TooMuch)):
        rendered("{% macro f(n) %}{{ f(n + 1) }}{% endmacro %}{{ f(0) }}")


@pytest.mark.parametrize("name", ["center", "format", "random", "wordwrap", "_budget"])
def test_a_filter_that_is_not_offered_is_an_error(name: str) -> None:
    with pytest.raises(Exception, match="No filter named"):
        rendered("{{ 'x' | NAME }}".replace("NAME", name))


def test_an_error_of_the_template_s_own_is_passed_on() -> None:
    def refuse(message: str) -> NoReturn:
        raise ValueError(message)

    with pytest.raises(ValueError, match="roles must alternate"):
        rendered("{{ refuse('roles must alternate') }}", refuse=refuse)
    assert rendered("{{ now('%Y') }}", now=datetime(2026, 1, 1).strftime) == "2026"  # noqa: DTZ001
