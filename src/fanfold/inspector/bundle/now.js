// Now: the view row by row, what fills the window, the frame, pins and notes.
import { html, useState, useEffect } from "./vendor/htm-preact.js";
import { ask, download, exportAddress, session } from "./api.js";
import { buttonsFor } from "./hidden.js";
import { Bar, Chip, LongList, PAGE, Marked, Message, Picture, Wait, hue, label, many, number, percent, dollars, plain, to, useAsk,
  useChange } from "./parts.js";

// What the model did, or what this answers.
const Done = ({ of }) => (of ? html`<span class="done">${plain(of)}</span> ` : null);

function Row({ row, largest, open }) {
  const done = row.answers.join(", ") || (row.calls.length ? "→ " + row.calls.join(", ") : "");
  const words = plain(row.text);
  const tags = [row.pinned && "pinned", row.elided && "shortened", row.fresh && "new", row.brought_back && "brought back"];
  const marks = tags.filter(Boolean).map((tag) => html`<span class="tag ${tag}">${tag}</span> `);
  const did = html`<${Done} of=${done} />`;
  const said = row.calls.length ? html`${words} ${did}` : html`${did}${words}`;
  return html`<button class="row ${hue(row.kind)}" onClick=${open} title=${row.because}>
    <${Chip} kind=${row.kind} />
    <span class="two">
      <span class="text" dir="auto">${marks}${said}${words || done ? null : "(no words)"}</span>
      <span class="why">${row.because}</span>
    </span>
    <span class="size">${number(row.tokens)}<${Bar} share=${row.tokens / Math.max(1, largest)} kind=${hue(row.kind)}
      title=${number(row.tokens) + " tokens"} /></span>
  </button>`;
}

export function Rows({ name, told, request, open, chosen, goal }) {
  const query = request === undefined ? {} : { request };
  // The first rows came with what is told of the view; what lies further down is asked for when it is needed.
  const fetchPage = (offset, limit) => (offset ? ask(session(name, "view"), { ...query, offset, limit }).then((found) => found.rows)
    : Promise.resolve(told.rows));
  const mark = [told.tip, told.version, told.tokens, request].join(":");
  return html`<${LongList} key=${name} name=${"Rows of the view"} total=${told.total} high=${58} mark=${mark} fetchPage=${fetchPage}
    chosen=${(row) => row.id === chosen} goal=${goal}
    empty="Nothing was said yet." row=${(row) => html`<${Row} row=${row} largest=${told.largest} open=${() => open(row.id)} />`} />`;
}

export function Now({ name, chosen, wanted }) {
  const asked = useAsk(session(name));
  const view = useAsk(session(name, "view"), { limit: PAGE });
  const [words, setWords] = useState(wanted || "");
  const [sought, setSought] = useState(wanted || "");
  const [goal, setGoal] = useState(null);
  const change = useChange(name);
  const found = useAsk(sought ? session(name, "search") : null, { words: sought }); // again with every change: what is erased goes
  const hits = found.error ? { error: found.error.message } : found.value;
  const search = (event) => { event.preventDefault(); setSought(words); };
  useEffect(() => { if (chosen) setSought(""); else setGoal(null); }, [chosen]);
  if (!asked.value || !view.value) return html`<${Wait} of=${asked.error ? asked : view} />`;
  const told = asked.value;
  const open = (id) => { location.hash = to(name, "now", id); };
  const close = () => { location.hash = to(name, "now"); };
  return html`<${Head} name=${name} told=${told} tokens=${view.value.tokens} change=${change} />
    <section><header class="apart"><h2>What fills the window</h2>
      ${told.stats.requests ? html`<a href=${to(name, "time", "", "fill")}>Over time</a>` : null}</header>
      <${Picture} picture=${told.picture} room=${told.room} tokens=${view.value.tokens} />
      <${Figures} told=${told} />
    </section>
    <div class=${chosen ? "split" : ""}>
      <section><h2>What the model sees, row by row</h2>
        <form class="search" onSubmit=${search} role="search">
          <input type="search" aria-label=${SEARCH} placeholder=${SEARCH} value=${words}
            onInput=${(e) => { setWords(e.target.value); setSought(""); }} /><button class="quiet">Search</button></form>
        ${hits ? html`<${Hits} hits=${hits} name=${name} words=${words} />`
          : html`<${Rows} name=${name} told=${view.value} open=${open} chosen=${chosen} goal=${goal} />`}
      </section>
      ${chosen ? html`<${Detail} key=${chosen} name=${name} id=${chosen} client=${told.client} found=${setGoal} close=${close} />` : null}
    </div>
    <div class="halves">
      <${Kept} name=${name} told=${told} change=${change} />
      <section><${Frame} name=${name} frame=${told.frame} change=${change} /><${Whole} name=${name} change=${change} /></section>
    </div>`;
}

