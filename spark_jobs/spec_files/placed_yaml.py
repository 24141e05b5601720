"""YAML as PyYAML's safe loader reads it, with the place of everything, and without what could be read in two ways."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.names import show
from spark_jobs.contracts.places import DocumentPlace, Entries, Items

if TYPE_CHECKING:
    import yaml

_TAG = "tag:yaml.org,2002:"
_LENIENT = re.compile(r"\t|[|>][-+0-9]*#")
"""What libyaml reads more leniently than PyYAML's parser."""


def load_yaml(text: str, file: str) -> tuple[Any, list[ContractError]]:
    """The document, its mappings and lists as :class:`Entries` and :class:`Items`, and names that it has twice.

    Of a name that is there twice the first value is taken, so that the rest of the document can be looked at.

    Raises:
        YAMLError: it is no YAML, has tags of its own or contains itself. ValueError, for characters alone.
    """
    node = _compose(text)
    if node is None:
        return None, []
    document = _Document(file)
    return document.value(node), document.twice


def _compose(text: str) -> yaml.Node | None:
    """The nodes by libyaml where PyYAML has it, ten times as fast; what it refuses PyYAML's own parser explains.

    libyaml takes tabs and comments in places where PyYAML's parser, as the standard, refuses them: it gets those texts.
    """
    import yaml

    fast = getattr(yaml, "CSafeLoader", None)
    if fast is not None and not _LENIENT.search(text):
        try:
            return yaml.compose(text, Loader=fast)
        except (yaml.YAMLError, ValueError):
            pass
    return yaml.compose(text, Loader=yaml.SafeLoader)


class _Document:
    """The values of one document, each made once: an alias is the very value of its anchor."""

    def __init__(self, file: str) -> None:
        from yaml.constructor import SafeConstructor

        self.file, self.twice = file, list[ContractError]()
        self._constructor: Any = SafeConstructor()
        self._made: dict[int, Any] = {}
        self._open: set[int] = set()

    def value(self, node: yaml.Node) -> Any:
        """The value of the node."""
        if id(node) in self._open:
            raise _refusal("it contains itself", node)
        if id(node) not in self._made:
            self._open.add(id(node))
            self._made[id(node)] = self._make(node)
            self._open.remove(id(node))
        return self._made[id(node)]

    def _make(self, node: yaml.Node) -> Any:
        import yaml

        if isinstance(node, yaml.MappingNode) and node.tag == f"{_TAG}map":
            return self._entries(node)
        if isinstance(node, yaml.SequenceNode) and node.tag == f"{_TAG}seq":
            places = {number: self._place(item) for number, item in enumerate(node.value)}
            return Items([self.value(item) for item in node.value], self._place(node), places)
        if not isinstance(node, yaml.ScalarNode):
            raise _refusal(f"it has the tag {show(node.tag)}", node)
        try:
            return self._constructor.construct_object(node, deep=True)
        except (ValueError, OverflowError) as error:  # dates and numbers that are none
            raise _refusal(f"{show(node.value)} is no value: {error}", node) from error

    def _entries(self, node: yaml.MappingNode) -> Entries:
        self._refuse_twice(node)
        self._constructor.flatten_mapping(node)
        made = Entries(place=self._place(node))
        for key, value in node.value:  # what << brings comes first, and gives way to the mapping's own
            name = self._name(key)
            made[name], made.places[name] = self.value(value), self._place(key)
        return made

    def _refuse_twice(self, node: yaml.MappingNode) -> None:
        """Keep the first of each name."""
        first: dict[Any, yaml.Node] = {}
        kept = []
        for key, value in node.value:
            name = self._name(key)
            if name in first:
                lines = [self._place(each).line for each in (first[name], key)]
                error = ContractError(
                    f"{show(key.value)} is there twice, on lines {lines[0]} and {lines[1]}; keep one of them"
                )
                error.place = self._place(key)
                self.twice.append(error)
            else:
                first[name] = key
                kept.append((key, value))
        node.value = kept

    def _name(self, key: yaml.Node) -> Any:
        import yaml

        if not isinstance(key, yaml.ScalarNode):
            raise _refusal("a name is a list or a mapping", key)
        return key.tag if key.tag == f"{_TAG}merge" else self.value(key)

    def _place(self, node: yaml.Node) -> DocumentPlace:
        return DocumentPlace(file=self.file, line=node.start_mark.line + 1)


def _refusal(reason: str, node: yaml.Node) -> yaml.constructor.ConstructorError:
    import yaml

    return yaml.constructor.ConstructorError(None, None, reason, node.start_mark)
