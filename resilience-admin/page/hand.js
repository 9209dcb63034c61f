// The operator's hand: a dialog that asks who, why and until when.

import { show, write } from "./dom.js";
import { post } from "./stream.js";

const ABOUT = {
  isolate: "Every call is refused at once and its fallback answers. The dependency gets no traffic at all.",
  observe: "Nothing is refused, cut short or retried any more. What would have been is still told.",
  restore: "The hand is taken off. The mode is what the policy file says.",
};

const VERB = { isolate: "Isolate", observe: "Observe", restore: "Restore" };

export class Hand {
  constructor(on) {
    this.on = on;
    const get = (id) => document.getElementById(id);
    this.dialog = get("hand");
    this.title = get("hand-title");
    this.about = get("hand-about");
    this.token = get("hand-token");
    this.by = get("hand-by");
    this.reason = get("hand-reason");
    this.set = get("hand-set");
    this.for = get("hand-for");
    this.answer = get("hand-answer");
    this.scope = get("hand-scope");
    this.error = get("hand-error");
    this.go = get("hand-do");
    get("hand-cancel").addEventListener("click", () => this.dialog.close());
    get("hand-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.send();
    });
  }

  open(name, mode, instance) {
    this.name = name;
    this.mode = mode;
    write(this.title, `${VERB[mode]} ${name}`);
    write(this.about, ABOUT[mode]);
    write(this.go, `${VERB[mode]} ${name}`);
    const tail = mode === "restore" ? "--clear" : `${mode} --by … --reason … --for 1h`;
    write(
      this.scope,
      `Acts on ${instance} alone, now, and until it restarts at most. For all instances: resilience override ${name} ${tail}`,
    );
    write(this.error, "");
    show(this.set, mode !== "restore");
    this.reason.value = "";
    this.answer.value = "";
    this.dialog.showModal();
    // What is known already is kept for as long as the page is open, and nowhere else.
    ([this.token, this.by].find((field) => !field.value) ?? this.reason).focus();
  }

  async send() {
    const missing = [
      [this.token, "the admin token"],
      [this.by, "who you are"],
      [this.reason, "a reason"],
    ].find(([field]) => !field.value.trim());
    if (missing) {
      write(this.error, `${missing[1]} is missing`);
      missing[0].focus();
      return;
    }
    const act = { dependency: this.name, by: this.by.value.trim(), reason: this.reason.value.trim() };
    if (this.mode !== "restore") {
      act.mode = this.mode;
      act.seconds = Number(this.for.value);
      act.answer = this.answer.value.trim() || null;
    }
    this.go.disabled = true;
    write(this.error, "");
    try {
      await post(this.mode === "restore" ? "restore" : "override", this.token.value, act);
      this.dialog.close();
      this.on.done(`${VERB[this.mode]} ${this.name}: done`);
    } catch (error) {
      write(this.error, error.message);
    } finally {
      this.go.disabled = false;
    }
  }
}
