"""What the format of a broker's storage takes, and what it says when it fails."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from local_stack.errors import SetupError
from local_stack.servers.kafka import KafkaBroker
from local_stack.servers.services import RunFolder

pytestmark = pytest.mark.services


@pytest.mark.slice(name="databases")
def test_an_id_may_begin_with_a_dash_and_a_failure_names_its_cause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kafka refuses two listeners on one port after it has read the id, and only the trace's last cause says so."""
    monkeypatch.setattr(uuid, "uuid4", lambda: uuid.UUID(bytes=b"\xfb" * 16))
    with pytest.raises(SetupError, match=r"cannot be made: Caused by: .* two listeners on the same port"):
        KafkaBroker(folder=RunFolder(tmp_path), broker_port=19_999, controller_port=19_999).start()
