"""The stylesheet of the site, and the script of its search; both are part of it, so that it needs no other host."""

from __future__ import annotations

NAME = "site.css"
STYLE = """\
:root { color-scheme: light dark; --back: #fff; --text: #1c2530; --soft: #5b6775; --line: #d5dbe1; --panel: #f5f7f9;
  --link: #0b5cad; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --back: #14181d; --text: #e6eaee; --soft: #a3adb8; --line: #323a43;
  --panel: #1c2229; --link: #7db7f5; --bad: #ff8a80; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--text); font: 15px/1.5 system-ui, sans-serif; }
header, main, footer { max-width: 1400px; margin: 0 auto; padding: 10px 16px; }
header { display: flex; flex-wrap: wrap; gap: 6px 20px; border-bottom: 1px solid var(--line); }
nav { display: flex; gap: 14px; }
a { color: var(--link); }
a:focus-visible, input:focus-visible, .scroll:focus-visible, pre:focus-visible, summary:focus-visible {
  outline: 3px solid var(--link); outline-offset: 1px; }
h1 { font-size: 1.4rem; overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; margin: 24px 0 8px; }
.scroll { overflow-x: auto; border: 1px solid var(--line); border-radius: 6px; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: 5px 10px; border-bottom: 1px solid var(--line); vertical-align: top; }
th { background: var(--panel); }
tr:last-child td { border-bottom: 0; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 3px 18px; }
dt, .soft, footer { color: var(--soft); }
dd { margin: 0; overflow-wrap: anywhere; }
pre { background: var(--panel); padding: 10px; border-radius: 6px; overflow-x: auto; }
input { font: inherit; color: inherit; background: var(--panel); border: 1px solid var(--line); padding: 3px 8px; }
.problem { border: 1px solid var(--bad); border-radius: 6px; padding: 8px 12px; }
svg text { fill: var(--text); font: 12px system-ui, sans-serif; }
svg text.title { font-weight: 600; }
svg a text { fill: var(--link); }
svg rect { fill: var(--panel); stroke: var(--soft); }
svg path { fill: none; stroke: var(--soft); stroke-width: 1.5; }
@media (max-width: 640px) { dl { grid-template-columns: 1fr; } dt { margin-top: 6px; } }
@media print { header nav, label { display: none; } }
"""
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
