"""The stylesheet of a report, which is part of its page: colours by the reader's setting, a phone's width, paper."""

from __future__ import annotations

STYLE = """\
:root { color-scheme: light dark; --back: #ffffff; --text: #1c2530; --soft: #5b6775; --line: #d5dbe1; --panel: #f5f7f9;
  --link: #0b5cad; --bad: #b3261e; --bar: #2a6fb5; --below: #b3501e; }
@media (prefers-color-scheme: dark) { :root { --back: #14181d; --text: #e6eaee; --soft: #a3adb8; --line: #323a43;
  --panel: #1c2229; --link: #7db7f5; --bad: #ff8a80; --bar: #5b9bd9; --below: #e08a55; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--text); font: 15px/1.5 system-ui, sans-serif; }
header, main, footer { max-width: 1200px; margin: 0 auto; padding: 10px 16px; }
header { border-bottom: 1px solid var(--line); }
nav { display: flex; flex-wrap: wrap; gap: 4px 16px; }
a { color: var(--link); }
a:focus-visible, summary:focus-visible, .scroll:focus-visible { outline: 3px solid var(--link); outline-offset: 1px; }
h1 { font-size: 1.5rem; margin: 6px 0; overflow-wrap: anywhere; }
h2 { font-size: 1.25rem; margin: 28px 0 8px; overflow-wrap: anywhere; }
h3 { font-size: 1rem; margin: 0; overflow-wrap: anywhere; }
.numbers, .pictures { display: grid; gap: 16px; }
.pictures { grid-template-columns: repeat(auto-fit, minmax(min(100%, 420px), 1fr)); }
.numbers { grid-template-columns: repeat(auto-fit, minmax(min(100%, 220px), 1fr)); margin-bottom: 16px; }
figure { margin: 0; padding: 12px 14px; border: 1px solid var(--line); border-radius: 8px; min-width: 0;
  break-inside: avoid; }
figcaption { margin-bottom: 10px; }
.number { font-size: 1.8rem; font-weight: 600; margin: 0; overflow-wrap: anywhere; }
.soft, footer { color: var(--soft); font-size: 0.86rem; margin: 0; overflow-wrap: anywhere; }
.late { border: 1px solid var(--bad); border-radius: 6px; padding: 8px 12px; margin: 8px 0; overflow-wrap: anywhere; }
.late strong { color: var(--bad); }
.scroll { overflow-x: auto; margin-top: 6px; }
table { border-collapse: collapse; width: 100%; font-size: 0.9rem; }
th, td { text-align: left; padding: 3px 8px; border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
td.value, th.value { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
caption { text-align: left; color: var(--soft); }
summary { color: var(--link); cursor: pointer; margin-top: 8px; font-size: 0.9rem; }
svg { display: block; overflow: visible; }
svg text { fill: var(--text); font: 13px system-ui, sans-serif; }
svg text.label { unicode-bidi: plaintext; }
svg text.small { fill: var(--soft); font-size: 12px; }
svg .bar { fill: var(--bar); }
svg .below { fill: var(--below); }
svg .grid { stroke: var(--line); }
svg .axis { stroke: var(--soft); }
@media print { :root { --back: #ffffff; --text: #000000; --soft: #444444; --line: #bbbbbb; --link: #000000;
  --bar: #2a6fb5; --below: #b3501e; --bad: #b3261e; } nav { display: none; }
  svg .bar { print-color-adjust: exact; } summary { display: none; }
  details::details-content { content-visibility: visible; block-size: auto; } }
"""
