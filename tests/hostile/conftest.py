"""What the hostile tests share."""
import pytest

from hostile import Daemons


@pytest.fixture
def daemons(tmp_path):
    made = []

    def make(*arguments, **options):
        made.append(Daemons(tmp_path / f"star-{len(made)}", *arguments, **options))
        return made[-1]
    yield make
    for one in made:
        one.close()
