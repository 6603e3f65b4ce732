// Requests: one with its exact body, cache and bill; and all of them as a time line.
import { html, useContext, useState, useRef, useEffect } from "./vendor/htm-preact.js";
import { ask, session } from "./api.js";
import { KINDS, Live, LongList, PAGE, Picture, Wait, clock, dollars, hue, label, many, number, plain, to, useAsk } from "./parts.js";
import { Rows, Detail } from "./now.js";

const CAUSES = {
  first: "It was the first request.", model: "Another model was asked.", tools: "The tools changed.", system: "The system prompt changed.",
  params: "A parameter changed that is a part of the prompt.", edit: "An edit changed an earlier row.", changed: "The client changed an earlier message.",
  path: "The conversation went on from an earlier message.", note: "A note came in between.",
    expired: "It came too late: the provider had forgotten the prompt.",
  short: "The prompt was too short to be cached.", marks: "The cache marks stand elsewhere.",
    provider: "The prompt was the same and in time, but the provider did not use its cache.",
};
const prompt = (one) => one.cache.prompt;

export function Request({ name, at }) {
  const asked = useAsk(session(name, "requests/" + at), { limit: 1 });
  if (!asked.value) return html`<${Wait} of=${asked} />`;
  const one = asked.value;
  const use = one.cache;
  const all = Math.max(1, use.prompt);
  const read = use.read ?? 0;
  const fetchLines = (offset, limit) => ask(session(name, "requests/" + at), { offset, limit }).then((found) => found.lines);
  return html`<h1>Request ${one.number} of ${plain(name)}</h1>
    <p class="lead">${[plain(one.model), clock(one.time)].filter(Boolean).join(" · ")}. ${one.exact
      ? html`<span class="good">This is exactly the body that went out.</span>`
        : "The body is written again from the log; the one that went out may differ in details."}</p>
    <div class="buttons">${one.number > 0 ? html`<a class="button quiet" href=${to(name, "request", one.number - 1)}>← Request ${one.number - 1}</a>`
      : null}${one.number < one.requests - 1 ? html`<a class="button quiet" href=${to(name, "request", one.number + 1)}>Request ${one.number + 1} →</a>`
        : null}<a class="button quiet" href=${to(name, "time", one.number)}>On the time line</a></div>
    <section><h2>Bill and cache</h2>
      <div class="prompt" role="img" aria-label=${number(read) + " tokens from the cache, " + number(use.again) + " sent again, of "
        + number(all)}><span class="hue3" style=${{ width: (read / all) * 100 + "%" }}></span>
          <span class="red" style=${{ width: (Math.min(use.again, all - read) / all) * 100 + "%" }}></span></div>
      <div class="legend"><span class="hue3"><i></i>From the cache <b>${use.read === null ? "not billed"
        : number(read)}</b></span><span class="red"><i></i>Sent before, not from the cache <b>${number(use.again)}</b></span>
          <span class="free"><i></i>Whole prompt <b>${number(use.prompt)}</b></span></div>
      <p><b>Where did the cached beginning end, and why?</b> ${use.broken
        ? html`${CAUSES[use.broken.cause]} ${use.broken.where && /^e\d+$/.test(use.broken.where)
          ? html`<a href=${to(name, "edit", use.broken.where)}>Edit ${use.broken.where}</a>. ` : use.broken.where
            ? html`<code>${use.broken.where.slice(0, 24)}</code> ` : ""}${use.broken.what || ""}${use.cost ? " It cost " + dollars(use.cost) + "." : ""}`
              : "All that was sent before could come from the cache: " + number(use.could) + " tokens."}</p>
      <dl class="figures"><div><dt>Estimate</dt><dd>${number(one.tokens)}</dd></div><div><dt>Billed</dt><dd>${one.usage ? number(use.prompt)
        : "no bill"}</dd></div><div><dt>Estimate off by</dt><dd>${one.usage ? ((one.tokens / all - 1) * 100).toFixed(1) + " %"
          : "–"}</dd></div><div><dt>Reply</dt><dd>${one.usage ? number(one.usage.output || 0)
            : "–"}</dd></div><div><dt>Cost</dt><dd>${dollars(one.cost)}</dd></div><div><dt>Answered after</dt><dd>${one.seconds === null ? "–"
              : one.seconds < 60 ? one.seconds.toFixed(1) + " s" : Math.round(one.seconds / 60) + " min"}</dd></div></dl>
    </section>
    ${one.diff ? html`<section><h2>Compared with request ${one.number - 1}: ${number(one.diff.before)} → ${number(one.diff.after)} tokens</h2>
      ${[["came", "New here"], ["gone", "No longer here"], ["changed", "Changed"]].map(([key, title]) => one.diff[key].length
        ? html`<h3>${title}: ${one.diff[key].length}</h3>${one.diff[key].slice(0, 12).map((id) => { const row = one.diff.rows[id];
          return html`<div class="meta" key=${id}><span class="chip ${hue(row?.kind)}"><i></i>${label(row?.kind)}</span>
            <span>${number(row?.tokens)} tokens</span><span class="quote" dir="auto">${plain(row?.text || id).slice(0, 140)}</span></div>`; })}` : null)}
      ${one.diff.came.length + one.diff.gone.length + one.diff.changed.length ? null : html`<p class="remark">The same rows.</p>`}
      ${one.edits_before.length ? html`<p>Edits made in between: ${one.edits_before.map((edit) => html`<a href=${to(name, "edit", edit.id)}>${edit.id}
        </a> `)}</p>` : null}
    </section>` : null}
    <section class="lines"><h2>The body, ${many(one.total, "line")}</h2><p class="remark">${one.same ? number(one.same)
      + " lines at the beginning are those of the request before, and can be read from the cache; they are dimmed." : ""}</p>
      <${LongList} name="The body that was sent" total=${one.total} high=${20} mark=${at + ":"
        + one.version} fetchPage=${fetchLines} row=${(line, n) => html`<div class="line ${n < one.same ? "same" : n && n === one.same ? "edge" : ""}"><b>${n
          + 1}</b><span>${plain(line)}</span></div>`} />
    </section>`;
}

