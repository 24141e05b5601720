"""Mistakes that people make in the files of a lake, each a small edit of what is shipped, with the line it is on."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from spark_jobs.contracts.settings import PROJECT_ROOT

SPEC, SALES, EVENTS = "lakes/sales.yaml", "expectations/sales.yaml", "expectations/sales_log.yaml"
DEALS, CACHE, PATHS = "marts/fast_daily_deals.yaml", "marts/stitch_agent_days.yaml", "marts/slow_sale_paths"
SUCCESS, PERFORMANCE = "marts/slow_agent_success", "marts/slow_agent_performance"
V1, V2 = "rules/v1.yaml", "rules/v2.yaml"
HERE = "¦"
"""Marks in an edit where the mistake is; without it, the beginning is meant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """What is exchanged in a file, and a part of the message about it."""

    file: str
    old: str
    new: str
    message: str

    @property
    def marked(self) -> str:
        """The new text with the mark of its place."""
        return self.new if HERE in self.new else HERE + self.new


def copy_lake(to: Path) -> Path:
    """The shipped lake's files below ``to``, which is given back."""
    for folder in ("lakes", "marts", "expectations", "rules"):
        shutil.copytree(PROJECT_ROOT / "include" / folder, to / folder)
    return to


def make_mistakes(lake: Path, edits: Iterable[Edit]) -> list[tuple[str, int]]:
    """Put them into the files; file and line of each, in order."""
    made = list(edits)
    places = []
    for name in {edit.file for edit in made}:
        text = (lake / name).read_text(encoding="utf-8")
        for edit in made:
            if edit.file == name:
                assert edit.old in text, f"{name} has no {edit.old!r}"
                text = text.replace(edit.old, edit.marked, 1)
        for number, line in enumerate(text.splitlines(), start=1):
            places += [(str(lake / name), number)] * line.count(HERE)
        (lake / name).write_text(text.replace(HERE, ""), encoding="utf-8")
    return sorted(places)


def edit(file: str, old: str, new: str, message: str) -> Edit:
    return Edit(file=file, old=old, new=new, message=message)


IN_SQL = [
    edit(SALES, "  column: unit_id", "  column: unit", "sales has no column 'unit'; write 'unit_id'"),
    edit(SALES, "  where: status_id = 8", "  where: state_id = 8", "there is no column 'state_id'; there are "),
    edit(EVENTS, "  holds: event_time <=", "  holds: event_time <= RAND() AND event_time <=", "does not give the same"),
    edit(f"{SUCCESS}.sql", "SELECT", "SELECT rand() AS luck,", "rand does not give the same for the same rows; "),
    edit(V2, "promoted: false", "promoted: maybe", "promoted is 'maybe'; give true or false"),
    edit(V2, "sql: CASE project_id", "sql: CASE sqrt(project_id)", "factor: sqrt is not among the functions that"),
]
"""What a run only finds where it gets to it, and ``spec check`` at once."""

