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
  const tags = [row.pinned && "pinned", row.elided && "shortened", row.fresh && "new", row.brought_back && "brought back"].filter(Boolean);
  return html`<button class="row ${hue(row.kind)}" onClick=${open} title=${row.because}>
    <${Chip} kind=${row.kind} />
    <span class="two"><span class="text" dir="auto">${tags.map((tag) => html`<span class="tag ${tag}">${tag}</span> `)}${row.calls.length ? null
      : html`<${Done} of=${done} />`}${words}${row.calls.length ? html` <${Done} of=${done} />` : null}${words || done ? null
        : "(no words)"}</span><span class="why">${row.because}</span></span>
    <span class="size">${number(row.tokens)}<${Bar} share=${row.tokens / Math.max(1, largest)} kind=${hue(row.kind)} title=${number(row.tokens)
      + " tokens"} /></span>
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
  const share = told.room ? told.pressure.tokens / told.room : null;
  return html`<h1>${number(view.value.tokens)}${told.room ? html` of ${number(told.room)}` : ""} tokens are in the window</h1>
    <p class="lead">${told.pressure.due ? html`<b>The next request is reduced first.</b> ` : "The next request is sent as it is. "}${told.hidden
      ? html`<a href=${to(name, "hidden")}>${many(told.hidden, "edit")} hide${told.hidden === 1 ? "s" : ""} something.</a>` : "Nothing is hidden."}</p>
    ${told.ahead && !told.client ? html`<div class="buttons">
      <button class="quiet" onClick=${() => change("forward", {}, "Go forward to where you were", "Go forward",
        "Went forward again")}>Go forward again …</button></div>` : null}
    <section><header class="apart"><h2>What fills the window</h2>
      ${told.stats.requests ? html`<a href=${to(name, "time", "", "fill")}>Over time</a>` : null}</header>
      <${Picture} picture=${told.picture} room=${told.room} tokens=${view.value.tokens} />
      <dl class="figures">
        <div><dt>Full</dt><dd>${percent(share)}</dd></div><div><dt>Reduces at</dt><dd>${told.room ? number(told.pressure.trigger) : "–"}</dd></div>
        <div><dt>Messages</dt><dd>${number(told.stats.messages)}</dd></div><div><dt>Requests</dt><dd>${number(told.stats.requests)}</dd></div>
        <div><dt>From cache</dt><dd>${told.stats.billed_tokens ? percent(told.stats.cached_tokens / told.stats.billed_tokens)
          : "–"}</dd></div><div><dt>Cost so far</dt><dd>${dollars(told.cost)}${told.unmanaged && told.cost
            ? html`<small title="To send everything each time, with a cache that never misses">at least
              ${" " + dollars(told.unmanaged)} without fanfold</small>` : null}</dd></div>
      </dl>
    </section>
    <div class=${chosen ? "split" : ""}>
      <section><h2>What the model sees, row by row</h2>
        <form class="search" onSubmit=${search} role="search">
          <input type="search" aria-label="Search this conversation, hidden things included" placeholder="Search this conversation, hidden things included"
            value=${words} onInput=${(e) => { setWords(e.target.value); setSought(""); }} /><button class="quiet">Search</button></form>
        ${hits ? html`<${Hits} hits=${hits} name=${name} words=${words} />`
          : html`<${Rows} name=${name} told=${view.value} open=${(id) => { location.hash = to(name, "now", id); }} chosen=${chosen} goal=${goal} />`}
      </section>
      ${chosen ? html`<${Detail} key=${chosen} name=${name} id=${chosen} client=${told.client} found=${setGoal}
        close=${() => { location.hash = to(name, "now"); }} />` : null}
    </div>
    <div class="halves">
      <section><h2>Pins and notes</h2>
        ${told.pins.map((pin) => html`<div class="card" key=${pin.id}><p dir="auto">${pin.text ? plain(pin.text)
          : html`<a href=${to(name, "now", pin.entry)}>${plain(pin.says) || pin.entry.slice(0, 8)}</a>`}</p>
            <div class="buttons"><button class="quiet" onClick=${() => change("unpin", { what: pin.id }, "Unpin “"
              + (pin.text || pin.says || "this message").slice(0, 60) + "”", "Unpin", "Unpinned")}>Unpin</button></div></div>`)}
        ${told.notes.map((note) => html`<div class="card" key=${note.id}><p dir="auto"><b>${plain(note.name)}</b>: ${plain(note.text)}</p>
          <div class="buttons"><button class="quiet" onClick=${() => change("undo", { edit: note.id }, "Remove the note " + note.name, "Remove it",
            "Removed the note " + note.name)}>Remove</button></div></div>`)}
        ${told.pins.length + told.notes.length ? null : html`<p class="remark">Nothing is pinned, and there are no notes.</p>`}
        <${NoteForm} change=${change} />
      </section>
      <section><h2>System prompt and tools</h2><p class="remark">${number(told.frame.tokens)} tokens, at the beginning of every request.</p>
        ${told.frame.messages.map((message) => html`<details><summary>System prompt</summary><${Message} message=${message} name=${name} /></details>`)}
        ${told.frame.messages.length ? html`<div class="buttons"><button class="quiet" onClick=${() => change("erase", { entry: "system" },
          "Destroy all system prompts of this session for good", "Destroy them", "Destroyed")}>Erase the system prompt …</button></div>` : null}
        ${told.frame.tools.length ? html`<details><summary>${many(told.frame.tools.length, "tool")}: ${told.frame.tools.slice(0,
          6).map((one) => plain(one.name)).join(", ")}${told.frame.tools.length > 6 ? " …" : ""}</summary>
            ${told.frame.tools.map((one) => html`<h3>${plain(one.name)}</h3><pre tabindex="0">${plain(one.text)}</pre>`)}</details>` : null}
        <h2 class="after">The session as a whole</h2>
        <p class="remark">An export is one file with everything that was ever said, hidden or not. It changes nothing and costs nothing.</p>
        <div class="buttons"><a class="button quiet" href=${exportAddress(name)} download onClick=${download}>Export the session</a></div>
        <${ForkForm} name=${name} change=${change} />
      </section>
    </div>`;
}

const apart = (hit) => hit.hidden_by || hit.earlier || hit.elsewhere;

function Hits({ hits, name, words }) {
  if (hits.error) return html`<p class="alarm" role="alert">${hits.error}</p>`;
  return html`<p class="remark" role="status">${hits.length ? many(hits.length, "message") + " found" : "Nothing was found."}</p>
    ${hits.map((hit) => html`<div class="card ${hit.hidden_by || hit.elsewhere ? "off" : ""}"><div><div class="meta"><${Chip} kind=${hit.kind} />${hit.hidden_by
      ? html`<span class="tag">hidden by ${hit.hidden_by}</span>`
        : html`<span class=${hit.elsewhere ? "tag" : "tag on"}>${hit.elsewhere ? "on another path" : hit.earlier ? "changed later" : "in view"}</span>`}</div>
      <p class="quote" dir="auto"><${Marked} text=${hit.text} words=${words} /></p></div>
      <div class="buttons"><a class="button quiet" href=${to(name, apart(hit) ? "message" : "now", hit.entry)}>${apart(hit)
        ? "See why" : "Show"}</a></div></div>`)}`;
}

function ForkForm({ name, change }) {
  const [made, setMade] = useState(name + "-2");
  const [fresh, setFresh] = useState(false);
  const fork = (event) => { event.preventDefault(); change("fork", { name: made, fresh }, "Fork " + name + " as " + made, "Fork", "This is the fork: "
    + made); };
  return html`<details><summary>Fork the session</summary><form onSubmit=${fork}>
    <label>Name of the new session <input value=${made} onInput=${(e) => setMade(e.target.value)} /></label>
    <label class="check"><input type="checkbox" checked=${fresh} onChange=${(e) => setFresh(e.target.checked)} /> Show everything: without the edits</label>
    <div class="buttons"><button class="quiet" disabled=${!made}>Fork it …</button></div></form></details>`;
}

// One message as it was recorded: whether the model sees it, why not, and the way back.
export function Recorded({ name, id }) {
  const asked = useAsk(session(name, "entries/" + encodeURIComponent(id)));
  const change = useChange(name);
  if (!asked.value) return html`<${Wait} of=${asked} />`;
  const { message, tokens, back, earlier, instead, hidden_by: edit, hidden_with: count, says, on_path: here, brought_back_from: undone,
    forward } = asked.value;
  const cut = edit && asked.value.why.visible;
  return html`<h1>${cut ? "The model sees this message shortened" : edit ? "The model does not see this message" : here ? "The model sees this message"
    : "This message is on another path"}</h1>
    <p class="lead">${says} ${edit ? html`<a href=${to(name, "edit", edit)}>Look at edit ${edit}</a>` : here && undone.length
      ? html`<a href=${to(name, "edit", undone[0].id)}>Look at edit ${undone[0].id}, which hid it</a>` : null}</p>
    <div class="buttons">${edit ? html`<button onClick=${() => change("undo", back, "Bring this message back", "Bring it back",
      "Brought back: 1 message")}>Bring it back …</button>` : here ? html`<a class="button quiet" href=${to(name, "now", id)}>Show it in the window</a>`
          : forward ? html`<button onClick=${() => change("forward", { to: forward }, "Go forward to where this message is", "Go forward",
            "Went forward")}>Go forward to it …</button>` : null}
      ${edit && count > 1 ? html`<button class="quiet" onClick=${() => change("undo", { edit }, "Bring back what " + edit + " hides", "Bring them back",
        "Brought back: " + many(count, "message"))}>Bring back all ${number(count)} …</button>` : null}
      ${here && !edit && undone.length ? buttonsFor(undone[0], change) : null}
      ${here && !edit ? html`<button class="quiet" onClick=${() => change("pin", { what: id }, "Pin this message", "Pin it", "Pinned")}>Pin …</button>`
        : null}
      <button class="quiet" onClick=${() => change("erase", { entry: id }, "Destroy this message for good", "Destroy it", "Destroyed")}>Erase …</button></div>
    ${instead ? html`<section><h2>${instead.says}</h2>${instead.texts.map((text) => html`<pre dir="auto" tabindex="0">${plain(text)}</pre>`)}</section>`
      : null}
    ${earlier.map((one) => html`<section><h2>What it said before the client changed it</h2><${Message} message=${one} name=${name} /></section>`)}
    <section><h2>${earlier.length ? "As the client sent it last" : "As it was recorded"}</h2>
      <div class="meta"><span>${label(message.role)}</span><span>${number(tokens)} tokens</span><code>${id.slice(0,
      12)}</code></div><${Message} message=${message} name=${name} /></section>`;
}

function NoteForm({ change }) {
  const [label, setLabel] = useState("");
  const [text, setText] = useState("");
  const add = (event) => { event.preventDefault(); change("note", { name: label, text }, "Add the note " + label, "Add the note", "Added the note "
    + label); };
  return html`<details><summary>Add a note or pin a line</summary><form onSubmit=${add}>
    <label>Name of the note <input value=${label} onInput=${(e) => setLabel(e.target.value)} /></label>
    <label>Text <textarea rows="2" value=${text} onInput=${(e) => setText(e.target.value)}></textarea></label>
    <div class="buttons"><button class="quiet" disabled=${!label || !text}>Add the note …</button>
    <button type="button" class="quiet" disabled=${!text} onClick=${() => change("pin", { what: text }, "Pin this line", "Pin it",
      "Pinned")}>Pin the text …</button></div></form></details>`;
}

export function Detail({ name, id, client, request, found, close }) {
  const asked = useAsk(session(name, "rows/" + encodeURIComponent(id)), request === undefined ? {} : { request });
  const change = useChange(name);
  const [count, setCount] = useState(2);
  const [text, setText] = useState("");
  const [error, setError] = useState("");
  useEffect(() => {
    const press = (event) => event.key === "Escape" && !document.querySelector("dialog[open]") && close();
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, []);
  const row = asked.value;
  const at = row && !row.gone ? row.at : null;
  useEffect(() => { if (at !== null) found?.(at); }, [at === null]);
  const fold = async (event) => {
    event.preventDefault();
    try {
      const view = await ask(session(name, "view"), { offset: row.at, limit: count });
      const covers = view.rows.filter((one) => one.kind !== "note").map((one) => one.id);
      change("fold", { covers, text }, "Fold " + many(covers.length, "row"), "Fold", "Folded: " + many(covers.length, "row"));
    } catch (failed) { setError(failed.message); }
  };
  return html`<section class="panel" aria-label="The row"><header><h2>${row?.kind ? label(row.kind)
    : "Row"}</h2><button class="quiet" onClick=${close} aria-label="Close the row">✕</button></header>
    ${!row ? html`<${Wait} of=${asked} />` : row.gone ? html`<p>This row is no longer in the window. <a href=${/^e\d+$/.test(id) ? to(name, "edit", id)
      : to(name, "message", id)}>See what became of it</a></p>` : html`
      <p><b>Why is it like this?</b> ${row.because}</p>
      <div class="meta"><span>${number(row.tokens)} tokens</span><code>${row.id.slice(0, 12)}</code>
        ${row.edits.map((edit) => html`<a href=${to(name, "edit", edit)}>edit ${edit}</a>`)}</div>
      ${request !== undefined ? null : html`<div class="buttons">
        ${row.edits.length && (row.elided || row.kind === "summary" || row.kind === "marker")
          ? html`<button onClick=${() => change("undo", row.back || { edit: row.edits[row.edits.length - 1] }, row.back?.edit === row.id ? "Bring it back"
            : "Bring back what " + row.edits[row.edits.length - 1]
            + " hides", "Bring it back", "Brought back: " + many(row.count, "message"))}>Bring it back …</button>` : null}
        ${row.brought_back_from.length ? buttonsFor(row.brought_back_from[0], change) : null}
        ${row.pinned ? html`<button class="quiet" onClick=${() => change("unpin", { what: row.id }, "Unpin this message", "Unpin",
          "Unpinned")}>Unpin …</button>` : row.kind !== "summary" && row.kind !== "marker" && row.kind !== "note"
            ? html`<button class="quiet" onClick=${() => change("pin", { what: row.id }, "Pin this message", "Pin it", "Pinned")}>Pin …</button>` : null}
        ${client || row.last || row.kind === "note" || row.edits.includes(row.id) ? null
          : html`<button class="quiet" onClick=${() => change("rewind", { to: row.id }, "Go back to this message", "Go back",
            "Went back to this message")}>Go back to here …</button>`}
        ${row.edits.includes(row.id) && row.kind !== "note" ? null
          : html`<button class="quiet" onClick=${() => change("erase", { entry: row.id },
            "Destroy this " + (row.kind === "note" ? "note" : "message") + " for good", "Destroy it", "Destroyed")}>Erase …</button>`}
      </div>`}
      ${row.messages.map((message) => html`<${Message} message=${message} name=${name} />`)}
      ${row.was ? html`<details open><summary>What was recorded here, whole</summary><${Message} message=${row.was} name=${name} /></details>` : null}
      ${request !== undefined || row.kind === "note" ? null : html`<details><summary>Fold rows from here</summary><form onSubmit=${fold}>
        <label>How many rows, this one first <input type="number" min="1" value=${count} onInput=${(e) => setCount(e.target.value)} /></label>
        <label>What stands in their place <textarea rows="3" value=${text} onInput=${(e) => setText(e.target.value)}></textarea></label>
        <div class="buttons"><button class="quiet" disabled=${!text}>Fold …</button></div>${error ? html`<p class="alarm" role="alert">${error}</p>`
          : null}</form></details>`}`}
  </section>`;
}