const WIDTH = 1000, HEIGHT = 200, FOOT = 36, TOP = 12, FLOOR = HEIGHT - FOOT;
const read = (one) => one.cache.read || 0;
const highest = (requests, room) => Math.max(1, room || 0, ...requests.map(prompt));
const box = (x, from, to, w) => "M" + x.toFixed(2) + " " + (FLOOR - from).toFixed(1) + "V" + (FLOOR - Math.max(from, to)).toFixed(1) + "h" + w.toFixed(2)
  + "V" + (FLOOR - from).toFixed(1) + "z";

// What of each prompt came from the cache. Thousands of requests are a few paths, so that dragging stays smooth.
function cacheLayers(requests, room) {
  const most = highest(requests, room), step = WIDTH / requests.length, w = Math.max(0.4, step * 0.86);
  const tall = (n) => (FLOOR - TOP) * (n / most);
  const bars = (test, from, to) => requests.map((one, n) => (test(one) ? box(n * step, tall(from(one)), tall(to(one)), w) : "")).join("");
  return [["guess", bars((one) => one.cache.read === null, () => 0, prompt)], ["fresh", bars((one) => one.cache.read !== null, read, prompt)],
    ["cached", bars((one) => read(one) > 0, () => 0, read)]];
}

// What filled the window over time, by kind of row: some requests stand for those beside them.
function fillLayers(requests, room, fills) {
  const most = highest(requests, room), step = WIDTH / requests.length, wide = step * stride(requests.length) * 0.9;
  const paths = {};
  for (const { number: n, picture } of Object.values(fills)) {
    let at = 0;
    for (const kind of Object.keys(KINDS)) {
      if (!picture[kind]) continue;
      paths[kind] = (paths[kind] || "") + box(n * step, (FLOOR - TOP) * (at / most), (FLOOR - TOP) * ((at + picture[kind]) / most), wide);
      at += picture[kind];
    }
  }
  return Object.entries(paths).map(([kind, d]) => ["filled " + hue(kind), d, kind]);
}

