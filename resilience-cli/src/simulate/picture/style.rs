//! Colours, for light and for dark. They differ in lightness, too, so that they can be told apart without hue.

pub(super) const STYLE: &str = "<style>
svg{--page:#fff;--ink:#1b2430;--soft:#5d6b7a;--grid:#e3e8ee;--phase:#f1ede2;--other:#e9eef0;--ok:#3f7fbf;--fallback:#9cc9ea;\
--business:#b9c2cc;--left:#a58bd0;--rejected:#f0b43c;--timed-out:#8a2f55;--failed:#d5493f;--held:#5b8fc7;\
--waiting:#c9b3e6;--p50:#3f7fbf;--p99:#8a2f55;--closed:#7fb58b;--open:#d5493f;--half:#f0b43c;\
font-family:system-ui,-apple-system,Segoe UI,Helvetica,Arial,sans-serif}
@media (prefers-color-scheme:dark){svg{--page:#12171d;--ink:#e6ebf0;--soft:#98a5b3;--grid:#28313a;--phase:#20262b;--other:#1a2226;\
--ok:#4d93d9;--fallback:#2f5f86;--business:#66717d;--left:#8a6dc0;--rejected:#d99a22;--timed-out:#c2608c;--failed:#ec6a5f;\
--held:#4d83bd;--waiting:#6f58a0;--p50:#6fb0ee;--p99:#e08ab0;--closed:#3f7a50;--open:#d5493f;--half:#d99a22}}
.page{fill:var(--page)}.phase{fill:var(--phase)}.other{fill:var(--other)}
text{fill:var(--ink);font-size:12px}.name{font-size:20px;font-weight:600}.about{font-size:13px;fill:var(--soft)}
.run{font-size:14px;font-weight:600}.phase-name,.tick,.why{fill:var(--soft);font-size:11px}.caller{font-weight:600}
.grid{stroke:var(--grid);stroke-width:1}.limit{stroke:var(--ink);stroke-width:1;stroke-dasharray:5 4}
.limit-name{fill:var(--ink)}.line{fill:none;stroke-width:1.6}.arrived{stroke:var(--ink);stroke-width:1.1}
.p50{stroke:var(--p50)}.p99{stroke:var(--p99)}.p50-name{fill:var(--p50)}.p99-name{fill:var(--p99)}
.ok{fill:var(--ok)}.fallback{fill:var(--fallback)}.business{fill:var(--business)}.left{fill:var(--left)}
.rejected{fill:var(--rejected)}.timed-out{fill:var(--timed-out)}.failed{fill:var(--failed)}
.in-flight{fill:var(--held)}.waiting{fill:var(--waiting)}
.closed{fill:var(--closed)}.open{fill:var(--open)}.half_open{fill:var(--half)}.cause{font-size:11px}
</style>";
