// All requests of a session as a time line; drag to any of them to see the view as it was then.
import { html, useContext, useEffect, useRef, useState } from "./vendor/htm-preact.js";
import { ask, session } from "./api.js";
import { Chart, MARKS, cacheLayers, costLayers, fillLayers, isBroken, mostCost, mostTokens, prompt, stride } from "./chart.js";
import { Live, PAGE, Picture, Wait, clock, dollars, hue, label, many, number, plain, to, useAsk } from "./parts.js";
import { Detail, Rows } from "./now.js";
import { CAUSES } from "./requests.js";

const EVENTS = {
  compacted: "The client compacted its history, and got a reference to all of it.",
  history: "The client sent another history: it compacted, or went back.",
  rewind: "The session was taken back to an earlier message.",
  forward: "The session went forward again.",
  reset: "The conversation began anew.",
  erased: "Something was erased.",
};
const MODES = [["cache", "Cache"], ["fill", "What fills the window"], ["cost", "Cost"]];
const BATCH = 8; // pictures that are asked for at once

// All requests; while a session grows, only the newest are asked for again.
function useRequests(name) {
  const { tick } = useContext(Live);
  const [state, set] = useState({ value: null, error: null, name: "" });
  const kept = useRef({ name: "", list: [], busy: false, again: false });
  const run = () => {
    const at = kept.current;
    const from = Math.max(0, at.list.length - 4);
    at.busy = true;
    at.again = false;
    ask(session(name, "requests"), { from }).then((found) => {
      at.list = [...at.list.slice(0, from), ...found];
      at.busy = false;
      if (at !== kept.current) return;
      set({ value: at.list, error: null, name });
      if (at.again) run();
    }, (error) => { at.busy = false; set({ value: null, error, name }); });
  };
  useEffect(() => {
    if (kept.current.name !== name) kept.current = { name, list: [], busy: false, again: false };
    if (kept.current.busy) kept.current.again = true;
    else run();
  }, [name, tick]);
  return state.name === name ? state : { value: null, error: null };
}

// What filled the window in some of the requests, a few at a time.
function useFills(name, count, wanted) {
  const [fills, set] = useState({});
  const known = useRef({});
  const every = stride(count);
  useEffect(() => {
    if (!wanted || !count) return undefined;
    let gone = false;
    const numbers = [];
    for (let n = 0; n < count; n += every) if (!known.current[n]) numbers.push(n);
    (async () => {
      for (let at = 0; at < numbers.length && !gone; at += BATCH) {
        const requests = numbers.slice(at, at + BATCH).join(",");
        const found = await ask(session(name, "pictures"), { requests }).catch(() => []);
        for (const one of found) known.current[one.number] = one;
        if (!gone) set({ ...known.current });
      }
    })();
    return () => { gone = true; };
  }, [name, wanted, every, Math.floor(count / every)]);
  return Object.fromEntries(Object.entries(fills).filter(([n]) => n % every === 0));
}

// What a chart shows in one of its modes: the bars, what their colours mean, and where the limit is.
function draw(mode, requests, room, fills) {
  const count = many(requests.length, "request"), most = mostTokens(requests, room);
  const says = "Tokens of " + count + ", at most " + number(Math.max(...requests.map(prompt)));
  const limit = room ? room / most : null;
  if (mode === "cost") {
    const highest = mostCost(requests);
    return { layers: costLayers(requests, highest), key: [["hue1", "Cost, at most " + dollars(highest)]], limit: null,
      says: "Cost of " + count + ", at most " + dollars(highest) };
  }
  if (mode === "fill") {
    const layers = fillLayers(requests, most, fills);
    return { layers, key: layers.map(({ kind }) => [hue(kind) + " " + kind, label(kind)]), limit, says };
  }
  const unbilled = requests.some((one) => one.cache.read === null);
  return { layers: cacheLayers(requests, most), limit, says,
    key: [["hue3", "From the cache"], ["hue1", "Not from the cache"], ...(unbilled ? [["hue0", "Not billed"]] : [])] };
}

