// What the screens are made of.
import { html, createContext, useState, useEffect, useRef, useContext, useLayoutEffect } from "./vendor/htm-preact.js";
import { ask, place, tell } from "./api.js";

export const Live = createContext({ tick: 0, about: {}, tenant: "" });

export const KINDS = {
  system: ["System and tools", "hue0"], user: ["Person", "hue1"], assistant: ["Model", "hue3"],
  call: ["Model, with calls", "hue6"], output: ["Tool output", "hue2"], media: ["Image or file", "hue5"],
  summary: ["Summary", "hue4"], marker: ["Left out", "hue4"], note: ["Note", "hue7"], other: ["Per request", "hue0"],
  tool: ["Tool output", "hue2"],
};
export const hue = (kind) => (KINDS[kind] || KINDS.other)[1];
export const label = (kind) => (KINDS[kind] || [kind])[0];
export const number = (n) => (n === null || n === undefined ? "–" : Math.round(n).toLocaleString("en"));
export const percent = (share) => (share === null || share === undefined ? "–" : Math.round(share * 100) + " %");
export const dollars = (n) => (n === null || n === undefined ? "–" : "$" + n.toFixed(n && n < 0.1 ? 4 : 2));
export const many = (n, noun) => number(n) + " " + noun + (n === 1 ? "" : "s");
export function bytes(n) {
  const units = ["bytes", "KiB", "MiB", "GiB"];
  let at = 0;
  while (n >= 1024 && at < 3) { n /= 1024; at += 1; }
  return (at ? n.toFixed(1) : n) + " " + units[at];
}
export function ago(time) {
  if (!time) return "";
  const seconds = Date.now() / 1000 - time;
  if (seconds < 60) return "just now";
  if (seconds < 3600) return Math.floor(seconds / 60) + " min ago";
  if (seconds < 86400) return Math.floor(seconds / 3600) + " h ago";
  return new Date(time * 1000).toLocaleDateString("en", { day: "numeric", month: "short", year: "numeric" });
}
export const clock = (time) => (time ? new Date(time * 1000).toLocaleString("en", { dateStyle: "medium", timeStyle: "short" }) : "");
// Control characters, and those that turn the direction of what follows, are made visible; nothing is ever markup.
const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
function visible(sign) {
  const code = sign.charCodeAt(0);
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  return code === 0x7f ? "␡" : "⟨U+" + code.toString(16).toUpperCase().padStart(4, "0") + "⟩";
}
export const plain = (text) => text.replace(CONTROLS, visible);

// An answer of the server; it is asked for again whenever the session has changed, or another beat is given.
export function useAsk(path, query = {}, beat = 0) {
  const { tick } = useContext(Live);
  const [state, set] = useState({ value: null, error: null, path: "" });
  const key = path + JSON.stringify(query);
  const work = useRef({ key: "", busy: false, again: false });
  // While an answer is on its way, further changes are noted and asked for once: a busy session stays usable.
  const run = () => {
    const at = work.current;
    at.busy = true;
    at.again = false;
    const end = (found) => {
      if (at !== work.current) return;
      set({ value: null, error: null, path: key, ...found });
      at.busy = false;
      if (at.again) run();
    };
    ask(path, query).then((value) => end({ value }), (error) => end({ error }));
  };
  useEffect(() => {
    if (path === null) return;
    if (work.current.key !== key) work.current = { key, busy: false, again: false };
    if (work.current.busy) work.current.again = true;
    else run();
  }, [key, tick, beat]);
  useEffect(() => () => { work.current = {}; }, []);
  return state.path === key ? state : { value: null, error: null, path: key };
}

// The words that were looked for, marked where they stand.
export function Marked({ text, words }) {
  const shown = plain(text), at = words ? shown.toLowerCase().indexOf(words.toLowerCase()) : -1;
  return at < 0 ? shown : html`${shown.slice(0, at)}<mark>${shown.slice(at, at + words.length)}</mark>${shown.slice(at + words.length)}`;
}

export const Wait = ({ of }) =>
  of.error ? html`<p class="alarm" role="alert">${of.error.message}</p>` : html`<p class="wait" role="status">Loading …</p>`;

export const Chip = ({ kind }) => html`<span class="chip ${hue(kind)}"><i></i>${label(kind)}</span>`;

export function Bar({ share, kind, title }) {
  return html`<span class="bar ${kind || "hue1"}" title=${title || ""}>
    <b style=${{ width: Math.min(100, Math.max(share > 0 ? 1 : 0, share * 100)) + "%" }}></b></span>`;
}

