"""What the docs of a lake and its page in Airflow look like in common: colours, text, tables, in light and dark."""

from __future__ import annotations

BASE = """\
:root { color-scheme: light dark; --back: #fff; --text: #1c2530; --soft: #5b6775; --line: #d5dbe1; --panel: #f5f7f9;
  --link: #0b5cad; --ok: #1f7a3d; --warn: #8a5a00; --bad: #b3261e; --note: #3556a8; --none: #6b7680; }
@media (prefers-color-scheme: dark) {
  :root { --back: #14181d; --text: #e6eaee; --soft: #a3adb8; --line: #323a43; --panel: #1c2229; --link: #7db7f5;
    --ok: #6fcf8a; --warn: #e5b454; --bad: #ff8a80; --note: #9db4ff; --none: #9aa5b0; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--text); font: 15px/1.45 system-ui, sans-serif; }
header, main, footer { max-width: 1500px; margin: 0 auto; padding: 10px 16px; }
header { display: flex; flex-wrap: wrap; gap: 8px 16px; border-bottom: 1px solid var(--line); }
nav { display: flex; gap: 14px; }
input, button { font: inherit; color: inherit; background: var(--panel); border: 1px solid var(--line);
  border-radius: 4px; padding: 4px 8px; max-width: 60vw; }
a { color: var(--link); }
a:focus-visible, input:focus-visible, button:focus-visible, .scroll:focus-visible, pre:focus-visible,
summary:focus-visible { outline: 3px solid var(--link); outline-offset: 1px; }
h1 { font-size: 1.35rem; margin: 8px 0; overflow-wrap: anywhere; }
h2 { font-size: 1.05rem; margin: 22px 0 6px; }
.scroll { overflow-x: auto; border: 1px solid var(--line); border-radius: 6px; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: 5px 10px; border-bottom: 1px solid var(--line); vertical-align: top; }
th { background: var(--panel); font-weight: 600; white-space: nowrap; }
tr:last-child td { border-bottom: 0; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 3px 16px; margin: 8px 0; }
dt, .soft { color: var(--soft); }
dd { margin: 0; overflow-wrap: anywhere; }
svg text { fill: var(--text); font: 13px system-ui, sans-serif; }
svg path { fill: none; stroke: var(--line); stroke-width: 1.5; }
@media (max-width: 640px) { dl { grid-template-columns: 1fr; } dt { margin-top: 4px; } th, td { padding: 4px 6px; } }
"""
