"""smoke"""
from __future__ import annotations
import time, pytest
from tests.support.envelopes import sqlserver, line
from tests.support.lakes import assert_equals_oracle
@pytest.mark.hudi
def test_smoke(lake):
  for r in range(2):
    lines=[line(sqlserver("c",{"SaleId":i%7,"UnitId":i%3,"UnitName":f"u{i}","AgentId":i%2,"AgentName":"a","BuildingId":1,"BuildingName":"b","ProjectId":1,"ProjectName":"p","StatusId":1,"StatusName":"s","CustomerId":3,"CustomerName":"c","ContractSubtotal":"12.5","ContractSigningDate":1767225600000},i)) for i in range(40+20*r)]+[b"not json"]
    t=time.time(); lake.land(f"a{r}.jsonl",lines); print(lake.run("ingest")); print("ingest",time.time()-t)
    t=time.time(); print(lake.run("split")); print("split",time.time()-t)
    t=time.time(); print(lake.run("fast").tables); print("fast",time.time()-t)
  t=time.time(); assert_equals_oracle(lake, lines); print("compare",time.time()-t)
  t=time.time(); print(lake.run("ingest").status,lake.run("split").status); print("again",time.time()-t)