const SEARCH = "Search this conversation, hidden things included";

function Head({ name, told, tokens, change }) {
  const next = told.pressure.due ? html`<b>The next request is reduced first.</b> ` : "The next request is sent as it is. ";
  const hide = many(told.hidden, "edit") + " hide" + (told.hidden === 1 ? "s" : "") + " something.";
  const hidden = told.hidden ? html`<a href=${to(name, "hidden")}>${hide}</a>` : "Nothing is hidden.";
  const forward = () => change("forward", {}, "Go forward to where you were", "Go forward", "Went forward again");
  return html`<h1>${number(tokens)}${told.room ? html` of ${number(told.room)}` : ""} tokens are in the window</h1>
    <p class="lead">${next}${hidden}</p>
    ${told.ahead && !told.client
      ? html`<div class="buttons"><button class="quiet" onClick=${forward}>Go forward again …</button></div>` : null}`;
}

function Figures({ told }) {
  const { stats, pressure, room, unmanaged, cost } = told;
  const failed = told.over ? "; " + many(told.over, "request") + " would not have fitted" : "";
  const title = "To send everything each time, with the client's own cache marks and a cache that never misses";
  const without = unmanaged && cost
    ? html`<small title=${title}>at least ${dollars(unmanaged)} without fanfold${failed}</small>` : null;
  const figures = [
    ["Full", percent(room ? pressure.tokens / room : null)], ["Reduces at", room ? number(pressure.trigger) : "–"],
    ["Messages", number(stats.messages)], ["Requests", number(stats.requests)],
    ["From cache", stats.billed_tokens ? percent(stats.cached_tokens / stats.billed_tokens) : "–"],
    ["Cost so far", html`${dollars(cost)}${without}`],
  ];
  return html`<dl class="figures">${figures.map(([title, value]) =>
    html`<div key=${title}><dt>${title}</dt><dd>${value}</dd></div>`)}</dl>`;
}

function Kept({ name, told, change }) {
  const begin = (pin) => (pin.text || pin.says || "this message").slice(0, 60);
  const unpin = (pin) => change("unpin", { what: pin.id }, "Unpin “" + begin(pin) + "”", "Unpin", "Unpinned");
  const remove = (note) => change("undo", { edit: note.id }, "Remove the note " + note.name, "Remove it", "Removed the note " + note.name);
  return html`<section><h2>Pins and notes</h2>
    ${told.pins.map((pin) => html`<div class="card" key=${pin.id}><p dir="auto">${pin.text ? plain(pin.text)
      : html`<a href=${to(name, "now", pin.entry)}>${plain(pin.says) || pin.entry.slice(0, 8)}</a>`}</p>
        <div class="buttons"><button class="quiet" onClick=${() => unpin(pin)}>Unpin</button></div></div>`)}
    ${told.notes.map((note) => html`<div class="card" key=${note.id}><p dir="auto"><b>${plain(note.name)}</b>: ${plain(note.text)}</p>
      <div class="buttons"><button class="quiet" onClick=${() => remove(note)}>Remove</button></div></div>`)}
    ${told.pins.length + told.notes.length ? null : html`<p class="remark">Nothing is pinned, and there are no notes.</p>`}
    <${NoteForm} change=${change} />
  </section>`;
}

const NAMED = 6; // tools that are named before they are opened

