"""### No DAG: the place where Airflow shows the mistakes of a broken lake

Where Airflow serves several lakes (`LAKEHOUSE_LAKES`, `docs/lakes.md`), every other file here makes one DAG for each
lake, and leaves out a lake whose spec, marts, expectations or settings are broken: the DAGs of all others go on. This
file makes none. It raises the mistakes as an error, so Airflow shows them under *Import errors* with file and line
until they are corrected; then the lake's DAGs are back when Airflow next parses the folder, without a restart.
"""

from __future__ import annotations

from lakehouse_provider.lakes import check_lakes

check_lakes()