const SAMPLES = 80, BATCH = 8;
const stride = (count) => Math.max(1, Math.ceil(count / SAMPLES));
function useFills(name, count, wanted) {
  const [fills, set] = useState({});
  const known = useRef({});
  useEffect(() => {
    if (!wanted || !count) return undefined;
    let gone = false;
    const numbers = [];
    for (let n = 0; n < count; n += stride(count)) if (!known.current[n]) numbers.push(n);
    (async () => {
      for (let at = 0; at < numbers.length && !gone; at += BATCH) {
        const found = await ask(session(name, "pictures"), { requests: numbers.slice(at, at + BATCH).join(",") }).catch(() => []);
        for (const one of found) known.current[one.number] = one;
        if (!gone) set({ ...known.current });
      }
    })();
    return () => { gone = true; };
  }, [name, wanted, stride(count), Math.floor(count / stride(count))]);
  return Object.fromEntries(Object.entries(fills).filter(([n]) => n % stride(count) === 0));
}

function Chart({ requests, room, at, choose, layers, says }) {
  const step = WIDTH / requests.length, w = Math.max(2, step * 0.86);
  const marks = (row, test) => requests.map((one, n) => (test(one) ? "M" + (n * step).toFixed(2) + " " + (FLOOR + 4 + row * 8) + "h" + w.toFixed(2) + "v6h"
    + (-w).toFixed(2) + "z" : "")).join("");
  const pick = (event) => {
    const area = event.currentTarget.getBoundingClientRect();
    choose(Math.max(0, Math.min(requests.length - 1, Math.floor(((event.clientX - area.left) / area.width) * requests.length))));
  };
  return html`<svg class="chart" viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label=${says}
    onPointerDown=${(e) => { e.currentTarget.setPointerCapture(e.pointerId); pick(e); }} onPointerMove=${(e) => e.buttons && pick(e)}>
    ${room ? html`<path class="limit" d="M0 ${FLOOR - (FLOOR - TOP) * (room / highest(requests, room))}H${WIDTH}" vector-effect="non-scaling-stroke" />`
      : null}
    ${layers.map(([kind, d]) => html`<path key=${kind} class=${kind} d=${d} />`)}
    <path class="edit" d=${marks(0, (one) => one.edits.length)} /><path class="broken" d=${marks(1, isBroken)} />
    <path class="refused" d=${marks(2, (one) => one.refused)} /><path class="event" d=${marks(3, (one) => one.events.length)} />
    <rect class="now" x=${at * step} width=${step} y=${TOP - 6} height=${HEIGHT - TOP + 4} vector-effect="non-scaling-stroke" />
  </svg>`;
}

const EVENTS = {
  compacted: "The client compacted its history, and got a reference to all of it.", history: "The client sent another history: it compacted, or went back.",
  rewind: "The session was taken back to an earlier message.", forward: "The session went forward again.", reset: "The conversation began anew.",
    erased: "Something was erased.",
};
const isBroken = (one) => Boolean(one.cache.broken && !["first", "short"].includes(one.cache.broken.cause));

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

