// All sessions of a tenant: how full each window is, what it cost, and who came from whom. And a search over everything.
import { html, useState } from "./vendor/htm-preact.js";
import { Bar, Marked, Wait, ago, dollars, many, number, percent, plain, to, useAsk } from "./parts.js";

const STEP = 100;

function inOrder(sessions) {
  const children = new Map(sessions.map((one) => [one.name, []])); // a Map: a session may be called "constructor"
  const seen = new Set(), found = [];
  for (const one of sessions) if (one.parent) children.get(one.parent)?.push(one);
  const visit = (one, depth) => {
    if (seen.has(one.name)) return;
    seen.add(one.name);
    found.push({ one, depth });
    for (const child of children.get(one.name)) visit(child, depth + 1);
  };
  for (const one of sessions) if (!children.has(one.parent)) visit(one, 0);
  for (const one of sessions) visit(one, 0);
  return found;
}

const tone = (fill) => (fill > 0.85 ? "hue5" : fill > 0.6 ? "hue2" : "hue3");

const WITHOUT = "What it would have cost, about, to send everything each time, with the client's own cache marks and a cache "
  + "that never misses";
const tooLong = (over) => (over ? "; " + many(over, "request") + " would not have fitted" : "");
function Cost({ one }) {
  return html`${dollars(one.cost)}${one.unmanaged && one.cost !== null
    ? html`<br /><small title=${WITHOUT}>at least ${dollars(one.unmanaged)} without fanfold${tooLong(one.over)}</small>` : null}`;
}

export function Sessions() {
  const asked = useAsk("sessions");
  const [words, setWords] = useState("");
  const [sought, setSought] = useState("");
  const every = useAsk(sought ? "search" : null, { words: sought }); // again with every change: what is erased goes
  const found = sought ? (every.error ? { error: every.error.message } : every.value || { wait: true }) : null;
  const [most, setMost] = useState(STEP);
  if (!asked.value) return html`<${Wait} of=${asked} />`;
  const sessions = asked.value;
  const told = (one) => [one.name, one.client, one.model].join(" ").toLowerCase().includes(words.toLowerCase());
  const rows = words ? sessions.filter(told).map((one) => ({ one, depth: 0 })) : inOrder(sessions);
  const total = (key) => sessions.reduce((sum, one) => sum + (one.unmanaged && one.cost ? one[key] : 0), 0);
  const cost = sessions.reduce((sum, one) => sum + (one.cost || 0), 0);
  const search = (event) => {
    event.preventDefault();
    setSought(words);
  };
  const unmanaged = total("unmanaged") ? "; at least " + dollars(total("unmanaged"))
    + " if everything had been sent each time, with a cache that never misses" + tooLong(total("over")) : "";
  const find = (event) => { setWords(event.target.value); setSought(""); };
  return html`<h1>${many(sessions.length, "session")}</h1>
    <p class="lead">${cost ? dollars(cost) + " billed in all, at list prices" + unmanaged + "." : ""}
      ${" "}Choose one to see what is in its window, and why.</p>
    <section>
      <form class="search" role="search" onSubmit=${search}><input type="search"
        aria-label="Find a session by name, client or model; Enter searches everything that was said"
        placeholder="Find a session, or press Enter to search everything that was ever said" value=${words} onInput=${find}
      /><button class="quiet" disabled=${!words}>Search everything</button></form>
      ${found ? html`<${Everywhere} found=${found} words=${words} />` : rows.length ? html`<${Table} rows=${rows.slice(0, most)} />`
        : html`<p class="remark">${sessions.length ? "No session has that name. Press Enter to search everything that was said."
          : "There are no sessions here yet. This page shows them as soon as something is written to the store."}</p>`}
      ${!found && rows.length > most ? html`<div class="buttons">
        <button class="quiet" onClick=${() => setMost(rows.length)}>Show all ${number(rows.length)}</button></div>` : null}
    </section>`;
}

const COLUMNS = [
  ["Session", ""], ["Window", ""], ["Messages", "n less"], ["Requests", "n less"], ["Edits made", "n less"], ["From cache", "n less"],
  ["Cost", "n"], ["Last seen", "less"],
];

const Table = ({ rows }) => html`<div class="wide"><table class="list sessions">
  <thead><tr>${COLUMNS.map(([title, tone]) => html`<th scope="col" class=${tone}>${title}</th>`)}</tr></thead>
  <tbody>${rows.map(({ one, depth }) => html`<${Line} key=${one.name} one=${one} depth=${depth} />`)}</tbody></table></div>`;

function Line({ one, depth }) {
  const about = [depth || one.parent ? "from " + one.parent : "", one.client, one.model].filter(Boolean).map(plain).join(" · ");
  const fill = !one.tokens ? "no request yet" : one.room ? percent(one.fill) + " of " + number(one.room) : number(one.tokens) + " tokens";
  const counts = [number(one.messages), number(one.requests), number(one.edits), one.prompt ? percent(one.cached_share) : "–"];
  return html`<tr>
    <td class=${"depth" + Math.min(depth, 4)}>${depth ? html`<span class="branch" aria-hidden="true">└ </span>` : null}
      <a href=${to(one.name, "now")}><b>${plain(one.name)}</b></a><br /><small>${about || "no model yet"}</small></td>
    <td class="fill" title="What the model would see now, as a share of the room for it">
      <${Bar} share=${one.fill} kind=${tone(one.fill)} /><small>${fill}</small></td>
    ${counts.map((text) => html`<td class="n less">${text}</td>`)}
    <td class="n"><${Cost} one=${one} /></td><td class="less">${ago(one.seen)}</td>
  </tr>`;
}

const SAID = { message: "said", replaced: "changed later", edit: "in an edit", system: "in the system prompt",
  context: "in the context of one request",
  output: "in an output", name: "the session's name", labels: "in its labels" };

function place(hit) {
  if (hit.ref) return to(hit.session, "outputs", hit.ref);
  if (hit.kind === "context") return to(hit.session, "request", hit.entry);
  if (hit.edit) return to(hit.session, "edit", hit.edit);
  return hit.entry && !["system", "labels"].includes(hit.kind) ? to(hit.session, "message", hit.entry) : to(hit.session, "now");
}

function Everywhere({ found, words }) {
  if (found.wait) return html`<p class="wait" role="status">Searching everything …</p>`;
  if (found.error) return html`<p class="alarm" role="alert">${found.error}</p>`;
  const hits = found.hits;
  return html`<p class="remark" role="status">${hits.length ? many(hits.length, "place") + (found.more ? " and more" : "")
    + " found, hidden things included." : "Nothing was found."}${found.stopped ? " " + plain(found.stopped)
      + " What comes after it was not looked through." : ""}</p>
    ${hits.map((hit) => html`<${Hit} hit=${hit} words=${words} />`)}`;
}

function Hit({ hit, words }) {
  const said = [hit.role, SAID[hit.kind] || hit.kind].filter(Boolean).join(", ");
  return html`<div class="card">
    <div><div class="meta"><a href=${place(hit)}><b>${plain(hit.session)}</b></a><span>${said}</span>
      ${hit.ref ? html`<code>${hit.ref}</code>` : null}</div>
      <p class="quote" dir="auto"><${Marked} text=${hit.text} words=${words} /></p></div>
    <div class="buttons"><a class="button quiet" href=${place(hit)} aria-label=${"Look at it in " + hit.session}>Look</a></div></div>`;
}
