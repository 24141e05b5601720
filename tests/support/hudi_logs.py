"""What a class of Hudi's logs while a block runs, for tests that count what it does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import SparkSession


@contextmanager
def hudi_log(spark: SparkSession, name: str) -> Iterator[list[str]]:
    """Fill the list with the lines that ``org.apache.hudi.<name>`` logs, once the block has ended.

    Of a session in this process; the level is DEBUG for the block.
    """
    jvm: Any = spark._jvm
    core = jvm.org.apache.logging.log4j.core
    logger = jvm.org.apache.logging.log4j.LogManager.getLogger(f"org.apache.hudi.{name}")
    text, level = jvm.java.io.StringWriter(), logger.getLevel()
    appender = core.appender.WriterAppender.createAppender(None, None, text, "of-a-test", False, True)
    appender.start()
    logger.addAppender(appender)
    core.config.Configurator.setLevel(logger.getName(), jvm.org.apache.logging.log4j.Level.DEBUG)
    lines: list[str] = []
    try:
        yield lines
    finally:
        core.config.Configurator.setLevel(logger.getName(), level)
        logger.removeAppender(appender)
        lines.extend(text.toString().splitlines())
