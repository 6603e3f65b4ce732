// Asking the server, and hearing that something changed.
const ROOT = "/inspector/api/";
export const place = { tenant: "", several: false, visitor: "" }; // `several`: the token names more than one tenant

function address(path, query, tenant = place.tenant) {
  const told = { ...(tenant ? { tenant } : {}), ...query };
  // A browser takes . and .. for folders: a session that is called so is named behind the ?.
  const folder = /^sessions\/(\.\.?)(?=\/|$)/.exec(path);
  if (folder) {
    told.name = folder[1];
    path = "sessions/_" + path.slice(folder[0].length);
  }
  const words = new URLSearchParams(told).toString();
  return ROOT + path + (words ? "?" + words : "");
}

async function read(response) {
  const value = await response.json().catch(() => ({ error: "The server gave no answer that can be read." }));
  if (!response.ok) throw Object.assign(new Error(value.error || response.statusText), { status: response.status });
  return value;
}

export const session = (name, rest = "") => "sessions/" + encodeURIComponent(name) + (rest ? "/" + rest : "");

// In a frame of a notebook there is no cookie: the page holds the secret itself, and brings it with every question.
const own = () => (place.visitor ? { "x-fanfold-visitor": place.visitor } : {});

export async function ask(path, query = {}) {
  return read(await fetch(address(path, query), { headers: { accept: "application/json", ...own() } }));
}

export async function enter(token) {
  const headers = { "content-type": "application/json", "x-fanfold-inspector": "1" };
  place.visitor = (await read(await fetch(ROOT + "enter", { method: "POST", headers, body: JSON.stringify({ token }) }))).visitor;
}

// A change goes to the tenant that it was proposed for, whatever the page shows by now.
export async function tell(tenant, name, verb, body) {
  const headers = { "content-type": "application/json", "x-fanfold-inspector": "1", ...own() };
  return read(await fetch(address(session(name, verb), {}, tenant), { method: "POST", headers, body: JSON.stringify(body) }));
}

export const exportAddress = (name) => address(session(name, "export"));

export async function download(event) {
  if (!place.visitor) return;
  event.preventDefault();
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await (await fetch(event.currentTarget.href, { headers: own() })).blob());
  link.download = "session.jsonl";
  link.click();
}

const OLD = " What you see here may be old.";
const GONE = "The inspector does not answer any more: it was stopped, or cannot be reached." + OLD;
const CLOSED = "The inspector was started anew and does not know this page. Open the link that it prints." + OLD;
const CUT = "The inspector answers, but does not tell what changes: something on the way ends its stream." + OLD;
const RETRY = 2000; // milliseconds

// What is heard of a stream. Only an event shows that the page can follow: headers come from a stream that fails, too.
function hearing(heard, failed) {
  return {
    message: () => { failed(""); heard(); },
    failed: (data) => failed("This page cannot follow what happens. " + JSON.parse(data).error + OLD),
  };
}

// In a frame: as an EventSource does it, with a header.
async function listen(path, heard, failed, stop) {
  while (!stop.signal.aborted) {
    const answer = await fetch(path, { headers: own(), signal: stop.signal }).catch(() => null);
    if (stop.signal.aborted) return;
    if (!answer) failed(GONE);
    else if (!answer.ok) return failed(CLOSED);
    else if (!(await hear(answer.body, hearing(heard, failed))) && !stop.signal.aborted) failed(CUT);
    await new Promise((go) => setTimeout(go, 1000));
  }
}

// Whether anything was told before the stream ended.
async function hear(body, events) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "", any = false;
  for (let piece = await reader.read(); !piece.done; piece = await reader.read().catch(() => ({ done: true }))) {
    const whole = (text + piece.value).split("\n\n");
    text = whole.pop();
    for (const event of whole) any = pass(event, events) || any;
  }
  return any;
}

function pass(event, events) {
  const told = /^(?:event: (\w+)\n)?data: (.*)$/.exec(event);
  if (told) events[told[1] || "message"](told[2]);
  return Boolean(told);
}

// The first event comes at once: what changed before the stream began is seen as well.
function open(path, heard, failed) {
  if (place.visitor) {
    const stop = new AbortController();
    listen(path, heard, failed, stop);
    return () => stop.abort();
  }
  const events = hearing(heard, failed);
  let source = null, stopped = false, any = false;
  const answers = (told) => {
    if (stopped) return;
    if (!told) failed(CUT);
    if (source.readyState === 2) setTimeout(begin, RETRY);
  };
  const begin = () => {
    if (stopped) return;
    source = new EventSource(path);
    for (const name of Object.keys(events)) source.addEventListener(name, (event) => { any = true; events[name](event.data); });
    // A source that was refused tries no more, and does not say why: another question does.
    source.onerror = () => {
      const told = any;
      any = false;
      ask("about").then(() => answers(told), (error) => { if (!stopped) failed(error.status === 401 ? CLOSED : GONE); });
    };
  };
  begin();
  return () => { stopped = true; source.close(); };
}

// A browser opens six connections to a host, over all tabs. So a tab listens only while somebody can see it.
export function watch(name, heard, failed) {
  const path = address("events", name ? { session: name } : {});
  let close = null;
  const look = () => {
    if (!document.hidden) close ??= open(path, heard, failed);
    else if (close) close = close();
  };
  document.addEventListener("visibilitychange", look);
  look();
  return () => {
    document.removeEventListener("visibilitychange", look);
    close?.();
  };
}
