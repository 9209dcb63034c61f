// What an operator reads: states, causes, numbers and times in words.

// A number and its unit stay on one line.
const NARROW = "\u00a0";

export function lasts(seconds) {
  const s = Math.max(0, Math.floor(seconds));
  const said = (n, unit) => `${Math.floor(n)}${NARROW}${unit}`;
  if (s < 60) return said(s, "s");
  if (s < 3600) return `${said(s / 60, "min")} ${said(s % 60, "s")}`;
  if (s < 86400) return `${said(s / 3600, "h")} ${said((s % 3600) / 60, "min")}`;
  return `${said(s / 86400, "d")} ${said((s % 86400) / 3600, "h")}`;
}

// Seconds still to wait are rounded up: nobody is told to come back too early.
export function left(seconds) {
  return lasts(Math.ceil(Math.max(0, seconds)));
}

export function percent(rate) {
  const value = rate * 100;
  return `${value === 0 || value >= 10 ? Math.round(value) : value.toFixed(1)}${NARROW}%`;
}

export function count(n) {
  return n.toLocaleString("en");
}

export function time(at, withDay = false) {
  const moment = new Date(at * 1000);
  const clock = moment.toLocaleTimeString("en-GB");
  return withDay ? `${moment.toISOString().slice(0, 10)} ${clock}` : clock;
}

// The day is told where it is not today's.
export function when(at, now) {
  const day = (t) => new Date(t * 1000).toDateString();
  return time(at, day(at) !== day(now));
}

export function iso(at) {
  return new Date(at * 1000).toISOString();
}

const STATES = {
  closed: "closed: calls flow",
  open: "open: calls refused",
  half_open: "half-open: testing, others refused",
};

const MODES = {
  isolate: "isolated by mode: calls refused",
  observe: "observed: nothing is refused",
  off: "off: nothing protects it",
};

export function state(card) {
  if (card.mode !== "enforce") {
    const word = card.override && card.mode === "isolate" ? "isolated by hand: calls refused" : MODES[card.mode];
    if (card.mode === "observe" && card.state && card.state !== "closed") return `${word}; it would be ${plain(card.state)}`;
    return word ?? card.mode;
  }
  if (!card.state) return "no breaker: calls flow";
  if (card.state === "closed" && tooFew(card)) {
    if (card.others) return `${fleetOf(card)}: too few to judge`;
    return card.calls === 0 ? "closed: no calls to judge" : `${card.calls} of ${card.minimum_calls} calls: too few to judge`;
  }
  const text = STATES[card.state] ?? card.state;
  return card.state === "closed" ? [text, ...worries(card)].join(", but ") : text;
}

// What this instance and the others have in the window together.
function fleetOf(card) {
  const { calls, count: many, instances } = card.others;
  const who = many === 1 ? instances[0] : `${many} others`;
  return `${count(card.calls + calls)} of ${card.minimum_calls} calls, ${count(calls)} of them on ${who}`;
}

// What is not well although calls flow.
function worries(card) {
  const found = [];
  if (card.flapping) found.push("it keeps opening");
  else if (card.limit !== undefined && card.in_flight >= card.limit) found.push("all slots are taken");
  else if (card.failure_limit && card.failure_rate >= card.failure_limit / 2) found.push("many fail");
  else if (card.slow_limit && card.slow_rate >= card.slow_limit / 2) found.push("many are slow");
  else if (card.bad_limit && card.bad_rate >= card.bad_limit / 2) found.push("many fail or are slow");
  else if (card.degraded_ratio > 0) found.push("some answers are fallbacks");
  return found;
}

export function plain(word) {
  return word.replaceAll("_", "-");
}

export function tooFew(card) {
  return card.minimum_calls !== undefined && card.calls + (card.others?.calls ?? 0) < card.minimum_calls;
}

const CAUSES = {
  failure_rate: "too many calls failed",
  slow_rate: "too many calls were slow",
  bad_rate: "too many calls failed or were slow",
  consecutive_failures: "too many failures in a row",
  in_flight: "too many calls ran at once",
  probe_failed: "the test call failed",
  probe_slow: "the test call was slow",
  probe_timed_out: "the test call did not end in time",
  cooldown_over: "its time was over",
  probes_succeeded: "the test calls succeeded",
  ramp_done: "the ramp was climbed",
  override: "set by hand",
  trip: "tripped in code",
  reset: "reset in code",
  reload: "the policy was reloaded",
};

export function cause(word) {
  return CAUSES[word] ?? plain(word);
}

export function place(number) {
  if (!number || !number.file) return "";
  return number.line ? `${number.file.split("/").pop()}:${number.line}` : number.file;
}

// Why it changed: what was seen, and the number that it was measured by.
export function why(record) {
  const parts = [cause(record.cause)];
  // The window says why it left closed; what happens later is a matter of the test calls and the clock.
  if (record.from === "closed" && record.calls) {
    const rates = [];
    if (record.failure_rate > 0) rates.push(`${percent(record.failure_rate)} failed`);
    if (record.slow_rate > 0) rates.push(`${percent(record.slow_rate)} were slow`);
    if (record.cause === "bad_rate") rates.push(`${percent(record.bad_rate)} either`);
    if (rates.length > 0) parts[0] += `: ${rates.join(", ")} of ${count(record.calls)}`;
  }
  const { threshold } = record;
  if (threshold) {
    const name = record.from === "closed" ? "limit" : plain(threshold.key.split(".").pop());
    parts.push(`${name} ${number(threshold)}`);
  }
  if (record.pooled) parts.push(evidence(record));
  return parts.join("; ");
}

