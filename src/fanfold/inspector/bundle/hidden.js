// What is not shown: every edit, what it hides, and how to bring it back. And one edit, before and after.
import { html, useState } from "./vendor/htm-preact.js";
import { session } from "./api.js";
import { Bar, Message, Wait, ago, clock, label, many, number, plain, to, useAsk, useChange } from "./parts.js";

const WHAT = { fold: "Summary", drop: "Left out", elide: "Shortened", repair: "Repaired", pin: "Pin", note: "Note" };
const HUES = { fold: "hue4", drop: "hue5", elide: "hue2", repair: "hue0" };
const FATES = { stands: "hides it now", undone: "brought back", covered: "under a later edit", elsewhere: "on another path" };
const LEADS = { stands: "It is in effect.", undone: "It was undone: the model sees again what it hid.",
  covered: "It lies under a later edit.", elsewhere: "It was made on another path." };
const TIPS = { now: "What it hides now, less what stands in its place", then: "What it saved when it was made" };
function by(edit) {
  if (edit.again) return "your undo, in the words of " + edit.again;
  return { person: "you", auto: "the strategy " + edit.why, pass: "the filter " + edit.why }[edit.by] || "a repair";
}
const why = (edit) => (edit.by === "auto" && !edit.again ? " to make room" : "");

const hides = (edit) => (edit.kind === "elide" ? edit.answers?.join(", ") || "1 message" : many(edit.entries, "message"));

export function buttonsFor(edit, change) {
  const tell = (verb, title, button, did, more) => () =>
    change(verb, { edit: edit.id, ...more }, title, button, did + ": " + hides(edit));
  if (!["fold", "drop", "elide"].includes(edit.kind)) return null;
  const { id, fate, under } = edit;
  const bring = tell("undo", "Bring back what " + id + " hides", "Bring it back", "Brought back");
  const bringBoth = tell("undo", "Bring back what " + id + " and " + under + " hide", "Bring it back", "Brought back", { through: true });
  const hide = tell("redo", "Hide again what " + id + " hid", "Hide it again", "Hidden again");
  const release = tell("release", "Release what " + id + " hid", "Release it", "Released");
  return html`${fate === "stands" ? html`<button onClick=${bring}>Bring it back …</button>` : null}
    ${fate === "covered" ? html`<button onClick=${bringBoth}>Bring it back …</button>` : null}
    ${fate === "undone" ? html`<button class="quiet" onClick=${hide}>Hide it again …</button>` : null}
    ${fate === "undone" && !edit.free
      ? html`<button class="quiet" onClick=${release} title="Let automatic edits shorten it again">Release …</button>` : null}`;
}