INDEPENDENT = [
    *IN_SQL,
    edit(SPEC, "lake: sales\n", "lake: Sales Lake\n", "lake 'Sales Lake' is not a snake_case identifier"),
    edit(SPEC, "owner: data platform", "owner: [a, b]", "lake: owner is ['a', 'b']; give text"),
    edit(SPEC, '"Names of agents."', "3", "table 'agents': description is 3; give text"),
    edit(SPEC, "time_zone: UTC", "time_zone: Europe/Pari", "time_zone 'Europe/Pari' is unknown; give an IANA name"),
    edit(SPEC, 'topics: ["*.SALES", ', 'topics: ["*.SALES", "a b", ', "source topics: 'a b' is no pattern"),
    edit(SPEC, "AgentName, type: string", "AgentName, type: text", "'text' is unknown; choose one of"),
    edit(SPEC, "source: UnitName, ", "sauce: UnitName, ", "unknown entries ['sauce']; write source"),
    edit(SPEC, "source: BuildingName, ", "", "missing 1 required keyword-only argument: 'source'; add the entry"),
    edit(SPEC, "source: ProjectName", 'source: ""', "source '' is no column's name; give its name"),
    edit(SPEC, "precision: 18, scale: 4", "precision: 4, scale: 18", "decimal(4,18) is not possible; give a precision"),
    edit(SPEC, "postgresql: microseconds", "postgresql: minutes", "'minutes' is unknown; choose one"),
    edit(SPEC, "CustomerId, type: bigint", "CustomerId, type: bigint, packed: true", "packed is for decimals"),
    edit(SPEC, "source: CustomerName,", "source: CustomerName, max_length: long,", "max_length is 'long'; give a"),
    edit(
        SPEC, "key: unit_id, columns: [unit_name", "key: unit_id, columns: [unit_nam", "['unit_nam'] are not declared"
    ),
    edit(SPEC, "key: building_id", "key: house_no", "buildings: columns ['house_no'] are not declared; "),
    edit(SPEC, "key: project_id, columns", "kye: project_id, columns", "unknown entries ['kye']; write key"),
    edit(SPEC, "[status_name], buckets: 1", "[status_name], buckets: 0", "buckets must be at least 1; correct it"),
    edit(SPEC, "[agent_name], buckets: 1", "[agent_name], type: heap", "'heap' is unknown; choose one"),
    edit(SPEC, "[customer_name], buckets: 1", "customer_name", "columns is 'customer_name'; give a list of names"),
    edit(SPEC, "deletes: tombstone ", "deletes: soon ", "deletes 'soon' is unknown; choose one of"),
    edit(SPEC, "agent: {key: agent_id", "agent: {key: agent_no", "agent: columns ['agent_no'] are not declared; "),
    edit(SPEC, "customer: {key", "yes: {key", "people: True: role is True; give text"),
    edit(SPEC, "most_percent: 50", "most_percent: 150", "most_percent 150 must be 0 to 100; correct it"),
    edit(SPEC, "behind_minutes: 15", "behind_minutes: -1", "behind_minutes is -1; give minutes"),
    edit(SPEC, "every_minutes: 30", "each_minutes: 30", "unknown entries ['each_minutes']; write every_minutes"),
    edit(SPEC, "keep_hours: 6", "keep_hours: 0", "services: keep_hours is 0; give at least 1"),
    edit(SPEC, "clean_files: 12", "clean_files: 12\n  ¦clean_files: 9", "'clean_files' is there twice, on lines "),
    edit(SPEC, "sales_log: {sort_by", "sales_logs: {sort_by", "['sales_logs'] are none of this lake; write 'sales"),
    edit(SPEC, "\nquarantine: quarantine", "\nquarantin: x¦\nquarantine: quarantine", "unknown entries ['quarantin']"),
    edit(SALES, "  between: [1, 99]", "  between: [1]", "between is [1]; give [least, most]"),
    edit(SALES, "  holds: contract", "  hold: contract", "unknown entries ['hold']; write holds"),
    edit(SALES, "  from_rows: 100", "  from_rows: 0", "from_rows is 0; give 1 or more"),
    edit(EVENTS, "  usual: nulls", "  usual: mode", "'mode' is unknown; choose one of"),
    edit(
        EVENTS,
        "  between: [0, 1000000000]",
        "  between: [0, 1000000000]\n  ¦action: shout",
        "action 'shout' is unknown",
    ),
    edit(DEALS, "mode: scoped", "mode: scooped", "'scooped' is unknown; choose one of"),
    edit(DEALS, "time: {column: day, unit: day}", "time: {column: day, unit: week}", "'week' is unknown"),
    edit(DEALS, "by: unit_id}", "with: unit_id}", "a read: unknown entries ['with']; "),
]
"""Mistakes that are no others' cause, and none of them hides another."""

