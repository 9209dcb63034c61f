// What is where on the page: frames come in, cards are put in order, worst first.

import { Card } from "./card.js";
import { el, mark, order, show, write } from "./dom.js";
import { Hand } from "./hand.js";
import { connect, get } from "./stream.js";
import * as words from "./words.js";

// Up to so many, everything is shown in full; beyond, what is well is a line in a list.
const FEW = 12;
const MOST_CARDS = 60;
const MOST_ROWS = 200;
const MOST_ENTRIES = 100;
const KINDS = ["breaker.transition", "policy.reloaded", "policy.refused", "override.set", "override.cleared", "override.expired"];

const at = (id) => document.getElementById(id);
const state = { all: new Map(), journal: [], frame: null, pinned: new Set(), filter: "" };
const cards = new Map();
const rows = new Map();
const hand = new Hand({ done: say });

connect({ kinds: KINDS, frame: take, entry: note, alive, lost });

function take(frame) {
  const { cards: changed, gone, journal, ...rest } = frame;
  // The first frame has everything: what it does not name is gone.
  if (journal || !state.frame) {
    state.all = new Map();
    state.journal = journal ?? [];
  }
  for (const [name, card] of Object.entries(changed)) state.all.set(name, card);
  for (const name of gone ?? []) state.all.delete(name);
  state.frame = { ...rest, pinned: state.pinned };
  draw();
}

function note(entry) {
  state.journal.push(entry);
  if (state.journal.length > 2 * MOST_ENTRIES) state.journal.shift();
}

function draw() {
  const { frame } = state;
  if (!frame) return;
  head(frame);
  const names = [...state.all.keys()].filter((name) => name.includes(state.filter));
  const few = state.all.size <= FEW;
  const rank = (name) => words.severity(state.all.get(name));
  const look = names.filter((name) => few || rank(name) > 0 || state.pinned.has(name));
  const since = (name) => state.all.get(name).since ?? 0;
  look.sort((one, other) => rank(other) - rank(one) || since(one) - since(other) || one.localeCompare(other));
  full(look);
  well(names.filter((name) => !few && rank(name) === 0 && !state.pinned.has(name)).sort());
  const shown = state.filter ? `${words.count(names.length)} of ${words.count(state.all.size)}` : words.count(state.all.size);
  write(at("count"), `${shown} ${state.all.size === 1 ? "dependency" : "dependencies and operations"}`);
  journal(frame.at);
  // For whoever waits for a frame to be on the screen.
  Object.assign(document.documentElement.dataset, { seq: frame.seq, at: frame.at });
}

function head(frame) {
  const open = [...state.all].filter(([, card]) => words.severity(card) >= 8).map(([name]) => name);
  const others = [...state.all.values()].filter((card) => words.severity(card) > 0 && words.severity(card) < 8).length;
  const verdict = [];
  if (open.length > 0) verdict.push(`${list(open)} ${open.length === 1 ? "refuses" : "refuse"} calls.`);
  if (others > 0) verdict.push(`${words.count(others)} ${open.length > 0 ? (others === 1 ? "other needs" : "others need") : others === 1 ? "needs" : "need"} a look.`);
  if (verdict.length === 0) verdict.push("Calls flow everywhere.");
  write(at("verdict"), verdict.join(" "));
  mark(document.body, "data-tone", open.length > 0 ? "bad" : others > 0 ? "warn" : "good");
  write(at("instance"), frame.instance);
  document.title = open.length > 0 ? `(${open.length}) ${frame.instance}` : frame.instance;
  const { policy } = frame;
  const loaded = words.when(policy.loaded_at, frame.at);
  write(at("policy"), `policy ${policy.hash} from ${policy.file}, in force since ${loaded}${policy.stale ? "; the file differs" : ""}`);
  show(at("fleet"), Boolean(frame.fleet));
  if (frame.fleet) write(at("fleet"), words.fleet(frame.fleet));
  mark(at("fleet"), "data-differs", frame.fleet?.lost_for !== undefined || frame.fleet?.peers.length > 0);
  show(at("refusal"), Boolean(policy.refusal));
  write(at("refusal-text"), policy.refusal ?? "");
  write(at("acts"), frame.acts ? "" : "This page only shows: the service was started without an admin token.");
}