// Where the results come from that opened it.
function evidence({ cause, pooled }) {
  const sort = { slow_rate: "slow", bad_rate: "bad" }[cause] ?? "failed";
  const of = (results) => `${count(results[sort])} of ${count(results.calls)}`;
  return `here ${of(pooled.own)}, in all ${pooled.instances} instances ${of(pooled.fleet)}`;
}

// A number of the policy as people say it, with where it stands.
export function number(entry) {
  const rate = typeof entry.value === "number" && entry.key.endsWith("_rate");
  const where = place(entry);
  return `${rate ? percent(entry.value) : entry.value}${where ? ` (${where})` : ""}`;
}

export function samples(record) {
  const parts = [];
  const seen = counts(record.counts);
  if (seen) parts.push(`attempts since the change before: ${seen}`);
  if (record.kinds.length > 0) parts.push(`last bad ones: ${record.kinds.map(plain).join(", ")}`);
  return parts.join("; ");
}

export function counts(map) {
  return Object.entries(map ?? {})
    .filter(([, n]) => n > 0)
    .sort(([, one], [, other]) => other - one)
    .map(([word, n]) => `${plain(word)} ${count(n)}`)
    .join(", ");
}

// The forms of fallback that nobody has seen at work, by function.
export function untried(forms) {
  const told = forms.slice(0, 3).map(({ function: path, kind, path: called }) => `${called ?? kind} of ${path.split("::").pop()}`);
  if (forms.length > told.length) told.push(`${count(forms.length - told.length)} more`);
  return told.join(", ");
}

const HAPPENED = {
  "policy.reloaded": "policy reloaded",
  "policy.refused": "policy refused",
  "override.set": "set by hand",
  "override.cleared": "hand taken off",
  "override.expired": "hand expired",
};

export function happened(entry) {
  switch (entry.kind) {
    case "breaker.transition":
      return `${plain(entry.from)} → ${plain(entry.to)}: ${entry.change ? why(entry.change) : cause(entry.cause)}`;
    case "override.set":
      return `${entry.mode} set by ${entry.by}: ${entry.message}`;
    case "override.cleared":
      return entry.by ? `${entry.mode} taken off by ${entry.by}: ${entry.message}` : `${entry.mode} taken off`;
    case "override.expired":
      return `${entry.mode}, set by hand, has ended`;
    default:
      return `${HAPPENED[entry.kind] ?? entry.kind}: ${entry.message ?? ""}`;
  }
}

// The other instances, in a line.
export function fleet(fleet) {
  if (fleet.lost_for !== undefined) {
    return `fleet: nothing heard for ${lasts(fleet.lost_for)} (${fleet.why}); this instance goes on by itself`;
  }
  const pooled = fleet.evidence === "pooled" ? ", evidence pooled" : "";
  const others = `${fleet.instances === 1 ? "no other instance" : `${fleet.instances} instances`}${pooled}`;
  if (fleet.peers.length === 0) return `fleet: ${others}${fleet.instances === 1 ? "" : ", all agree"}`;
  return `fleet: ${others}; ${fleet.peers.map(peer).join("; ")}`;
}

function peer({ instance, policy, policy_for, differs }) {
  const parts = differs.slice(0, 3).map((one) => `${one.dependency} ${there(one)}`);
  if (differs.length > 3) parts.push(`${differs.length - 3} more`);
  if (policy) parts.push(`another policy, ${policy.slice(0, 8)}, for ${lasts(policy_for)}`);
  return `${instance} differs: ${parts.join(", ")}`;
}

function there(one) {
  const ago = one.for === null ? "" : ` for ${lasts(one.for)}`;
  return `${plain(one.there)} (here ${plain(one.here)})${ago}`;
}

// Where this dependency is something else.
export function elsewhere(fleet, name) {
  const found = (fleet?.peers ?? []).flatMap(({ instance, differs }) =>
    differs.filter((one) => one.dependency === name).map((one) => {
      const ago = one.for === null ? "" : `, differs for ${lasts(one.for)}`;
      return `${instance} ${plain(one.there)}${ago}`;
    }),
  );
  const shown = found.slice(0, 5);
  if (found.length > shown.length) shown.push(`${found.length - shown.length} more`);
  return shown.length > 0 ? `Elsewhere: ${shown.join("; ")}.` : "";
}

// How bad it is: what refuses or loses calls first, what works last.
export function severity(card) {
  if (card.mode === "isolate") return 8;
  if (card.mode === "enforce" && card.state === "open") return 9;
  if (card.mode === "enforce" && card.state === "half_open") return 7;
  if (card.flapping) return 6;
  if (card.mode === "observe" && (card.state === "open" || card.state === "half_open")) return 5;
  if (card.mode === "off") return 4;
  if (card.mode === "observe" || card.override) return 3;
  if (card.limit !== undefined && card.in_flight >= card.limit) return 3;
  if (card.failure_limit && card.failure_rate >= card.failure_limit / 2) return 3;
  if (card.slow_limit && card.slow_rate >= card.slow_limit / 2) return 3;
  if (card.bad_limit && card.bad_rate >= card.bad_limit / 2) return 3;
  if (card.degraded_ratio > 0) return 2;
  return 0;
}

export function tone(card) {
  const worst = severity(card);
  if (worst >= 8) return "bad";
  if (worst >= 5) return "warn";
  if (worst >= 2) return "note";
  return "good";
}