OTHERS_IN_SQL = [
    edit(DEALS, "  deals: contracts", "  dealz: contracts", "comments names 'dealz', none of its columns; "),
    edit(SALES, "unit_is_known_to_every_sale:", "key_is_known:", "['sales.key_is_known'] are there twice; rename one"),
    edit(SALES, "  not_null: true", "  refers_to: unit.unit_id", "refers_to is 'unit.unit_id'; give table.column"),
    edit(DEALS, "by: unit_id}", "by: house_id}", "units: by is 'house_id', which is no column of a read"),
    edit(CACHE, "partition: month", "partition: year", "partition ['year'] is not among the columns "),
    edit(f"{PATHS}.sql", "FROM sales_log", "FROM sales_log a b", "its SQL cannot be read"),
    edit(
        V1,
        "sql: CASE status_id",
        "sql: CASE state_id",
        "no column 'state_id' in ['slow_milestones']; write 'status_id'",
    ),
    edit(
        V1, "values:\n  share:", "¦values:\n  portion:", "rules v1: value 'share' is not there, which mart slow_agent_p"
    ),
    edit(f"{PERFORMANCE}.sql", "RULE('factor')", "RULE('fctor')", "there is no rule value 'fctor'; write 'factor'"),
    edit(f"{PERFORMANCE}.sql", "RULE('factor')", "RULE(factor)", "RULE takes the name of one value in quotes; write"),
    edit(
        f"{PERFORMANCE}.yaml",
        "name: slow_agent_performance\nlayer: slow\nmode: scoped\nrules: true ",
        "name: slow_agent_performance\nlayer: slow\nmode: scoped\n# rules: true ",
        "its SQL uses RULE(…), and it does not have rules: true; add that",
    ),
]

OTHERS = [
    *OTHERS_IN_SQL,
    edit(SPEC, "log: sales_log\n", "log: Log\n", "log 'Log' is not a snake_case identifier"),
    edit(SPEC, "log: sales_log\n", "log: sales_log\n¦log: x\n", "'log' is there twice, on lines 34 and 35; keep one"),
    edit(SPEC, "  key: sale_id      ", "  key: sales_id      ", "source key 'sales_id' is not among the "),
    edit(
        SPEC,
        "columns:\n",
        "columns:\n    - ¦{name: op, source: Op, type: string}\n",
        "name kept for technical",
    ),
    edit(SPEC, "AgentName, type", "AgentId, type", "a name is declared twice, source 'AgentId'; rename one"),
    edit(SPEC, "name: buildings, key", "name: units, key", "names used twice: ['units']; rename one of them"),
    edit(SPEC, "people:\n", "people:\n  ¦buyer: {}\n", "missing key; name the column with the key of the buyer"),
    edit(SPEC, "people:\n", "people:\n  ¦when: {key: contract_signing_date}\n", "must be a whole number or text"),
    edit(
        SPEC,
        "[agent_name], buckets: 1",
        "[agent_name], deletes: tombstone",
        "needs the source key 'sale_id'",
    ),
    edit(SPEC, "\ntables:\n", "\n¦tables: 7\n¦old:\n", "tables must be a list; write [a, b]"),
    edit(SPEC, "marts: ../marts", "marts: ../mart", "there is no folder "),
    edit(SPEC, "expectations: ../expectations", "expectations: 7", "expectations is 7; give the folder"),
    edit(SPEC, "lake: sales\n", "lake: sales\n¦\tx: y\n", "cannot be read"),
    edit(SPEC, "time_zone: UTC", "time_zone: 2026-13-45", "cannot be read ('2026-13-45' is no value"),
    edit(SPEC, "time_zone: UTC", "time_zone: !!python/none x", "cannot be read (could not determine a constructor"),
    edit(SPEC, "time_zone: UTC", "time_zone: &x [¦*x]", "cannot be read (it contains itself"),
    edit(SPEC, "quality: {table", "qualty: {table", "unknown entries ['qualty']; write quality; known are"),
    edit(DEALS, "mode: scoped", "mod: scoped", "unknown entries ['mod']; write mode; known are"),
    edit(DEALS, "time: {column", "tme: {column", "unknown entries ['tme']; write time; known are"),
    edit(DEALS, "day, unit: day}", "day, unite: day}", "unknown entries ['unite']; write unit; known are"),
    edit(SPEC, "SaleId, type: bigint", "SaleId, typ: bigint", "unknown entries ['typ']; write type; known are"),
    edit(
        DEALS,
        "name: fast_daily_deals",
        "name: daily_deals",
        "name is 'daily_deals'; give the file's own, 'fast_daily_deals'",
    ),
    edit(
        DEALS,
        "name: fast_daily_deals\nlayer: fast\n",
        "name: fast_daily_deals\n",
        "'layer'; add the entry layer",
    ),
    edit(DEALS, "table: units, by", "table: unitz, by", "reads 'unitz', which is no table; "),
    edit(CACHE, "grain: [agent_id, day]", "grain: [agent_id, day, day]", "grain needs columns, each once; "),
]
"""Mistakes that are reported only when there is no other."""