export function TimeLine({ name, at, mode: first }) {
  const asked = useRequests(name);
  const told = useAsk(session(name));
  const [chosen, setChosen] = useState(null);
  const [row, setRow] = useState(null);
  const [mode, setMode] = useState(first || "cache");
  const requests = asked.value || [];
  const fills = useFills(name, requests.length, mode === "fill");
  const named = /^\d+$/.test(at) ? Number(at) : Infinity; // an address may say anything: it means the last one then
  const now = Math.min(requests.length - 1, chosen ?? named);
  const view = useAsk(requests.length ? session(name, "view") : null, { request: now, limit: PAGE });
  if (!asked.value || !told.value) return html`<${Wait} of=${asked.error ? asked : told} />`;
  if (!requests.length) return html`<h1>No request went out yet</h1><p class="lead">The time line begins with the first one.</p>`;
  const choose = (n) => { setChosen(n); setRow(null); };
  const room = told.value.room;
  return html`<${Head} requests=${requests} />
    <section>
      <${Modes} mode=${mode} setMode=${setMode} room=${mode === "cost" ? null : room} />
      <${Bars} requests=${requests} now=${now} choose=${choose} drawn=${draw(mode, requests, room, fills)} />
    </section>
    <section>
      <${About} name=${name} one=${requests[now]} />
      ${view.value ? html`<${Picture} picture=${view.value.picture} room=${room} tokens=${view.value.tokens} />
        <div class=${row ? "split" : ""}>
          <div><${Rows} name=${name} told=${view.value} request=${now} open=${setRow} chosen=${row} /></div>
          ${row ? html`<${Detail} key=${row + now} name=${name} id=${row} request=${now} close=${() => setRow(null)} />` : null}
        </div>` : html`<${Wait} of=${view} />`}
    </section>`;
}

function Head({ requests }) {
  const spent = requests.reduce((sum, one) => sum + (one.cost || 0), 0);
  const breaks = requests.filter(isBroken).length, refused = requests.filter((one) => one.refused).length;
  const broken = breaks ? "The provider's cache was broken " + many(breaks, "time") + ". " : "The provider's cache was never broken. ";
  const told = refused ? many(refused, "request") + (refused === 1 ? " was" : " were") + " refused as too long. " : "";
  return html`<h1>${many(requests.length, "request")}${spent ? ", " + dollars(spent) : ""}</h1>
    <p class="lead">${broken + told}Drag to any request to see what the model saw then.</p>`;
}

function Modes({ mode, setMode, room }) {
  const buttons = MODES.map(([id, title]) =>
    html`<button key=${id} class=${id === mode ? "" : "quiet"} aria-pressed=${id === mode} onClick=${() => setMode(id)}>${title}</button>`);
  return html`<div class="choose">
    <div class="buttons" role="group" aria-label="What the bars tell">${buttons}</div>
    ${room ? html`<small class="limit">┄ room for ${number(room)} tokens</small>` : null}
  </div>`;
}

function Bars({ requests, now, choose, drawn }) {
  const one = requests[now];
  const marks = MARKS.filter(({ test }) => requests.some(test));
  const next = (test) => choose([...requests.keys()].find((n) => n > now && test(requests[n])) ?? requests.findIndex(test));
  const key = [...drawn.key, ...marks.map(({ tint, title }) => [tint, title])];
  return html`
    <${Chart} requests=${requests} at=${now} choose=${choose} layers=${drawn.layers} limit=${drawn.limit} says=${drawn.says} />
    <input type="range" aria-label="Request" aria-valuetext=${"Request " + one.number + ", " + number(prompt(one)) + " tokens"}
      min="0" max=${requests.length - 1} value=${now} onInput=${(event) => choose(Number(event.target.value))} />
    <div class="legend">${key.map(([tint, title]) => html`<span key=${title} class=${tint}><i></i>${title}</span>`)}</div>
    <div class="buttons">${marks.map((each) =>
      html`<button class="quiet" onClick=${() => next(each.test)}>Go to ${each.next}</button>`)}</div>`;
}

const NAMED = 8; // so many edits are named

// One request in a few lines.
function About({ name, one }) {
  const edits = one.edits.slice(0, NAMED).map((id) => html`<a href=${to(name, "edit", id)}>${id}</a> `);
  const more = one.edits.length - edits.length;
  return html`<h2>Request ${one.number}: ${number(prompt(one))} tokens${one.cost ? ", " + dollars(one.cost) : ""}</h2>
    <div class="meta">
      <span>${clock(one.time)}</span><span>${plain(one.model)}</span>
      ${edits.length ? html`<span>edits before it: ${edits}${more > 0 ? `… and ${number(more)} more` : null}</span>` : null}
      ${isBroken(one) ? html`<span class="alarm">${CAUSES[one.cache.broken.cause]}</span>` : null}
      ${one.refused ? html`<span class="alarm">The provider said that it is too long; less was sent then.</span>` : null}
      ${one.events.map((event) => html`<span class="tag">${EVENTS[event]}</span>`)}
      <a href=${to(name, "request", one.number)}>Body, bill and cache</a>
    </div>`;
}
