"""One served host for all tests of a module that leave nothing behind that others could trip over."""

from collections.abc import Iterator

import pytest

from api.hosted import Api, served


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with served(tmp_path_factory.mktemp("specs")) as running:
        yield running
