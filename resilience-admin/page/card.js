// One dependency or operation, in full. Built once, then only its texts and bars change.

import { Chart, PARTS, SPAN } from "./chart.js";
import { Detail } from "./detail.js";
import { el, mark, show, write } from "./dom.js";
import * as words from "./words.js";

export class Card {
  constructor(name, on) {
    this.name = name;
    this.on = on;
    this.points = null;
    this.totals = null;
    this.build();
  }

  build() {
    const id = `card-${this.name.replace(".", "--")}`;
    this.title = el("h3", { id: `${id}-title` }, this.name);
    this.state = el("p", { class: "state" });
    this.about = el("p", { class: "about" });
    this.clock = el("p", { class: "clock" });
    this.whyText = el("p");
    this.whySeen = el("p", { class: "quiet" });
    this.why = el("div", { class: "why" }, this.whyText, this.whySeen);
    this.hand = el("p", { class: "by-hand" });
    this.elsewhere = el("p", { class: "elsewhere" });
    this.chart = new Chart();
    this.rates = el("div", { class: "meters" });
    this.failed = meter("Failed", "failed");
    this.slow = meter("Slow", "slow");
    this.bad = meter("Either", "bad");
    this.slots = meter("Slots", "slots");
    this.rates.append(this.failed.element, this.slow.element, this.bad.element, this.slots.element);
    this.extra = el("p", { class: "extra" });
    this.servedBar = el("div", { class: "served", role: "img" }, ...PARTS.map((part) => el("span", { class: part })));
    this.servedText = el("p", { class: "legend" });
    this.detail = new Detail(this.name);
    this.buttons = el("div", { class: "buttons" });
    this.act = {
      isolate: this.button("Isolate", "isolate"),
      observe: this.button("Observe", "observe"),
      restore: this.button("Restore", "restore"),
      unpin: el("button", { type: "button", onclick: () => this.on.unpin(this.name) }, "Put back"),
    };
    this.buttons.append(...Object.values(this.act));
    this.element = el(
      "article",
      { class: "card", id, "aria-labelledby": `${id}-title`, "data-name": this.name },
      el("div", { class: "head" }, this.title, this.state),
      this.about,
      this.clock,
      this.why,
      this.hand,
      this.elsewhere,
      this.chart.element,
      this.rates,
      this.extra,
      this.servedBar,
      this.servedText,
      this.detail.element,
      this.buttons,
    );
  }

  button(text, mode) {
    const label = `${text} ${this.name}`;
    return el("button", { type: "button", "aria-label": label, onclick: () => this.on.act(this.name, mode) }, text);
  }

  // The past comes with the first request, the present with every frame.
  past(detail) {
    this.points = detail.series ?? [];
    this.detail.take(detail.snapshot);
  }

  update(card, frame) {
    this.grow(card, frame.at);
    mark(this.element, "data-tone", words.tone(card));
    mark(this.element, "data-state", card.state ?? "none");
    mark(this.element, "data-mode", card.mode);
    write(this.state, words.state(card));
    write(this.about, [card.about, card.fail === "closed" ? "fails closed" : "fails open"].filter(Boolean).join(" · "));
    this.clocks(card, frame.at);
    this.cause(card, frame.at);
    this.byHand(card, frame.at);
    const elsewhere = words.elsewhere(frame.fleet, this.name);
    write(this.elsewhere, elsewhere);
    show(this.elsewhere, elsewhere !== "");
    this.chart.draw(this.points ?? [], card, this.marks(card, frame), frame.at);
    this.meters(card);
    this.mix();
    show(this.act.isolate, frame.acts && card.mode !== "isolate");
    show(this.act.observe, frame.acts && card.mode !== "observe");
    show(this.act.restore, frame.acts && Boolean(card.override));
    show(this.act.unpin, frame.pinned.has(this.name));
    show(this.buttons, [...this.buttons.children].some((button) => !button.hidden));
  }

  grow(card, at) {
    const totals = PARTS.map((part) => card.served[part] ?? 0);
    if (this.points && this.totals && at - this.totals.at >= 0.5) {
      const made = totals.map((n, part) => Math.max(0, n - this.totals.calls[part]));
      const last = this.points[this.points.length - 1];
      if (!last || at - last[0] >= 0.5) {
        this.points.push([at, ...made, card.failure_rate ?? null, card.slow_rate ?? null, card.bad_rate ?? null, card.state]);
      }
    }
    if (!this.totals || at - this.totals.at >= 0.5) this.totals = { at, calls: totals };
    while (this.points?.length > 0 && this.points[0][0] < at - SPAN) this.points.shift();
  }

