// Two minutes in a strip: the rates against their thresholds above, the calls by who answered them below, and marks
// where the state or the policy changed.

import { svg, write } from "./dom.js";
import { percent } from "./words.js";

export const SPAN = 120;
const WIDTH = 240;
const RATE = 44;
const CALLS = 18;
const GAP = 6;
const HEIGHT = RATE + GAP + CALLS;

export const PARTS = ["primary", "fallback", "stale", "error"];

// A point as the service writes it: [at, primary, fallback, stale, error, failure rate, slow rate, bad rate, state].
const AT = 0;
const FAILED = 5;
const SLOW = 6;
const BAD = 7;

export class Chart {
  constructor() {
    const path = (name) => svg("path", { class: name });
    this.limit = path("limit failed");
    this.slowLimit = path("limit slow");
    this.badLimit = path("limit bad");
    this.failed = path("line failed");
    this.slow = path("line slow");
    this.bad = path("line bad");
    this.parts = PARTS.map((part) => path(`calls ${part}`));
    this.marks = svg("g", { class: "marks" });
    this.title = svg("title");
    this.base = path("base");
    this.base.setAttribute("d", `M0 ${HEIGHT - 0.5}H${WIDTH}`);
    this.element = svg(
      "svg",
      { class: "chart", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img" },
      this.title,
      this.base,
      ...this.parts,
      this.marks,
      this.limit,
      this.slowLimit,
      this.badLimit,
      this.bad,
      this.slow,
      this.failed,
    );
  }

  draw(points, card, marks, now) {
    const x = (at) => ((WIDTH * (at - now + SPAN)) / SPAN).toFixed(1);
    const seen = points.filter((point) => point[AT] > now - SPAN - 1);
    const drawn = [[FAILED, card.failure_limit], [SLOW, card.slow_limit], [BAD, card.bad_limit]].filter(([, limit]) => limit);
    const rates = seen.flatMap((point) => drawn.map(([column]) => point[column] ?? 0));
    const limits = drawn.map(([, limit]) => limit);
    // The threshold stands in the middle unless the rate is beyond twice of it.
    const top = Math.min(1, Math.max(0.01, 2 * Math.max(0, ...limits), 1.1 * Math.max(0, ...rates)));
    const y = (rate) => (RATE - (RATE - 2) * Math.min(1, rate / top)).toFixed(1);
    const level = (path, rate) => path.setAttribute("d", rate ? `M0 ${y(rate)}H${WIDTH}` : "");
    level(this.limit, card.failure_limit);
    level(this.slowLimit, card.slow_limit);
    level(this.badLimit, card.bad_limit);
    this.failed.setAttribute("d", card.failure_limit ? line(seen, FAILED, x, y) : "");
    this.slow.setAttribute("d", card.slow_limit ? line(seen, SLOW, x, y) : "");
    this.bad.setAttribute("d", card.bad_limit ? line(seen, BAD, x, y) : "");
    this.bars(seen, x);
    this.marks.replaceChildren(...marks.filter((one) => one.at > now - SPAN).map((one) => mark(one, x)));
    write(this.title, told(card, seen, marks));
  }

  bars(points, x) {
    const sum = (point) => point[1] + point[2] + point[3] + point[4];
    const most = Math.max(1, ...points.map(sum));
    const paths = PARTS.map(() => "");
    const width = (WIDTH / SPAN - 0.4).toFixed(1);
    for (const point of points) {
      let base = HEIGHT;
      for (let part = 0; part < PARTS.length; part += 1) {
        const calls = point[part + 1];
        if (!calls) continue;
        const height = (CALLS * calls) / most;
        base -= height;
        paths[part] += `M${x(point[AT] - 1)} ${base.toFixed(1)}h${width}v${height.toFixed(1)}h-${width}z`;
      }
    }
    this.parts.forEach((path, part) => path.setAttribute("d", paths[part]));
  }
}

function line(points, column, x, y) {
  let path = "";
  let before = null;
  for (const point of points) {
    const rate = point[column];
    if (rate === null || rate === undefined) {
      before = null;
      continue;
    }
    const joined = before !== null && point[AT] - before < 3;
    path += `${joined ? "L" : "M"}${x(point[AT])} ${y(rate)}`;
    before = point[AT];
  }
  return path;
}

function mark(one, x) {
  const at = x(one.at);
  return svg("path", { class: `mark ${one.kind}`, d: `M${at} 0V${HEIGHT}`, "vector-effect": "non-scaling-stroke" });
}

function told(card, points, marks) {
  const last = points[points.length - 1];
  const parts = [`The last two minutes, ${points.length} seconds of them known.`];
  const rate = (words, limit, column) => {
    if (!limit) return;
    const now = last && last[column] !== null ? percent(last[column]) : "not known";
    parts.push(`${words} now ${now}, threshold ${percent(limit)}.`);
  };
  rate("Failure rate", card.failure_limit, FAILED);
  rate("Rate of slow calls", card.slow_limit, SLOW);
  rate("Rate of either", card.bad_limit, BAD);
  if (marks.length > 0) parts.push(`${marks.length} changes marked.`);
  return parts.join(" ");
}