export function TimeLine({ name, at }) {
  const asked = useRequests(name);
  const told = useAsk(session(name));
  const [chosen, setChosen] = useState(null);
  const [row, setRow] = useState(null);
  const [filled, setFilled] = useState(false);
  const requests = asked.value || [];
  const fills = useFills(name, requests.length, filled);
  const now = Math.min(requests.length - 1, at === undefined || at === "" ? (chosen ?? requests.length - 1) : chosen ?? Number(at));
  const view = useAsk(requests.length ? session(name, "view") : null, { request: now, limit: PAGE });
  if (!asked.value || !told.value) return html`<${Wait} of=${asked.error ? asked : told} />`;
  if (!requests.length) return html`<h1>No request went out yet</h1><p class="lead">The time line begins with the first one.</p>`;
  const one = requests[now];
  const choose = (n) => { setChosen(n); setRow(null); };
  const spent = requests.reduce((sum, each) => sum + (each.cost || 0), 0);
  const breaks = requests.filter(isBroken), refused = requests.filter((each) => each.refused).length;
  const jump = [["the next edit", (each) => each.edits.length], ["the next cache break", isBroken], ["the next refusal", (each) => each.refused],
    ["the next event", (each) => each.events.length]].filter(([, test]) => requests.some(test));
  const next = (test) => choose([...requests.keys()].find((n) => n > now && test(requests[n])) ?? requests.findIndex(test));
  const room = told.value.room;
  const layers = filled ? fillLayers(requests, room, fills) : cacheLayers(requests, room);
  const says = "Tokens of " + many(requests.length, "request") + ", at most " + number(Math.max(...requests.map(prompt)));
  const key = filled ? layers.map(([, , kind]) => [hue(kind), label(kind)])
    : [["hue3", "From the cache"], ["hue1", "Not from the cache"], ...(requests.some((each) => each.cache.read === null) ? [["hue0", "Not billed"]] : [])];
  const below = [["hue4", "Edits were made", (each) => each.edits.length], ["red", "The cache was broken", isBroken],
    ["hue2", "Refused as too long", (each) => each.refused], ["hue5", "Something else happened",
      (each) => each.events.length]].filter(([, , test]) => requests.some(test));
  return html`<h1>${many(requests.length, "request")}${spent ? ", " + dollars(spent) : ""}</h1>
    <p class="lead">${breaks.length ? "The provider's cache was broken " + many(breaks.length, "time") + ". " : "The provider's cache was never broken. "}
      ${refused ? many(refused, "request") + (refused === 1 ? " was" : " were") + " refused as too long. "
        : ""}Drag to any request to see what the model saw then.</p>
    <section><div class="choose"><div class="buttons" role="group" aria-label="What the bars tell">${[[false, "Cache"],
      [true, "What fills the window"]].map(([id, title]) => html`<button class=${id === filled ? ""
        : "quiet"} aria-pressed=${id === filled} onClick=${() => setFilled(id)}>${title}</button>`)}</div>${room
          ? html`<small class="limit">┄ room for ${number(room)} tokens</small>` : null}</div>
      <${Chart} requests=${requests} room=${room} at=${now} choose=${choose} layers=${layers} says=${says} />
      <input type="range" aria-label="Request" aria-valuetext=${"Request " + one.number + ", " + number(prompt(one))
        + " tokens"} min="0" max=${requests.length - 1} value=${now} onInput=${(e) => choose(Number(e.target.value))} />
      <div class="legend">${[...key, ...below].map(([tint, title]) => html`<span key=${title} class=${tint}><i></i>${title}</span>`)}</div>
      <div class="buttons">${jump.map(([title, test]) => html`<button class="quiet" onClick=${() => next(test)}>Go to ${title}</button>`)}</div>
    </section>
    <section><h2>Request ${one.number}: ${number(prompt(one))} tokens${one.cost ? ", " + dollars(one.cost) : ""}</h2>
      <div class="meta"><span>${clock(one.time)}</span><span>${plain(one.model)}</span>${one.edits.length
        ? html`<span>edits before it: ${one.edits.slice(0, 8).map((id) => html`<a href=${to(name, "edit", id)}>${id}</a> `)}</span>` : null}${isBroken(one)
          ? html`<span class="alarm">${CAUSES[one.cache.broken.cause]}</span>` : null}${one.refused
            ? html`<span class="alarm">The provider said that it is too long; less was sent then.</span>`
              : null}${one.events.map((event) => html`<span class="tag">${EVENTS[event]}</span>`)}<a href=${to(name, "request",
                one.number)}>Body, bill and cache</a></div>
      ${view.value ? html`<${Picture} picture=${view.value.picture} room=${told.value.room} tokens=${view.value.tokens} />
      <div class=${row ? "split" : ""}><div><${Rows} name=${name} told=${view.value} request=${now} open=${setRow} chosen=${row} /></div>${row
        ? html`<${Detail} key=${row + now} name=${name} id=${row} request=${now} close=${() => setRow(null)} />` : null}</div>`
          : html`<${Wait} of=${view} />`}
    </section>`;
}