function Frame({ name, frame, change }) {
  const { tokens, messages, tools } = frame;
  const erase = () => change("erase", { entry: "system" }, "Destroy all system prompts of this session for good", "Destroy them",
    "Destroyed");
  const names = tools.slice(0, NAMED).map((one) => plain(one.name)).join(", ") + (tools.length > NAMED ? " …" : "");
  return html`<h2>System prompt and tools</h2><p class="remark">${number(tokens)} tokens, at the beginning of every request.</p>
    ${messages.map((message) => html`<details><summary>System prompt</summary><${Message} message=${message} name=${name} /></details>`)}
    ${messages.length ? html`<div class="buttons"><button class="quiet" onClick=${erase}>Erase the system prompt …</button></div>` : null}
    ${tools.length ? html`<details><summary>${many(tools.length, "tool")}: ${names}</summary>
      ${tools.map((one) => html`<h3>${plain(one.name)}</h3><pre tabindex="0">${plain(one.text)}</pre>`)}</details>` : null}`;
}

const Whole = ({ name, change }) => html`<h2 class="after">The session as a whole</h2>
  <p class="remark">An export is one file with everything that was ever said, hidden or not. It changes nothing and costs nothing.</p>
  <div class="buttons"><a class="button quiet" href=${exportAddress(name)} download onClick=${download}>Export the session</a></div>
  <${ForkForm} name=${name} change=${change} />`;

const apart = (hit) => hit.hidden_by || hit.earlier || hit.elsewhere;

function Hits({ hits, name, words }) {
  if (hits.error) return html`<p class="alarm" role="alert">${hits.error}</p>`;
  return html`<p class="remark" role="status">${hits.length ? many(hits.length, "message") + " found" : "Nothing was found."}</p>
    ${hits.map((hit) => html`<${Hit} hit=${hit} name=${name} words=${words} />`)}`;
}

function Hit({ hit, name, words }) {
  const where = hit.hidden_by ? "hidden by " + hit.hidden_by : hit.elsewhere ? "on another path"
    : hit.earlier ? "changed later" : "in view";
  const [screen, title] = apart(hit) ? ["message", "See why"] : ["now", "Show"];
  const off = hit.hidden_by || hit.elsewhere;
  return html`<div class="card ${off ? "off" : ""}">
    <div><div class="meta"><${Chip} kind=${hit.kind} /><span class=${off ? "tag" : "tag on"}>${where}</span></div>
      <p class="quote" dir="auto"><${Marked} text=${hit.text} words=${words} /></p></div>
    <div class="buttons"><a class="button quiet" href=${to(name, screen, hit.entry)}>${title}</a></div>
  </div>`;
}

function ForkForm({ name, change }) {
  const [made, setMade] = useState(name + "-2");
  const [fresh, setFresh] = useState(false);
  const fork = (event) => {
    event.preventDefault();
    change("fork", { name: made, fresh }, "Fork " + name + " as " + made, "Fork", "This is the fork: " + made);
  };
  return html`<details><summary>Fork the session</summary><form onSubmit=${fork}>
    <label>Name of the new session <input value=${made} onInput=${(e) => setMade(e.target.value)} /></label>
    <label class="check"><input type="checkbox" checked=${fresh} onChange=${(e) => setFresh(e.target.checked)} />
      ${" "}Show everything: without the edits</label>
    <div class="buttons"><button class="quiet" disabled=${!made}>Fork it …</button></div></form></details>`;
}

// One message as it was recorded: whether the model sees it, why not, and the way back.
export function Recorded({ name, id }) {
  const asked = useAsk(session(name, "entries/" + encodeURIComponent(id)));
  const change = useChange(name);
  if (!asked.value) return html`<${Wait} of=${asked} />`;
  const { message, tokens, earlier, instead } = asked.value;
  return html`<${Fate} name=${name} told=${asked.value} />
    <${Ways} name=${name} id=${id} told=${asked.value} change=${change} />
    ${instead ? html`<section><h2>${instead.says}</h2>
      ${instead.texts.map((text) => html`<pre dir="auto" tabindex="0">${plain(text)}</pre>`)}</section>` : null}
    ${earlier.map((one) => html`<section><h2>What it said before the client changed it</h2>
      <${Message} message=${one} name=${name} /></section>`)}
    <section><h2>${earlier.length ? "As the client sent it last" : "As it was recorded"}</h2>
      <div class="meta"><span>${label(message.role)}</span><span>${number(tokens)} tokens</span><code>${id.slice(0, 12)}</code></div>
      <${Message} message=${message} name=${name} /></section>`;
}

