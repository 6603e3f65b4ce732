// What is not shown: every edit, what it hides, and how to bring it back. And one edit, before and after.
import { html, useState } from "./vendor/htm-preact.js";
import { session } from "./api.js";
import { Bar, Message, Wait, ago, clock, label, many, number, plain, to, useAsk, useChange } from "./parts.js";

const WHAT = { fold: "Summary", drop: "Left out", elide: "Shortened", repair: "Repaired", pin: "Pin", note: "Note" };
const HUES = { fold: "hue4", drop: "hue5", elide: "hue2", repair: "hue0" };
const FATES = { stands: "hides it now", undone: "brought back", covered: "under a later edit", elsewhere: "on another path" };
const LEADS = { stands: "It is in effect.", undone: "It was undone: the model sees again what it hid.", covered: "It lies under a later edit.",
  elsewhere: "It was made on another path." };
const by = (edit) => edit.again ? "your undo, in the words of " + edit.again : ({ person: "you", auto: "the strategy " + edit.why, pass: "the filter " + edit.why })[edit.by] || "a repair";
const why = (edit) => (edit.by === "auto" && !edit.again ? " to make room" : "");

const hides = (edit) => (edit.kind === "elide" ? edit.answers?.join(", ") || "1 message" : many(edit.entries, "message"));

export function buttonsFor(edit, change) {
  const tell = (verb, title, button, did, more) => change(verb, { edit: edit.id, ...more }, title, button, did + ": " + hides(edit));
  if (!["fold", "drop", "elide"].includes(edit.kind)) return null;
  return html`${edit.fate === "stands" ? html`<button onClick=${() => tell("undo", "Bring back what " + edit.id + " hides", "Bring it back",
    "Brought back")}>Bring it back …</button>` : null}
    ${edit.fate === "covered" ? html`<button onClick=${() => tell("undo", "Bring back what " + edit.id + " and " + edit.under + " hide", "Bring it back",
      "Brought back", { through: true })}>Bring it back …</button>` : null}
    ${edit.fate === "undone" ? html`<button class="quiet" onClick=${() => tell("redo", "Hide again what " + edit.id + " hid", "Hide it again",
      "Hidden again")}>Hide it again …</button>` : null}
    ${edit.fate === "undone" && !edit.free ? html`<button class="quiet" onClick=${() => tell("release", "Release what " + edit.id + " hid", "Release it",
      "Released")} title="Let automatic edits shorten it again">Release …</button>` : null}`;
}

// One edit in a line or two: what it hides, and the way back.
function One({ edit, name, change }) {
  const what = edit.kind === "elide" ? edit.answers.join(", ") || "A part of a message" : edit.kind === "repair" ? "Written as the provider needs it"
    : many(edit.entries, "message");
  return html`<article class="hides ${HUES[edit.kind]} ${edit.fate === "stands" ? "" : "off"}" aria-label=${"Edit " + edit.id}>
    <div><div class="meta"><span class="chip"><i></i>${WHAT[edit.kind]}</span><b class="what">${plain(what)}</b>${edit.fate === "stands" ? null
      : html`<span class="tag on">${FATES[edit.fate]}${edit.fate === "undone" && !edit.free ? ", left alone" : ""}</span>`}</div>
      <p class="quote" dir="auto">${plain(edit.kind === "repair" ? edit.text : edit.hides || edit.text)}</p></div>
    <span class="saved">${edit.saved ? html`<b>−${number(edit.saved)}</b> tokens` : null}</span>
    <div class="buttons">${buttonsFor(edit, change)}<a class="button quiet" href=${to(name, "edit", edit.id)} aria-label=${"Look at edit "
      + edit.id}>Look</a></div>
  </article>`;
}

// The edits that were made together, before one request: that is one reduction.
function inGroups(edits) {
  const groups = [];
  for (const edit of edits) {
    const key = edit.request + "·" + by(edit);
    const last = groups[groups.length - 1];
    if (last?.key === key) last.edits.push(edit);
    else groups.push({ key, edits: [edit] });
  }
  return groups;
}

const DID = { fold: ["summary", "summaries"], drop: ["stretch left out", "stretches left out"], elide: ["part shortened", "parts shortened"],
  repair: ["repair", "repairs"] };