export function Picture({ picture, room, tokens }) {
  const kinds = Object.entries(picture).sort((a, b) => Object.keys(KINDS).indexOf(a[0]) - Object.keys(KINDS).indexOf(b[0]));
  const all = Math.max(room || 0, tokens, 1);
  let at = 0;
  return html`<figure class="window">
    <svg viewBox="0 0 1000 54" preserveAspectRatio="none" role="img" aria-label=${"What fills the window: "
      + kinds.map(([k, n]) => label(k) + " " + number(n)).join(", ")}>
      <rect class="free" x="0" y="0" width="1000" height="54" rx="6" />
      ${kinds.map(([kind, n]) => {
        const x = (at / all) * 1000, wide = Math.max(1, (n / all) * 1000 - 1.5);
        at += n;
        return html`<rect key=${kind} class="part ${hue(kind)} ${kind}" x=${x} y="0" width=${wide} height="54">
          <title>${label(kind)}: ${number(n)} tokens</title></rect>`;
      })}
    </svg>
    <figcaption class="legend">
      ${kinds.map(([kind, n]) => html`<span key=${kind} class="${hue(kind)} ${kind}"><i></i>${label(kind)} <b>${number(n)}</b></span>`)}
      ${room ? html`<span class="free"><i></i>Free <b>${number(Math.max(0, room - tokens))}</b></span>` : null}
    </figcaption>
  </figure>`;
}

// How high a list is drawn; it is measured again when it is made higher, because it got rows.
const MOST_HIGH = 640;
function useHeight(ref, high) {
  const [height, set] = useState(600);
  useLayoutEffect(() => {
    const measure = () => ref.current && set(ref.current.clientHeight);
    measure();
    window.addEventListener("resize", measure);
    return () => window.removeEventListener("resize", measure);
  }, [high]);
  return height;
}

// Only the rows that can be seen are in the page, whatever their number; pages of them are fetched as they are needed.
export const PAGE = 100;
export function LongList({ total, high, fetchPage, mark, row, name, empty, chosen, goal }) {
  const box = useRef(null);
  const [top, setTop] = useState(0);
  const [pages, setPages] = useState({});
  const wanted = useRef({});
  const latest = useRef(mark);
  latest.current = mark;
  const drawn = Math.min(total * high + 2, MOST_HIGH);
  const height = useHeight(box, drawn);
  const SIZE = PAGE, NEAR = 10;
  // A browser draws nothing beyond some 33 million pixels, so a longer list is scrolled in larger steps.
  const span = Math.min(total * high, 15e6);
  const scale = total * high > span ? (total * high - height) / (span - height) : 1;
  const seen = top * scale;
  const first = Math.max(0, Math.floor(seen / high) - 8);
  const last = Math.min(total, Math.ceil((seen + height) / high) + 8);
  useEffect(() => {
    for (let page = Math.floor(first / SIZE); page * SIZE < last; page += 1) {
      const key = page + "@" + mark;
      if (wanted.current[key]) continue;
      wanted.current[key] = true;
      fetchPage(page * SIZE, SIZE).then((rows) => setPages((old) => {
        if (latest.current !== mark) return old;
        // What is far from here is forgotten, and fetched again when somebody comes back.
        const kept = Object.entries({ ...old, [page]: rows }).filter(([at]) => Math.abs(at - page) <= NEAR);
        const known = new Set(kept.map(([at]) => at));
        for (const one of Object.keys(wanted.current)) if (!known.has(one.split("@")[0])) delete wanted.current[one];
        return Object.fromEntries(kept);
      }), () => { delete wanted.current[key]; });
    }
  }, [first, last, mark]);
  // What was asked for elsewhere is brought into sight, once.
  useEffect(() => {
    const view = box.current;
    if (!view || goal === null || goal === undefined) return;
    if (goal * high < seen || (goal + 1) * high > seen + view.clientHeight) view.scrollTop = ((goal - 2) * high) / scale;
    const y = view.getBoundingClientRect().top + goal * high - view.scrollTop * scale;
    if (y < 60 || y + high > innerHeight) window.scrollBy(0, y - innerHeight / 2);
  }, [goal]);
  const move = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const now = event.target.closest("[data-at]");
    if (!step || !now) return;
    event.preventDefault();
    const next = Math.max(0, Math.min(total - 1, Number(now.dataset.at) + step));
    const view = box.current;
    const shown = view.scrollTop * scale;
    if (next * high < shown) view.scrollTop = (next * high) / scale;
    if ((next + 1) * high > shown + view.clientHeight) view.scrollTop = ((next + 1) * high - view.clientHeight) / scale;
    setTimeout(() => view.querySelector('[data-at="' + next + '"] button, [data-at="' + next + '"] a')?.focus({ preventScroll: true }), 60);
  };
  const shown = [];
  for (let at = first; at < last; at += 1) {
    const value = pages[Math.floor(at / SIZE)]?.[at % SIZE];
    const shows = value !== undefined ? row(value, at) : html`<span class="dim">…</span>`;
    const place = { transform: "translateY(" + (at * high - seen + top) + "px)", height: high + "px" };
    shown.push(html`<li key=${at} data-at=${at} aria-setsize=${total} aria-posinset=${at + 1} style=${place}
      class=${value && chosen && chosen(value) ? "chosen" : ""}>${shows}</li>`);
  }
  if (!total) return html`<p class="remark">${empty || "There is nothing here."}</p>`;
  return html`<div class="long" tabindex="0" role="group" aria-label=${name} ref=${box}
    onScroll=${(event) => setTop(event.currentTarget.scrollTop)} onKeyDown=${move} style=${{ height: drawn + "px" }}>
    <ul aria-label=${name} style=${{ height: span + "px" }}>${shown}</ul>
  </div>`;
}