  clocks(card, now) {
    const parts = [];
    if (card.state && card.since !== undefined) {
      const out = card.open_for ?? 0;
      if (card.state === "closed") parts.push(`for ${words.lasts(now - card.since)}`);
      else {
        parts.push(`for ${words.lasts(now - card.since)}`);
        if (out - (now - card.since) > 2) parts.push(`not closed for ${words.lasts(out)}`);
      }
    }
    if (card.state === "open" && card.next_probe_in !== undefined) parts.push(`next test in ${words.left(card.next_probe_in)}`);
    else if (card.retry_after !== undefined && card.mode === "enforce" && card.state === "closed") {
      parts.push(`held: told to wait ${words.left(card.retry_after)} more`);
    }
    if (card.flapping) parts.push(`flapping: left closed ${card.openings} times in ten minutes`);
    write(this.clock, parts.join(" · "));
    show(this.clock, parts.length > 0);
  }

  cause(card, now) {
    const record = card.state === "closed" && !card.flapping ? null : card.opened;
    show(this.why, Boolean(record));
    if (!record) return;
    write(this.whyText, `Opened at ${words.when(record.at, now)}: ${words.why(record)}.`);
    write(this.whySeen, words.samples(record));
  }

  byHand(card, now) {
    show(this.hand, Boolean(card.override));
    if (!card.override) return;
    const { mode, by, reason, until, answer } = card.override;
    const told = answer ? `, answer “${answer}”` : "";
    write(this.hand, `${mode} by ${by}: ${reason}. Ends in ${words.left(until - now)}, ${words.when(until, now)}${told}.`);
  }

  marks(card, frame) {
    const changes = (card.changes ?? []).map(([at, to]) => ({ at, kind: to }));
    return [...changes, ...(frame.policy.reloaded_at ?? []).map((at) => ({ at, kind: "reload" }))];
  }

  meters(card) {
    const few = words.tooFew(card) ? `${card.calls} of ${card.minimum_calls} calls` : null;
    this.failed.show(card.failure_limit, card.failure_rate, few);
    this.slow.show(card.slow_limit, card.slow_rate, few);
    this.bad.show(card.bad_limit, card.bad_rate, few);
    const waiting = card.waiting > 0 || card.max_waiting ? `, ${card.waiting} of ${card.max_waiting ?? 0} waiting` : "";
    if (card.limit === undefined) this.slots.hide();
    else this.slots.set(card.in_flight / card.limit, null, `${card.in_flight} of ${card.limit}${waiting}`);
    const extra = [];
    if (card.limit === undefined && card.in_flight > 0) extra.push(`${card.in_flight} running, no limit`);
    if (card.retry_budget !== undefined) extra.push(`retries left ${words.count(Math.floor(card.retry_budget))}`);
    const refused = words.counts(card.rejections);
    if (refused) extra.push(`rejected so far: ${refused}`);
    const uncounted = words.counts(card.uncounted);
    if (uncounted) extra.push(`seen and not counted: ${uncounted}`);
    if (card.untried) extra.push(`fallback never run: ${words.untried(card.untried)}`);
    write(this.extra, extra.join(" · "));
    show(this.extra, extra.length > 0);
  }

  // Who answered in the last two minutes.
  mix() {
    const sums = PARTS.map((_, part) => (this.points ?? []).reduce((sum, point) => sum + point[part + 1], 0));
    const all = sums.reduce((sum, n) => sum + n, 0);
    const share = (n) => (all === 0 ? 0 : n / all);
    const told = PARTS.map((part, at) => [part, sums[at]])
      .filter(([part, n]) => n > 0 || part === "primary")
      .map(([part, n]) => `${part} ${words.count(n)} (${words.percent(share(n))})`);
    const text = all === 0 ? "no calls in the last two minutes" : `last two minutes: ${told.join(", ")}`;
    PARTS.forEach((part, at) => {
      this.servedBar.children[at].style.flexGrow = share(sums[at]);
    });
    mark(this.servedBar, "aria-label", text);
    mark(this.servedBar, "data-empty", all === 0);
    write(this.servedText, text);
  }
}

// A bar, with the threshold as a line across it where there is one.
function meter(label, name) {
  const fill = el("span", { class: "fill" });
  const limit = el("span", { class: "tick" });
  const value = el("span", { class: "value" });
  const element = el(
    "div",
    { class: `meter ${name}` },
    el("span", { class: "label" }, label),
    el("span", { class: "bar", "aria-hidden": "true" }, fill, limit),
    value,
  );
  const set = (share, at, text) => {
    show(element, true);
    fill.style.width = `${Math.min(100, share * 100)}%`;
    show(limit, at !== null);
    if (at !== null) limit.style.left = `${at * 100}%`;
    write(value, text);
    mark(element, "data-full", at === null ? share >= 1 : share >= at);
  };
  return {
    element,
    set,
    hide: () => show(element, false),
    show(threshold, rate, few) {
      if (threshold === undefined) show(element, false);
      else if (rate === undefined) set(0, threshold, `${few ?? "not known"}, limit ${words.percent(threshold)}`);
      else set(rate, threshold, `${words.percent(rate)}, limit ${words.percent(threshold)}`);
    },
  };
}