function did(edits) {
  const counts = {};
  for (const edit of edits) counts[edit.kind] = (counts[edit.kind] || 0) + 1;
  return Object.entries(counts).map(([kind, n]) => number(n) + " " + DID[kind][n === 1 ? 0 : 1]).join(", ");
}

function Group({ edits, name, change }) {
  const [newest, oldest] = [edits[0], edits[edits.length - 1]];
  const most = Math.max(1, oldest.before);
  return html`<section class="group"><header><h2>${newest.request === null ? "Since the last request"
    : html`Before <a href=${to(name, "time", newest.request)}>request ${newest.request}</a>`}</h2>
    <div class="meta"><span>by ${by(newest)}${why(newest)}</span><span title=${clock(newest.time)}>${ago(newest.time)}</span><span>${did(edits)}</span>
      </div></header>
    ${oldest.before ? html`<div class="went"><${Bar} share=${newest.after / most} kind="hue3" />
      <small>The window went from <b>${number(oldest.before)}</b> to <b>${number(newest.after)}</b> tokens.</small></div>` : null}
    ${edits.map((edit) => html`<${One} key=${edit.id} edit=${edit} name=${name} change=${change} />`)}</section>`;
}

// What a rewind took away, or what a client no longer sends.
function Elsewhere({ name, value, whole, change }) {
  return html`<section class="group"><header><h2>On another path: ${many(value.total, "message")}</h2><div class="meta">${whole.client
    ? plain(whole.client) + " sent another history since" : "the conversation was taken back to an earlier message"}</div></header>
    ${whole.ahead && !whole.client ? html`<div class="buttons"><button onClick=${() => change("forward", {}, "Go forward to where you were", "Go forward",
      "Went forward again")}>Go forward again …</button></div>` : null}
    <details><summary>${value.total > value.messages.length ? "The newest " + value.messages.length : "See them"}</summary>
      ${value.messages.map((one) => html`<div class="aside" key=${one.id}><small>${label(one.role)}</small><a href=${to(name, "message", one.id)} dir="auto">
        ${plain([one.text, ...one.calls.map((call) => "→ " + call)].filter(Boolean).join(" ")) || "(no words)"}</a></div>`)}</details></section>`;
}

const MOST = 300;
export function Hidden({ name }) {
  const asked = useAsk(session(name, "edits"));
  const whole = useAsk(session(name));
  const { value: aside } = useAsk(session(name, "elsewhere"));
  const [which, setWhich] = useState("stands");
  const [words, setWords] = useState("");
  const change = useChange(name);
  if (!asked.value || !whole.value) return html`<${Wait} of=${asked.error ? asked : whole} />`;
  const edits = asked.value.filter((one) => ["fold", "drop", "elide", "repair"].includes(one.kind));
  const stand = edits.filter((one) => one.fate === "stands" && one.kind !== "repair");
  const back = edits.filter((one) => one.fate === "undone");
  const told = (one) => (one.id + " " + one.answers.join(" ") + " " + one.hides + " " + one.text).toLowerCase().includes(words.toLowerCase());
  const shown = { stands: stand, undone: back, all: edits }[which].filter(told);
  const saved = whole.value.hidden_tokens;
  const under = edits.filter((one) => one.fate === "covered").length;
  const covered = stand.reduce((sum, one) => sum + one.entries, 0);
  return html`<h1>${stand.length ? many(stand.length, "edit") + (stand.length === 1 ? " hides " : " hide ") + number(saved) + " tokens"
    : "Nothing is hidden"}</h1>
    <p class="lead">${stand.length ? (stand.length === 1 ? "It touches " : "They touch ") + many(covered, "message")
      + (under ? "; " + many(under, "earlier edit") + (under === 1 ? " lies" : " lie") + " under " + (stand.length === 1 ? "it" : "them") : "")
        + ". Nothing is lost: you can bring each back, word for word." : "The model sees everything that was said"
          + (aside?.total ? ", but for what is on another path." : ".")}</p>
    <div class="choose"><div class="buttons" role="group" aria-label="Which edits">${[["stands", "Hidden now", stand], ["undone", "Brought back", back],
      ["all", "All edits", edits]].map(([id, title, some]) => html`<button class=${id === which ? ""
        : "quiet"} aria-pressed=${id === which} onClick=${() => setWhich(id)}>${title} ${some.length}</button>`)}</div>
    <input type="search" aria-label="Only edits that have these words" placeholder="Filter: a file, a tool, some words" value=${words} onInput=${(e) =>
      setWords(e.target.value)} /></div>
    <div>${inGroups(shown.slice(0, MOST)).map((group) => html`<${Group} key=${group.key
      + group.edits[0].id} edits=${group.edits} name=${name} change=${change} />`)}
    ${shown.length > MOST ? html`<p class="remark">The newest ${MOST} of ${number(shown.length)} are listed.</p>` : null}
    ${shown.length ? null : html`<section><p class="remark">${words ? "None has these words." : "There is none."}</p></section>`}
    ${words ? html`<p class="remark"><a href=${to(name, "search", words)}>Search everything that was said for “${plain(words)}”</a></p>` : null}
    ${aside?.total ? html`<${Elsewhere} name=${name} value=${aside} whole=${whole.value} change=${change} />` : null}</div>`;
}