// One edit in a line or two: what it hides, and the way back.
function One({ edit, name, change }) {
  const what = edit.kind === "elide" ? edit.answers.join(", ") || "A part of a message"
    : edit.kind === "repair" ? "Written as the provider needs it" : many(edit.entries, "message");
  const stands = edit.fate === "stands";
  const fate = FATES[edit.fate] + (edit.fate === "undone" && !edit.free ? ", left alone" : "");
  return html`<article class="hides ${HUES[edit.kind]} ${stands ? "" : "off"}" aria-label=${"Edit " + edit.id}>
    <div><div class="meta"><span class="chip"><i></i>${WHAT[edit.kind]}</span><b class="what">${plain(what)}</b>
      ${stands ? null : html`<span class="tag on">${fate}</span>`}</div>
      <p class="quote" dir="auto">${plain(edit.kind === "repair" ? edit.text : edit.hides || edit.text)}</p></div>
    <span class="saved" title=${TIPS[edit.hides_tokens === null ? "then" : "now"]}>${(edit.hides_tokens ?? edit.saved) > 0
      ? html`<b>−${number(edit.hides_tokens ?? edit.saved)}</b> tokens` : null}</span>
    <div class="buttons">${buttonsFor(edit, change)}
      <a class="button quiet" href=${to(name, "edit", edit.id)} aria-label=${"Look at edit " + edit.id}>Look</a></div>
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

// Every edit of the reduction in which an edit was made, the newest first: some may lie under others, and are not listed.
const madeWith = (edit, all) => inGroups(all).find((group) => group.edits.includes(edit))?.edits || [edit];

const DID = { fold: ["summary", "summaries"], drop: ["stretch left out", "stretches left out"],
  elide: ["part shortened", "parts shortened"], repair: ["repair", "repairs"] };
function did(edits) {
  const counts = {};
  for (const edit of edits) counts[edit.kind] = (counts[edit.kind] || 0) + 1;
  return Object.entries(counts).map(([kind, n]) => number(n) + " " + DID[kind][n === 1 ? 0 : 1]).join(", ");
}

function Group({ edits, all, name, change }) {
  const together = madeWith(edits[0], all);
  const [newest, oldest] = [together[0], together[together.length - 1]];
  const most = Math.max(1, oldest.before);
  return html`<section class="group"><header><h2>${newest.request === null ? "Since the last request"
    : html`Before <a href=${to(name, "time", newest.request)}>request ${newest.request}</a>`}</h2>
    <div class="meta"><span>by ${by(newest)}${why(newest)}</span><span title=${clock(newest.time)}>${ago(newest.time)}</span>
      <span>${did(edits)}</span></div></header>
    ${oldest.before ? html`<div class="went"><${Bar} share=${newest.after / most} kind="hue3" />
      <small>The window went from <b>${number(oldest.before)}</b> to <b>${number(newest.after)}</b> tokens.</small></div>` : null}
    ${edits.map((edit) => html`<${One} key=${edit.id} edit=${edit} name=${name} change=${change} />`)}</section>`;
}

// What a rewind took away, or what a client no longer sends.
function Elsewhere({ name, value, whole, change }) {
  const reason = whole.client ? plain(whole.client) + " sent another history since"
    : "the conversation was taken back to an earlier message";
  const forward = () => change("forward", {}, "Go forward to where you were", "Go forward", "Went forward again");
  const words = (one) => plain([one.text, ...one.calls.map((call) => "→ " + call)].filter(Boolean).join(" ")) || "(no words)";
  return html`<section class="group">
    <header><h2>On another path: ${many(value.total, "message")}</h2><div class="meta">${reason}</div></header>
    ${whole.ahead && !whole.client
      ? html`<div class="buttons"><button onClick=${forward}>Go forward again …</button></div>` : null}
    <details><summary>${value.total > value.messages.length ? "The newest " + value.messages.length : "See them"}</summary>
      ${value.messages.map((one) => html`<div class="aside" key=${one.id}><small>${label(one.role)}</small>
        <a href=${to(name, "message", one.id)} dir="auto">${words(one)}</a></div>`)}</details></section>`;
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
  const text = (one) => [one.id, ...one.answers, one.hides, one.text].join(" ").toLowerCase();
  const choices = [["stands", "Hidden now", stand], ["undone", "Brought back", back], ["all", "All edits", edits]];
  const shown = choices.find(([id]) => id === which)[2].filter((one) => text(one).includes(words.toLowerCase()));
  return html`<${Head} edits=${edits} stand=${stand} saved=${whole.value.hidden_tokens} aside=${aside} />
    <div class="choose"><div class="buttons" role="group" aria-label="Which edits">${choices.map(([id, title, some]) =>
      html`<button class=${id === which ? "" : "quiet"} aria-pressed=${id === which}
        onClick=${() => setWhich(id)}>${title} ${some.length}</button>`)}
    </div>
    <input type="search" aria-label="Only edits that have these words" placeholder="Filter: a file, a tool, some words" value=${words}
      onInput=${(e) => setWords(e.target.value)} /></div>
    <div>${inGroups(shown.slice(0, MOST)).map((group) =>
      html`<${Group} key=${group.key + group.edits[0].id} edits=${group.edits} all=${edits} name=${name} change=${change} />`)}
    ${shown.length > MOST ? html`<p class="remark">The newest ${MOST} of ${number(shown.length)} are listed.</p>` : null}
    ${shown.length ? null : html`<section><p class="remark">${words ? "None has these words." : "There is none."}</p></section>`}
    ${words ? html`<p class="remark">
      <a href=${to(name, "search", words)}>Search everything that was said for “${plain(words)}”</a></p>` : null}
    ${aside?.total ? html`<${Elsewhere} name=${name} value=${aside} whole=${whole.value} change=${change} />` : null}</div>`;
}

function Head({ edits, stand, saved, aside }) {
  if (!stand.length) {
    return html`<h1>Nothing is hidden</h1><p class="lead">The model sees everything that was said${aside?.total
      ? ", but for what is on another path." : "."}</p>`;
  }
  const single = stand.length === 1;
  const covered = many(stand.reduce((sum, one) => sum + one.entries, 0), "message");
  const under = edits.filter((one) => one.fate === "covered").length;
  const below = under ? "; " + many(under, "earlier edit") + (under === 1 ? " lies" : " lie") + " under " + (single ? "it" : "them") : "";
  return html`<h1>${many(stand.length, "edit")}${single ? " hides " : " hide "}${number(saved)} tokens</h1>
    <p class="lead">${single ? "It touches " : "They touch "}${covered + below}.
      ${" "}Nothing is lost: you can bring each back, word for word.</p>`;
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
  const under = edit.under ? html`<a class="button quiet" href=${to(name, "edit", edit.under)}>It lies under ${edit.under}</a>` : null;
  return html`<h1>${WHAT[edit.kind]}: edit ${edit.id}</h1>
    <p class="lead">${lead(edit)}</p>
    <div class="buttons">${buttonsFor(edit, change)}<a class="button quiet" href=${to(name, "hidden")}>All edits</a>${under}</div>
    <div class="halves edit">
      <section aria-label="Before"><h2>Before: ${many(edit.total, "message")}</h2>
        ${edit.covered.map((one) => html`<${Source} key=${one.id} one=${one} name=${name} lit=${lit.includes(one.id)} />`)}
        ${edit.total > edit.covered.length ? html`<p class="remark">The first ${number(edit.covered.length)} are shown here.</p>` : null}
      </section>
      <section aria-label="After"><h2>${edit.fate === "stands" ? "After: what the model reads instead" : "What stood in their place"}</h2>
        ${text !== null && edit.lines.length ? html`<${Told} text=${text} sources=${sources} lit=${lit} light=${light} />`
          : edit.shows.map((message) => html`<${Message} message=${message} name=${name} />`)}
      </section>
    </div>`;
}

// By whom an edit was made, when, what became of it, and how large the window was.
function lead(edit) {
  const made = "Made by " + by(edit) + why(edit) + (edit.time ? ", " + clock(edit.time) : "") + ". " + LEADS[edit.fate] + " ";
  const some = many(edit.shortened, "output") + (edit.shortened === 1 ? " of it is" : " of it are") + " still shortened by earlier edits. ";
  const went = "This edit alone took the window from " + number(edit.before) + " to " + number(edit.after) + " tokens.";
  return made + (edit.fate === "undone" && edit.shortened ? some : "") + (edit.before ? went : "");
}

const Source = ({ one, name, lit }) => html`
  <div class="source ${lit ? "lit" : ""}" id=${"from-" + one.id} aria-current=${lit ? "true" : null}>
  <div class="meta"><b>${label(one.message.role)}</b><span>${number(one.tokens)} tokens</span><code>${one.id.slice(0, 8)}</code></div>
  <${Message} message=${one.message} name=${name} /></div>`;

// The lines of a summary; those of which it is known from what they were made can be chosen.
function Told({ text, sources, lit, light }) {
  return html`<p class="remark">Choose a line to see what it was made from.</p>
    ${text.split("\n").map((line, at) => {
      const source = sources[at + 1];
      if (!source) return html`<div class="untold">${plain(line) || " "}</div>`;
      const title = "Made from " + many(source.entries.length, "message");
      const on = source.entries.some((one) => lit.includes(one));
      return html`<button class="told ${on ? "lit" : ""}" title=${title} onClick=${() => light(source)}>${plain(line)}</button>`;
    })}`;
}