// Whether the model sees a message, and if not, why.
function Fate({ name, told }) {
  const { hidden_by: edit, on_path: here, brought_back_from: undone, says } = told;
  const title = edit && told.why.visible ? "The model sees this message shortened" : edit ? "The model does not see this message"
    : here ? "The model sees this message" : "This message is on another path";
  const link = edit ? html`<a href=${to(name, "edit", edit)}>Look at edit ${edit}</a>`
    : here && undone.length ? html`<a href=${to(name, "edit", undone[0].id)}>Look at edit ${undone[0].id}, which hid it</a>` : null;
  return html`<h1>${title}</h1><p class="lead">${says} ${link}</p>`;
}

// What can be done with a message.
function Ways({ name, id, told, change }) {
  const { back, hidden_by: edit, hidden_with: count, on_path: here, brought_back_from: undone, forward } = told;
  const bring = () => change("undo", back, "Bring this message back", "Bring it back", "Brought back: 1 message");
  const bringAll = () => change("undo", { edit }, "Bring back what " + edit + " hides", "Bring them back",
    "Brought back: " + many(count, "message"));
  const go = () => change("forward", { to: forward }, "Go forward to where this message is", "Go forward", "Went forward");
  const pin = () => change("pin", { what: id }, "Pin this message", "Pin it", "Pinned");
  const erase = () => change("erase", { entry: id }, "Destroy this message for good", "Destroy it", "Destroyed");
  const first = edit ? html`<button onClick=${bring}>Bring it back …</button>`
    : here ? html`<a class="button quiet" href=${to(name, "now", id)}>Show it in the window</a>`
      : forward ? html`<button onClick=${go}>Go forward to it …</button>` : null;
  return html`<div class="buttons">${first}
    ${edit && count > 1 ? html`<button class="quiet" onClick=${bringAll}>Bring back all ${number(count)} …</button>` : null}
    ${here && !edit && undone.length ? buttonsFor(undone[0], change) : null}
    ${here && !edit ? html`<button class="quiet" onClick=${pin}>Pin …</button>` : null}
    <button class="quiet" onClick=${erase}>Erase …</button></div>`;
}

function NoteForm({ change }) {
  const [label, setLabel] = useState("");
  const [text, setText] = useState("");
  const add = (event) => {
    event.preventDefault();
    change("note", { name: label, text }, "Add the note " + label, "Add the note", "Added the note " + label);
  };
  const pin = () => change("pin", { what: text }, "Pin this line", "Pin it", "Pinned");
  return html`<details><summary>Add a note or pin a line</summary><form onSubmit=${add}>
    <label>Name of the note <input value=${label} onInput=${(e) => setLabel(e.target.value)} /></label>
    <label>Text <textarea rows="2" value=${text} onInput=${(e) => setText(e.target.value)}></textarea></label>
    <div class="buttons"><button class="quiet" disabled=${!label || !text}>Add the note …</button>
    <button type="button" class="quiet" disabled=${!text} onClick=${pin}>Pin the text …</button></div></form></details>`;
}