function list(names) {
  if (names.length <= 3) return names.join(", ").replace(/, ([^,]*)$/, " and $1");
  return `${names.slice(0, 2).join(", ")} and ${words.count(names.length - 2)} others`;
}

function full(names) {
  const shown = names.slice(0, MOST_CARDS);
  for (const name of cards.keys()) if (!shown.includes(name)) cards.delete(name);
  const elements = shown.map((name) => {
    let card = cards.get(name);
    if (!card) {
      card = new Card(name, { act, unpin });
      cards.set(name, card);
      load(card);
    }
    card.update(state.all.get(name), state.frame);
    return card.element;
  });
  order(at("look"), elements);
  show(at("calm"), names.length === 0 && !state.filter);
  const more = names.length - shown.length;
  show(at("more-look"), more > 0);
  write(at("more-look"), `${words.count(more)} more; filter by name to see them`);
}

async function load(card) {
  try {
    card.past(await get(`dependency/${encodeURIComponent(card.name)}`));
  } catch {
    card.points = [];
  }
}

function well(names) {
  show(at("well-section"), names.length > 0);
  write(at("well-title"), `${words.count(names.length)} at work, nothing to see`);
  // A thousand lines that nobody looks at are not drawn.
  if (!at("well").open) {
    if (rows.size > 0) {
      rows.clear();
      at("well-list").replaceChildren();
    }
    return;
  }
  const shown = names.slice(0, MOST_ROWS);
  for (const name of rows.keys()) if (!shown.includes(name)) rows.delete(name);
  order(
    at("well-list"),
    shown.map((name) => {
      if (!rows.has(name)) rows.set(name, row(name));
      const { element, text } = rows.get(name);
      write(text, line(state.all.get(name)));
      return element;
    }),
  );
  const more = names.length - shown.length;
  show(at("more-well"), more > 0);
  write(at("more-well"), `${words.count(more)} more; filter by name to see them`);
}

function row(name) {
  const text = el("span", { class: "quiet" });
  const pin = () => {
    state.pinned.add(name);
    draw();
    cards.get(name)?.element.scrollIntoView({ block: "nearest" });
  };
  return { text, element: el("li", {}, el("button", { type: "button", onclick: pin }, el("b", {}, name), " ", text)) };
}

function line(card) {
  const parts = card.state === "closed" && !words.tooFew(card) ? [] : [words.state(card)];
  if (card.failure_rate !== undefined && card.failure_limit) parts.push(`${words.percent(card.failure_rate)} failed`);
  if (card.limit !== undefined) parts.push(`${card.in_flight} of ${card.limit} slots`);
  return parts.join(" · ") || words.state(card);
}

function journal(now) {
  const entries = state.journal
    .filter((entry) => !entry.dependency || entry.dependency.includes(state.filter))
    .slice(-MOST_ENTRIES)
    .reverse();
  show(at("nothing"), entries.length === 0);
  const known = new Map([...at("journal").children].map((element) => [element.entry, element]));
  order(
    at("journal"),
    entries.map((entry) => known.get(entry) ?? told(entry, now)),
  );
}

function told(entry, now) {
  const element = el(
    "li",
    { "data-kind": entry.kind, "data-to": entry.to ?? null },
    el("time", { datetime: words.iso(entry.at) }, words.when(entry.at, now)),
    el("b", {}, entry.dependency ?? "policy"),
    el("span", {}, words.happened(entry)),
  );
  element.entry = entry;
  return element;
}

function act(name, mode) {
  hand.open(name, mode, state.frame.instance);
}

function unpin(name) {
  state.pinned.delete(name);
  draw();
}

function say(text) {
  write(at("said"), text);
}

function alive() {
  mark(document.body, "data-lost", null);
  write(at("link"), "live");
}

function lost() {
  mark(document.body, "data-lost", true);
  const seen = state.frame ? `no word from the service; this is how it was at ${words.time(state.frame.at)}` : "no word from the service";
  write(at("link"), seen);
}

at("filter").addEventListener("input", (event) => {
  state.filter = event.target.value.trim().toLowerCase();
  draw();
});
at("well").addEventListener("toggle", draw);
document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, select, textarea, dialog");
  if (event.key === "/" && !typing) {
    event.preventDefault();
    at("filter").focus();
  }
});
