"""What a repair would do about findings, and which of them it leaves."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.storage.doctor.findings import Ailment, Finding, plan_repair

FINDINGS = st.builds(
    Finding,
    table=st.sampled_from(["", "sales", "units"]),
    ailment=st.sampled_from(Ailment),
    what=st.just("w"),
    then=st.just("t"),
    paths=st.lists(st.sampled_from(["a", "b"]), max_size=2).map(tuple),
)


def finding(ailment: Ailment, *paths: str, table: str = "sales") -> Finding:
    return Finding(table=table, ailment=ailment, what="w", then="t", paths=paths)


def test_what_would_be_removed_is_named() -> None:
    assert finding(Ailment.ORPHAN, "a").repair == "removes a"
    assert finding(Ailment.ORPHAN, *"abcde").repair == "removes a, b, c and 2 more"
    assert finding(Ailment.TIMES).repair.startswith("sets the times of the commits' files; where times cannot be set")
    assert (finding(Ailment.HELD).repair, finding(Ailment.HELD).is_repairable) == ("", False)


def test_a_table_whose_restore_was_cut_off_is_left_but_for_its_times() -> None:
    cut_off, orphan = finding(Ailment.PENDING_RESTORE), finding(Ailment.ORPHAN, "a")
    assert plan_repair([cut_off, orphan]) == {}
    assert plan_repair([cut_off, orphan, finding(Ailment.TIMES)]).keys() == {"sales"}
    of_lake = finding(Ailment.PENDING_RESTORE, table=""), finding(Ailment.TEMPORARY, "a", table="")
    assert plan_repair(of_lake).keys() == {""}


@given(st.lists(FINDINGS, max_size=8))
def test_a_plan_has_all_findings_of_each_table_that_is_repaired(findings: list[Finding]) -> None:
    plan = plan_repair(findings)
    for table, of_table in plan.items():
        assert of_table == [each for each in findings if each.table == table]
        assert any(each.is_repairable for each in of_table)
    left = [each for each in findings if each.table not in plan and each.is_repairable]
    waiting = {each.table for each in findings if each.ailment is Ailment.PENDING_RESTORE}
    assert {each.table for each in left} <= waiting - {""}
