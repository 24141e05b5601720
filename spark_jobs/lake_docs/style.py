"""The stylesheet of the site, and the script of its search; both are part of it, so that it needs no other host."""

from __future__ import annotations

from spark_jobs.lake_docs.look import BASE

NAME = "site.css"
STYLE = (
    BASE
    + """\
footer { color: var(--soft); }
pre { background: var(--panel); padding: 10px; border-radius: 6px; overflow-x: auto; }
.problem { border: 1px solid var(--bad); border-radius: 6px; padding: 8px 12px; }
svg text { font-size: 12px; }
svg text.title { font-weight: 600; }
svg a text { fill: var(--link); }
svg rect { fill: var(--panel); stroke: var(--soft); }
svg path { stroke: var(--soft); }
@media print { header nav, label { display: none; } }
"""
)
SEARCH = """\
document.addEventListener('DOMContentLoaded', () => {
  const find = document.getElementById('find');
  find.addEventListener('input', () => {
    const words = find.value.toLowerCase().split(/\\s+/).filter(Boolean);
    for (const row of document.querySelectorAll('tbody tr')) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
    }
  });
});
"""
