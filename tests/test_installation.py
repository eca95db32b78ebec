"""The built package without extras, in an environment of its own: client, command line, host, no llama.cpp."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from bounds import scaled
from cli.blocks import write_specs
from cli.terminals import Ended
from cuttlebone.cli.host_process import host_process

ROOT = Path(__file__).parents[1]
INSTALL_S_MAX = scaled(280)
RUN_S_MAX = scaled(120)
COMMAND_TO_TYPE = "pip install 'cuttlebone[llama]'"

# Everything that can be imported, but for what names llama.cpp or the matcher that comes with it.
IMPORT_ALL = """
import pkgutil, sys
from importlib import import_module
import cuttlebone
left_out = tuple("cuttlebone." + one for one in ("inference.llama", "inference.constraint_", "__main__"))
for found in pkgutil.walk_packages(cuttlebone.__path__, "cuttlebone."):
    if not found.name.startswith(left_out):
        import_module(found.name)
print(len(sys.modules))
"""

pytestmark = pytest.mark.e2e


class Environment:
    """A Python with the package and what it needs, and nothing else. Read by every test here."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._variables = {
            name: value for name, value in os.environ.items() if not name.startswith("PYTHON")
        }

    @property
    def program(self) -> Sequence[str]:
        """The command, for whoever starts it with the variables of the tests."""
        return ("env", "-u", "PYTHONPATH", str(self._folder / "bin" / "cuttlebone"))

    def python(self, *arguments: str) -> Ended:
        """Run its interpreter."""
        return self._run(str(self._folder / "bin" / "python"), *arguments)

    def cuttlebone(self, *arguments: str) -> Ended:
        """Run its command."""
        return self._run(str(self._folder / "bin" / "cuttlebone"), *arguments)

    def _run(self, *command: str) -> Ended:
        ended = subprocess.run(
            command,
            capture_output=True,
            timeout=RUN_S_MAX,
            check=False,
            cwd=self._folder,
            env=self._variables,
        )
        return Ended(ended.returncode, ended.stdout.decode(), ended.stderr.decode())


@pytest.fixture(scope="module")
def lean(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    folder = tmp_path_factory.mktemp("lean")
    _pip("wheel", "--no-deps", "--wheel-dir", str(folder), str(ROOT))
    (wheel,) = folder.glob("*.whl")
    environment = folder / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    _pip("--python", str(environment / "bin" / "python"), "install", str(wheel))
    return Environment(environment)


def _pip(*arguments: str) -> None:
    command = [sys.executable, "-m", "pip", "--quiet", "--retries", "1", *arguments]
    ended = subprocess.run(
        command, capture_output=True, text=True, timeout=INSTALL_S_MAX, check=False
    )
    if ended.returncode and "Retrying (" in ended.stderr:
        pytest.skip("the package registry cannot be reached")
    assert ended.returncode == 0, ended.stderr


def test_nothing_of_llama_is_installed_and_everything_else_can_be_imported(
    lean: Environment,
) -> None:
    absent = "from importlib.util import find_spec as f; print(f('llama_cpp'), f('numpy'))"
    assert lean.python("-c", absent).out == "None None\n"
    assert lean.python("-c", IMPORT_ALL).err == ""


def test_a_block_without_a_model_runs_through_client_and_command_line(
    lean: Environment, tmp_path: Path
) -> None:
    specs = write_specs(tmp_path)
    with host_process(["--specs", str(specs)], program=lean.program) as url:
        submitted = lean.cuttlebone(
            "submit", "complete", "-i", '{"word": ""}', "--wait", "--json", "--url", url
        )
        assert submitted.result["status"] == "completed", submitted.err
        assert (
            lean.cuttlebone("jobs", "--json", "--url", url).result["jobs"][0]["spec"] == "complete"
        )
        script = (
            "import sys; from cuttlebone.client import Client\n"
            "with Client(sys.argv[1]) as client: print(client.submit('fail', {'word': ''}).status)"
        )
        assert lean.python("-c", script, url).out == "queued\n"


def test_block_tools_work(lean: Environment, tmp_path: Path) -> None:
    specs = write_specs(tmp_path)
    made = lean.cuttlebone(
        "block", "new", "mine", "--lang", "c", "--into", str(tmp_path), "--json"
    ).result["files"]
    assert made
    assert all(Path(file).is_file() for file in made)
    checked = lean.cuttlebone("spec", "check", str(specs), "--json")
    assert [one["name"] for one in checked.result["specs"]] == ["complete", "fail", "spin"]
    ran = lean.cuttlebone("run", str(specs / "complete.yaml"), "-i", '{"word": ""}', "--json")
    assert ran.result["status"] == "completed"


@pytest.mark.parametrize(
    "arguments",
    [
        ("serve", "--port", "0", "--no-state", "--specs", ".", "--model", "x={model}"),
        ("run", "{specs}/complete.yaml", "-i", '{{"word": ""}}', "--model", "x={model}"),
        ("bench", "infer", "--model", "{model}"),
        ("block", "run", "none.wasm", "-i", "{{}}", "--model", "{model}"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_model_is_refused_with_the_command_to_type(
    lean: Environment, tmp_path: Path, arguments: Sequence[str]
) -> None:
    model = tmp_path / "model.gguf"
    model.write_bytes(b"GGUF")
    specs = write_specs(tmp_path)
    ended = lean.cuttlebone(*(one.format(model=model, specs=specs) for one in arguments))
    assert (ended.status, ended.out) == (2, "")
    assert COMMAND_TO_TYPE in ended.err
    assert "Traceback" not in ended.err


def test_the_demo_says_what_it_needs(lean: Environment) -> None:
    ended = lean.cuttlebone("demo")
    assert ended.status == 2
    assert "pip install 'cuttlebone[demo]'" in ended.err


@pytest.mark.parametrize(("models", "verdict"), [((), "note"), (("--model", "x=y.gguf"), "mend")])
def test_doctor_names_what_is_missing(
    lean: Environment, tmp_path: Path, models: Sequence[str], verdict: str
) -> None:
    arguments = ("--specs", str(write_specs(tmp_path)), "--no-state", *models, "--json")
    findings = lean.cuttlebone("doctor", *arguments).result["findings"]
    (found, *_) = [one for one in findings if one["area"] == "models"]
    assert found["verdict"] == verdict
    assert COMMAND_TO_TYPE in found["advice"]
