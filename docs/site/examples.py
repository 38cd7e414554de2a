"""Examples of docstrings (">>> ...") become blocks of code in the Python reference."""
import re

import griffe

EXAMPLE = re.compile(r"(?:^|\n)((?:>>> .*|\.\.\. .*|\.\.\.)(?:\n(?!\n).+)*)")


class Examples(griffe.Extension):
    """Fences every paragraph that begins with a prompt."""

    def on_object(self, *, obj, **_) -> None:
        if obj.docstring and ">>>" in obj.docstring.value:
            obj.docstring.value = EXAMPLE.sub(lambda found: f"\n\n```python\n{found.group(1)}\n```\n", obj.docstring.value)