export function Detail({ name, id, client, request, found, close }) {
  const asked = useAsk(session(name, "rows/" + encodeURIComponent(id)), request === undefined ? {} : { request });
  const change = useChange(name);
  useEffect(() => {
    const press = (event) => event.key === "Escape" && !document.querySelector("dialog[open]") && close();
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, []);
  const row = asked.value;
  const at = row && !row.gone ? row.at : null;
  useEffect(() => { if (at !== null) found?.(at); }, [at === null]);
  const now = request === undefined;
  return html`<section class="panel" aria-label="The row">
    <header><h2>${row?.kind ? label(row.kind) : "Row"}</h2>
      <button class="quiet" onClick=${close} aria-label="Close the row">✕</button></header>
    ${!row ? html`<${Wait} of=${asked} />` : row.gone ? html`<${Gone} name=${name} id=${id} />` : html`
      <p><b>Why is it like this?</b> ${row.because}</p>
      <div class="meta"><span>${number(row.tokens)} tokens</span><code>${row.id.slice(0, 12)}</code>
        ${row.edits.map((edit) => html`<a href=${to(name, "edit", edit)}>edit ${edit}</a>`)}</div>
      ${now ? html`<${RowButtons} row=${row} client=${client} change=${change} />` : null}
      ${row.messages.map((message) => html`<${Message} message=${message} name=${name} />`)}
      ${row.was ? html`<details open><summary>What was recorded here, whole</summary>
        <${Message} message=${row.was} name=${name} /></details>` : null}
      ${now && row.kind !== "note" ? html`<${FoldForm} name=${name} row=${row} change=${change} />` : null}`}
  </section>`;
}

const Gone = ({ name, id }) => html`<p>This row is no longer in the window.
  ${" "}<a href=${to(name, /^e\d+$/.test(id) ? "edit" : "message", id)}>See what became of it</a></p>`;

// What can be done with a row of the window.
function RowButtons({ row, client, change }) {
  const made = ["summary", "marker"].includes(row.kind), note = row.kind === "note";
  const own = row.edits.includes(row.id); // the row is what an edit shows, and no message
  const last = row.edits[row.edits.length - 1];
  const whole = row.back?.edit === row.id ? "Bring it back" : "Bring back what " + last + " hides";
  const bring = () => change("undo", row.back || { edit: last }, whole, "Bring it back", "Brought back: " + many(row.count, "message"));
  const pin = () => change("pin", { what: row.id }, "Pin this message", "Pin it", "Pinned");
  const unpin = () => change("unpin", { what: row.id }, "Unpin this message", "Unpin", "Unpinned");
  const rewind = () => change("rewind", { to: row.id }, "Go back to this message", "Go back", "Went back to this message");
  const doomed = "Destroy this " + (note ? "note" : "message") + " for good";
  const erase = () => change("erase", { entry: row.id }, doomed, "Destroy it", "Destroyed");
  return html`<div class="buttons">
    ${last && (row.elided || made) ? html`<button onClick=${bring}>Bring it back …</button>` : null}
    ${row.brought_back_from.length ? buttonsFor(row.brought_back_from[0], change) : null}
    ${row.pinned ? html`<button class="quiet" onClick=${unpin}>Unpin …</button>`
      : made || note ? null : html`<button class="quiet" onClick=${pin}>Pin …</button>`}
    ${client || row.last || note || own ? null : html`<button class="quiet" onClick=${rewind}>Go back to here …</button>`}
    ${own && !note ? null : html`<button class="quiet" onClick=${erase}>Erase …</button>`}
  </div>`;
}

function FoldForm({ name, row, change }) {
  const [count, setCount] = useState(2);
  const [text, setText] = useState("");
  const [error, setError] = useState("");
  const fold = async (event) => {
    event.preventDefault();
    try {
      const view = await ask(session(name, "view"), { offset: row.at, limit: count });
      const covers = view.rows.filter((one) => one.kind !== "note").map((one) => one.id);
      change("fold", { covers, text }, "Fold " + many(covers.length, "row"), "Fold", "Folded: " + many(covers.length, "row"));
    } catch (failed) { setError(failed.message); }
  };
  return html`<details><summary>Fold rows from here</summary><form onSubmit=${fold}>
    <label>How many rows, this one first <input type="number" min="1" value=${count} onInput=${(e) => setCount(e.target.value)} /></label>
    <label>What stands in their place <textarea rows="3" value=${text} onInput=${(e) => setText(e.target.value)}></textarea></label>
    <div class="buttons"><button class="quiet" disabled=${!text}>Fold …</button></div>
    ${error ? html`<p class="alarm" role="alert">${error}</p>` : null}</form></details>`;
}
