// Asking the server, and hearing that something changed.
const ROOT = "/inspector/api/";
export const place = { tenant: "" };

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

export async function ask(path, query = {}) {
  return read(await fetch(address(path, query), { headers: { accept: "application/json" } }));
}

export async function tell(name, verb, body) {
  const headers = { "content-type": "application/json", "x-fanfold-inspector": "1" };
  return read(await fetch(address(session(name, verb)), { method: "POST", headers, body: JSON.stringify(body) }));
}

export const exportAddress = (name) => address(session(name, "export"));

export function watch(name, heard) {
  const source = new EventSource(address("events", name ? { session: name } : {}));
  let first = true;
  source.onmessage = () => {
    if (!first) heard();
    first = false;
  };
  return () => source.close();
}