// The lines of a body or an output. One that is cut says so, and is read whole on its own.
export const asLines = (found) => found.lines.map((text, at) => ({ text, cut: found.cut.includes(at) }));

export function Line({ line, at, total, tone, readWhole }) {
  const [whole, setWhole] = useState(null);
  const box = useRef(null);
  useEffect(() => { if (whole !== null) box.current?.showModal(); }, [whole]);
  return html`<div class="line ${tone || ""}"><b style=${{ minWidth: String(total).length + "ch" }}>${at + 1}</b>
    ${line.cut ? html`<button class="quiet cut" onClick=${() => readWhole(at).then(setWhole)}>Line ${at + 1} whole</button>` : null}
    <span>${plain(line.text)}${line.cut ? " …" : ""}</span>
    ${whole === null ? null : html`<dialog class="whole" ref=${box} onClose=${() => setWhole(null)} aria-label=${"Line " + (at + 1)}>
      <pre dir="auto" tabindex="0">${plain(whole)}</pre>
      <div class="buttons"><button onClick=${() => box.current.close()}>Close</button></div>
    </dialog>`}
  </div>`;
}
export const WIDEST = 4 << 20; // characters of a line that is read on its own

function Words({ part, name }) {
  const cut = part.length > part.text.length;
  return html`<pre dir="auto" tabindex="0">${plain(part.text)}${cut
    ? html`<span class="more"> … ${number(part.length - part.text.length)} more characters${part.ref
      ? html`: <a href=${to(name, "outputs", part.ref)}>see all of it</a>` : ""}</span>` : null}</pre>`;
}

function Part({ part, name }) {
  switch (part.type) {
    case "text": return html`<${Words} part=${part} name=${name} />`;
    case "thinking": return html`<div class="part"><small>thinking${part.signed ? ", signed" : ""}</small>
      <${Words} part=${part} name=${name} /></div>`;
    case "call": return html`<div class="part"><small>calls <b>${plain(part.name)}</b></small><${Words} part=${part} name=${name} /></div>`;
    case "result": return html`<div class="part"><small>answers ${part.answers ? html`<b>${plain(part.answers)}</b>`
      : html`<code>${plain(part.call)}</code>`}${part.error ? html` <b class="alarm">error</b>` : ""}${part.ref
        ? html` · <a href=${to(name, "outputs", part.ref)}>output ${part.ref}</a>` : ""}</small>
      ${part.parts.map((one) => html`<${Part} part=${{ ...one, ref: part.ref }} name=${name} />`)}</div>`;
    case "image": return html`<div class="part"><small>image ${plain(part.media || "")}</small>${part.src
      ? html`<img src=${part.src} alt="An image of the conversation" />`
      : html`<pre>${plain(part.url || "It cannot be shown here.")}</pre>`}</div>`;
    case "document": return html`<div class="part"><small>document ${plain(part.name || "")} ${plain(part.media || "")}</small>
      <${Words} part=${part} name=${name} />
      </div>`;
    default: return html`<div class="part"><small>${part.type}</small><${Words} part=${part} name=${name} /></div>`;
  }
}

