"""### Whether every lake can be served: no DAG, but the place where a broken lake shows

Where Airflow serves several lakes (`LAKEHOUSE_LAKES`, `docs/lakes.md`), every other file here makes one DAG for each
lake, and leaves out a lake whose spec, marts, expectations or settings are broken: the DAGs of all others go on. This
file makes none. It raises what is wrong, so Airflow shows it under *Import errors* with file and line until it is
corrected; then the lake's DAGs are back with the next look at the folder, without a restart.
"""

from __future__ import annotations

from lakehouse_provider.lakes import check_lakes

check_lakes()
