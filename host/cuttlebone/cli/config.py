"""`cuttlebone config`: the settings file, written and shown."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from cuttlebone.cli.host_options import StatedSettings, takes_settings
from cuttlebone.cli.options import JsonFlag
from cuttlebone.cli.outcome import reporting
from cuttlebone.cli.output import write_json, write_line
from cuttlebone.errors import OperatorError
from cuttlebone.settings import Settings
from cuttlebone.settings.commented import commented_settings
from cuttlebone.settings.sources import FILE_NAME, Source, place_of, settled
from cuttlebone_abi import Json

app = typer.Typer(help="Write a settings file, and show what holds and who said so.")


@app.command(epilog="Example: cuttlebone config init")
def init(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to write it.")] = Path(
        FILE_NAME
    ),
    *,
    as_json: JsonFlag = False,
) -> None:
    """Write a settings file that has every setting as a comment, with its meaning and its default.

    A file that is there already is left alone.
    """
    with reporting(as_json=as_json):
        _write_new(file, commented_settings())
    if as_json:
        write_json({"file": str(file)}, pretty=False)
    else:
        write_line(f"made   {file}")


@app.command(epilog="Example: cuttlebone config show --config cuttlebone.yaml")
@takes_settings(*Settings.model_fields, here=True)
def show(stated: StatedSettings, *, as_json: JsonFlag = False) -> None:
    """Show every setting as `serve` would have it, and where its value comes from.

    Give it the options, the environment and the file that `serve` gets.
    """
    with reporting(as_json=as_json):
        file, sources = stated.file(), stated.sources()
        shown = list(_rows(settled(sources), sources))
    if as_json:
        rows: dict[str, Json] = {
            name: {"value": value, "source": source} for name, value, source in shown
        }
        write_json({"file": None if file is None else str(file), "settings": rows}, pretty=False)
        return
    for name, value, source in shown:
        write_line(f"{name:<28} {json.dumps(value, ensure_ascii=False):<24} {source}")


def _rows(settings: Settings, sources: Sequence[Source]) -> Iterator[tuple[str, Json, str]]:
    """Give name, value and source of each setting; of each entry where it is a mapping."""
    for name, value in settings.model_dump(mode="json").items():
        if isinstance(value, dict) and value:
            for key, one in value.items():
                yield f"{name}.{key}", one, place_of((name, key), sources)
        else:
            yield name, value, place_of((name,), sources)


def _write_new(file: Path, text: str) -> None:
    try:
        with file.open("x") as opened:
            opened.write(text)
    except FileExistsError:
        raise OperatorError(f"{file} is there already, and stays as it is") from None
    except OSError as error:
        raise OperatorError(f"{file} cannot be written: {error.strerror}") from None
