// Asking the server, and hearing that something changed.
const ROOT = "/inspector/api/";
export const place = { tenant: "", visitor: "" };

function address(path, query) {
  const told = { ...query, ...(place.tenant ? { tenant: place.tenant } : {}) };
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

export async function tell(name, verb, body) {
  const headers = { "content-type": "application/json", "x-fanfold-inspector": "1", ...own() };
  return read(await fetch(address(session(name, verb)), { method: "POST", headers, body: JSON.stringify(body) }));
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

async function listen(path, heard, stop) {
  const reader = (await fetch(path, { headers: own(), signal: stop.signal })).body.getReader();
  for (let first = true; ;) {
    const { value, done } = await reader.read();
    if (done) return;
    if (!new TextDecoder().decode(value).startsWith("data:")) continue;
    if (!first) heard();
    first = false;
  }
}

export function watch(name, heard) {
  const path = address("events", name ? { session: name } : {});
  if (place.visitor) {
    const stop = new AbortController();
    listen(path, heard, stop).catch(() => {});
    return () => stop.abort();
  }
  const source = new EventSource(path);
  let first = true;
  source.onmessage = () => {
    if (!first) heard();
    first = false;
  };
  return () => source.close();
}