export function Edit({ name, id }) {
  const [lit, setLit] = useState([]);
  const asked = useAsk(session(name, "edits/" + encodeURIComponent(id)));
  const change = useChange(name);
  if (!asked.value) return html`<${Wait} of=${asked} />`;
  const edit = asked.value;
  const sources = Object.fromEntries(edit.lines.map((line) => [line.number, line]));
  const text = edit.shows[0]?.parts[0]?.type === "text" ? edit.shows[0].parts[0].text : null;
  const light = (line) => {
    setLit(line.entries);
    const source = document.getElementById("from-" + line.entries[0]);
    if (source) source.scrollIntoView({ block: "center", behavior: "smooth" });
    else location.hash = to(name, "message", line.entries[0]);
  };
  return html`<h1>${WHAT[edit.kind]}: edit ${edit.id}</h1>
    <p class="lead">Made by ${by(edit)}${why(edit)}${edit.time ? ", " + clock(edit.time) : ""}. ${LEADS[edit.fate]} ${edit.fate === "undone"
      && edit.shortened ? many(edit.shortened, "output") + (edit.shortened === 1 ? " of it is" : " of it are") + " still shortened by earlier edits. " : ""}
        ${edit.before ? "The window went from " + number(edit.before) + " to " + number(edit.after) + " tokens." : ""}</p>
    <div class="buttons">${buttonsFor(edit, change)}<a class="button quiet" href=${to(name, "hidden")}>All edits</a>${edit.under
      ? html`<a class="button quiet" href=${to(name, "edit", edit.under)}>It lies under ${edit.under}</a>` : null}</div>
    <div class="halves edit">
      <section aria-label="Before"><h2>Before: ${many(edit.total, "message")}</h2>
        ${edit.covered.map((one) => html`<div class="source ${lit.includes(one.id) ? "lit" : ""}" id=${"from-" + one.id} aria-current=${lit.includes(one.id)
          ? "true" : null} key=${one.id}><div class="meta"><b>${label(one.message.role)}</b><span>${number(one.tokens)} tokens</span><code>${one.id.slice(0,
            8)}</code></div><${Message} message=${one.message} name=${name} /></div>`)}
        ${edit.total > edit.covered.length ? html`<p class="remark">The first ${number(edit.covered.length)} are shown here.</p>` : null}
      </section>
      <section aria-label="After"><h2>${edit.fate === "stands" ? "After: what the model reads instead" : "What stood in their place"}</h2>
        ${text !== null && edit.lines.length ? html`<p class="remark">Choose a line to see what it was made from.</p>
          ${text.split("\n").map((line, at) => sources[at + 1]
          ? html`<button class="told ${sources[at + 1].entries.some((one) => lit.includes(one)) ? "lit" : ""}" title=${"Made from "
            + many(sources[at + 1].entries.length, "message")} onClick=${() => light(sources[at + 1])}>${plain(line)}</button>`
          : html`<div class="untold">${plain(line) || " "}</div>`)}` : edit.shows.map((message) => html`<${Message} message=${message} name=${name} />`)}
      </section>
    </div>`;
}
