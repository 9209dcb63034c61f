// What is asked for only when somebody opens it: the numbers with their places, and the history.

import { el } from "./dom.js";
import { get } from "./stream.js";
import * as words from "./words.js";

export class Detail {
  constructor(name) {
    this.name = name;
    this.body = el("div", { class: "detail-body" });
    this.element = el("details", { class: "detail" }, el("summary", {}, "Numbers and history"), this.body);
    this.element.addEventListener("toggle", () => {
      if (this.element.open) this.refresh();
    });
  }

  async refresh() {
    try {
      this.take((await get(`dependency/${encodeURIComponent(this.name)}`)).snapshot);
    } catch (error) {
      this.body.replaceChildren(el("p", { class: "error" }, `not to be had: ${error.message}`));
    }
  }

  take(snapshot) {
    if (!this.element.open) return;
    this.body.replaceChildren(
      numbers(snapshot.numbers ?? []),
      transitions(snapshot.transitions ?? []),
      totals(snapshot),
    );
  }
}

function numbers(all) {
  const rows = all.map((number) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, number.key),
      el("td", { class: "number" }, Array.isArray(number.value) ? number.value.join(", ") || "none" : String(number.value)),
      el("td", {}, words.place(number) || number.from, number.file ? el("span", { class: "quiet" }, ` ${number.from}`) : null),
    ),
  );
  return el("table", {}, el("caption", {}, "Numbers in force"), el("tbody", {}, ...rows));
}

function transitions(all) {
  if (all.length === 0) return el("p", { class: "quiet" }, "Its state has never changed.");
  const rows = [...all].reverse().map((record) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, el("time", { datetime: words.iso(record.at) }, words.time(record.at, true))),
      el("td", {}, `${words.plain(record.from)} → ${words.plain(record.to)}`),
      el("td", {}, words.why(record), el("span", { class: "quiet" }, ` ${tail(record)}`)),
    ),
  );
  return el("table", {}, el("caption", {}, "Changes of state, newest first"), el("tbody", {}, ...rows));
}

function tail(record) {
  const parts = [];
  const seen = words.samples(record);
  if (seen) parts.push(seen);
  if (record.cooldown) parts.push(`for ${words.lasts(record.cooldown)}`);
  parts.push(`policy ${record.policy_hash.slice(0, 8)}`);
  return parts.join(" · ");
}

function totals(snapshot) {
  const lines = [
    ["Calls by outcome", words.counts(snapshot.outcomes)],
    ["Attempts by outcome", words.counts(snapshot.attempts)],
    ["Seen and not counted", words.counts(snapshot.uncounted)],
    ["Rejected", words.counts(snapshot.rejections)],
    ["Fallbacks", words.counts(snapshot.fallbacks)],
    ["Test calls", words.counts(snapshot.probes)],
    ["Agreed", snapshot.agreed ?? ""],
    ["Window", snapshot.window ?? ""],
    ["Functions", (snapshot.functions ?? []).join(", ")],
  ].filter(([, text]) => text);
  return el("dl", {}, ...lines.flatMap(([name, text]) => [el("dt", {}, name), el("dd", {}, text)]));
}
