// The stream of frames, and whether it is alive. Silence is told: an old picture that looks live is worse than none.

const SILENT_AFTER = 4000;

export function connect(on) {
  let last = 0;
  let lost = true;
  let source = null;

  function open() {
    source = new EventSource("events");
    source.addEventListener("frame", (event) => {
      last = performance.now();
      if (lost) {
        lost = false;
        on.alive();
      }
      on.frame(JSON.parse(event.data));
    });
    for (const kind of on.kinds) {
      source.addEventListener(kind, (event) => on.entry(JSON.parse(event.data)));
    }
    source.addEventListener("error", () => {
      // The browser comes back by itself unless the answer was an error.
      if (source.readyState === EventSource.CLOSED) setTimeout(open, 2000);
      fall();
    });
  }

  function fall() {
    if (!lost) {
      lost = true;
      on.lost();
    }
  }

  setInterval(() => {
    if (performance.now() - last > SILENT_AFTER) fall();
  }, 1000);
  open();
}

export async function get(path) {
  const answer = await fetch(path, { headers: { accept: "application/json" } });
  if (!answer.ok) throw new Error(`${answer.status}`);
  return answer.json();
}

export async function post(path, token, body) {
  const answer = await fetch(path, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
    body: JSON.stringify(body),
    credentials: "omit",
  });
  if (answer.ok) return;
  const told = await answer.json().catch(() => ({}));
  throw new Error(told.error ?? `the service answered ${answer.status}`);
}