export const Message = ({ message, name }) =>
  html`<div class="message">${message.parts.map((part) => html`<${Part} part=${part} name=${name} />`)}${message.parts.length ? null
    : html`<p class="remark">It has no words.</p>`}</div>`;

// Where there are several tenants, every address names one: a reload, a bookmark and another tab show the same one.
export const home = (tenant = place.tenant) => (place.several ? "#/t/" + encodeURIComponent(tenant) + "/" : "#/");
export const to = (name, ...rest) => home() + "s/" + [name, ...rest].map(encodeURIComponent).join("/");

// A change is proposed first: what it does to tokens, cache and cost. Only then it is made; the answer says how it is taken back.
export function useChange(name) {
  const { propose, tenant } = useContext(Live);
  return (verb, fields, title, button, did) => propose({ tenant, name, here: to(name), verb, fields, title, button, did,
    from: document.activeElement });
}

// The button that was pressed is gone after most changes, and often what it stood in, too, as soon as the page is drawn again. Who uses
// a keyboard goes on from there: from the next of its kind, else from what is around it, until another place is chosen.
function stayNear(from) {
  const near = from?.closest("article, .card, section"), kin = [...document.querySelectorAll("main article")], at = kin.indexOf(near);
  const beside = at < 0 ? [] : [kin[at + 1], kin[at - 1]];
  const places = [near, ...beside, near?.parentElement.closest("section"), document.querySelector("main")];
  const hold = () => {
    const place = places.find((one) => one?.isConnected);
    place.tabIndex = -1;
    place.focus({ preventScroll: true });
  };
  const watch = new MutationObserver(() => document.activeElement === document.body && hold());
  const leave = (event) => {
    if (places.includes(event.target)) return;
    watch.disconnect();
    document.removeEventListener("focusin", leave);
  };
  hold();
  watch.observe(document.body, { childList: true, subtree: true });
  document.addEventListener("focusin", leave);
}

export function Proposal({ proposal, close, done }) {
  const { about } = useContext(Live);
  const box = useRef(null);
  const busy = useRef(false);
  const [told, setTold] = useState(null);
  const [error, setError] = useState("");
  const [typed, setTyped] = useState("");
  const [reason, setReason] = useState("");
  const { tenant, name, here, verb, title, button, did, from } = proposal;
  const fields = verb === "erase" ? { ...proposal.fields, reason: reason || "asked for" } : proposal.fields;
  const look = (missed = () => {}) => tell(tenant, name, verb, { ...fields, dry_run: true }).then(setTold, missed);
  useEffect(() => {
    box.current.showModal();
    look((failed) => setError(failed.message));
  }, []);
  const make = async (event) => {
    event.preventDefault();
    if (busy.current) return;
    busy.current = true;
    try {
      const more = { ...(verb === "erase" ? { sentence: typed } : {}), ...(told.stops ? { anyway: true } : {}) };
      const made = await tell(tenant, name, verb, { ...fields, ...more });
      if (box.current) {
        box.current.close();
        stayNear(from);
      }
      done({ verb, tenant, name, here, did, back: made.back, made });
    } catch (failed) { busy.current = false; setError(failed.message); look(); }
  };
  const ready = told && about.write && (verb !== "erase" || typed === told.sentence);
  return html`<dialog ref=${box} onClose=${close} aria-labelledby="proposal">
    <form onSubmit=${make}>
      <h2 id="proposal">${plain(title)}</h2>
      ${told ? html`<ul class="says">${told.says.map((line) => html`<li>${plain(line)}</li>`)}</ul>` : error ? null
        : html`<p class="wait" role="status">Looking at what it would do …</p>`}
      ${verb === "erase" && told ? html`
        <label>Why <input value=${reason} onInput=${(e) => setReason(e.target.value)} onChange=${() => look()} /></label>
        <label>Type <code>${told.sentence}</code> <input value=${typed} onInput=${(e) => setTyped(e.target.value)} /></label>` : null}
      ${error ? html`<p class="alarm" role="alert">${error}</p>` : null}
      ${about.write ? null : html`<p class="remark">You can only look here: the inspector was started without <code>--write</code>.</p>`}
      <div class="buttons"><button type="button" class="quiet" onClick=${() => box.current.close()}>Cancel</button>
      <button type="submit" class=${verb === "erase" || told?.stops ? "danger" : ""} disabled=${!ready}>${button}${told?.stops ? " anyway"
        : ""}</button></div>
    </form>
  </dialog>`;
}
