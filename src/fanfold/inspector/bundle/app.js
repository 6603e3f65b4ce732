// The page: which screen is shown, what is heard from the server, and what was just done.
import { html, render, useErrorBoundary, useState, useEffect, useCallback, useRef } from "./vendor/htm-preact.js";
import { ask, enter, place, tell, watch } from "./api.js";
import { Live, Proposal, home, plain, to } from "./parts.js";
import { Sessions } from "./sessions.js";
import { Now, Recorded } from "./now.js";
import { Hidden, Edit } from "./hidden.js";
import { Request } from "./requests.js";
import { TimeLine } from "./timeline.js";
import { Outputs } from "./outputs.js";
import { Try } from "./try.js";
import { Health } from "./health.js";

const SCREENS = [
  ["now", "Now"], ["hidden", html`<span class="less">What is </span>not shown`], ["time", "Time line"], ["outputs", "Outputs"],
  ["try", "Try a policy"],
];
const SEEN_EVERY = 400; // milliseconds between two looks at a session that changes all the time

function decode(word) {
  try { return decodeURIComponent(word); } catch { return word; }
}

// What an address means; `tenant` is empty where it names none.
function readAddress() {
  const words = location.hash.replace(/^#\/?/, "").split("/").map(decode);
  const tenant = words[0] === "t" ? words.splice(0, 2)[1] : "";
  if (words[0] === "s") return { tenant, name: words[1], screen: words[2] || "now", rest: words.slice(3) };
  return { tenant, name: "", screen: words[0] === "health" ? "health" : "sessions", rest: [] };
}

// Go where the address leads: from then on the server is asked for this tenant.
function arrive() {
  const at = readAddress();
  if (at.tenant) place.tenant = at.tenant;
  return at;
}

function Screen({ at }) {
  const [one, two] = at.rest;
  switch (at.screen) {
    case "sessions": return html`<${Sessions} key=${place.tenant} />`;
    case "health": return html`<${Health} />`;
    case "try": return html`<${Try} key=${at.name} name=${at.name} />`;
    case "message": return html`<${Recorded} key=${one} name=${at.name} id=${one} />`;
    case "hidden": return html`<${Hidden} key=${at.name} name=${at.name} />`;
    case "search": return html`<${Now} key=${at.name + one} name=${at.name} wanted=${one} />`;
    case "edit": return html`<${Edit} key=${one} name=${at.name} id=${one} />`;
    case "request": return html`<${Request} key=${one} name=${at.name} at=${one} />`;
    case "time": return html`<${TimeLine} key=${at.name} name=${at.name} at=${one} mode=${two} />`;
    case "outputs": return html`<${Outputs} key=${at.name} name=${at.name} chosen=${one} />`;
    default: return html`<${Now} key=${at.name} name=${at.name} chosen=${one} />`;
  }
}

// What cannot be drawn leaves the rest of the page alone: another address shows another screen.
function Guard({ place, children }) {
  const [error, forget] = useErrorBoundary((error) => console.error(error));
  useEffect(forget, [place]);
  return error ? html`<h1>This screen cannot be drawn</h1>
    <p class="alarm" role="alert">That is a bug in fanfold: please report it, with what the browser's console says.</p>` : children;
}

const BELONGS = { edit: "hidden", message: "hidden", request: "time", search: "now" };

function Page() {
  const [at, setAt] = useState(arrive);
  const [tick, setTick] = useState(0);
  const [about, setAbout] = useState(null);
  const [error, setError] = useState("");
  const [proposal, propose] = useState(null);
  const [toast, setToast] = useState(null);
  const [lost, setLost] = useState("");
  const last = useRef(0);
  const due = useRef(0);
  const refresh = useCallback(() => {
    if (due.current) return;
    due.current = setTimeout(() => { due.current = 0; setTick((n) => n + 1); }, Math.max(0, SEEN_EVERY - (Date.now() - last.current)));
    last.current = Math.max(Date.now(), last.current + SEEN_EVERY);
  }, []);
  useEffect(() => {
    // Choosing a row or an output leaves the list where it is; a phone shows an output above the list.
    const moved = () => setAt((old) => {
      const now = arrive();
      if (now.name !== old.name || now.screen !== old.screen || (now.screen === "outputs" && innerWidth <= 900)) window.scrollTo(0, 0);
      return now;
    });
    window.addEventListener("hashchange", moved);
    moved(); // the address may have changed since it was read first, when nobody listened yet
    ENTERED.then(() => ask("about", { tenant: "" })).then((told) => {
      const known = told.tenants.includes(place.tenant);
      place.several = told.tenants.length > 1;
      const named = readAddress().tenant !== "";
      if (!known) place.tenant = told.tenants[0];
      if (!known && named) history.replaceState(null, "", home()); // an address of a tenant that this token does not name
      else if (place.several && !named) history.replaceState(null, "", home() + location.hash.replace(/^#\/?/, ""));
      if (!known && named) setAt(arrive());
      setAbout(told);
    }, (failed) => setError(failed.message));
    return () => window.removeEventListener("hashchange", moved);
  }, []);
  useEffect(() => (about ? watch(at.name, refresh, setLost) : undefined), [at.name, about, place.tenant]);
  useEffect(() => { document.title = (at.name ? plain(at.name) + " · " : "") + "fanfold inspector"; }, [at.name]);
  // A proposal and what was just done belong to one session of one tenant: elsewhere they are not shown.
  const here = to(at.name), stands = useRef(here);
  stands.current = here;
  useEffect(() => {
    propose(null);
    setToast((old) => (old?.here === here ? old : null));
  }, [here]);
  const done = (what) => {
    const { verb, name, made } = what, still = stands.current === what.here;
    if (still && verb === "erase" && at.screen === "message") location.hash = to(name, "now");
    if (still && verb === "fork") location.hash = to(made.session, "now");
    refresh();
    setToast(still && verb === "fork" ? { ...what, here: to(made.session) } : what);
  };
  const takeBack = async () => {
    setToast(null);
    try {
      for (const [verb, fields] of toast.back) await tell(toast.tenant, toast.name, verb, fields);
      setToast({ did: "Undone", here: toast.here });
      refresh();
    } catch (failed) { setToast({ failed: failed.message, here: toast.here }); }
  };
  if (error) return html`<main><section><h1>The inspector is closed to you</h1><p role="alert">${error}</p></section></main>`;
  if (!about) return html`<p class="wait">Loading …</p>`;
  const toMain = (event) => { event.preventDefault(); document.querySelector("main").focus(); };
  return html`<${Live.Provider} value=${{ tick, about, tenant: place.tenant, propose }}>
    <a class="skip" href="#main" onClick=${toMain}>Skip to the content</a>
    <${Top} at=${at} about=${about} lost=${lost} />
    ${lost ? html`<p class="lost alarm" role="alert">${lost}</p>` : null}
    <main id="main" tabindex="-1"><${Guard} place=${location.hash}><${Screen} key=${place.tenant} at=${at} /><//></main>
    ${proposal?.here === here ? html`<${Proposal} proposal=${proposal} close=${() => propose(null)} done=${done} />` : null}
    <div aria-live="polite">
      ${toast?.here === here ? html`<${Toast} toast=${toast} takeBack=${takeBack} close=${() => setToast(null)} />` : null}
    </div>
  <//>`;
}

// The head of the page: where one is, whether anything can be changed, and the ways to the other screens.
function Top({ at, about, lost }) {
  const state = lost ? "not connected" : about.write ? "you can make changes" : "read only";
  return html`<header class="top"><div>
    <a class="brand" href=${home()}><img src="/inspector/icon.svg" alt="" />fanfold</a>
    ${at.name ? html`<a class="up less" href=${home()}>All sessions</a><span class="crumb">${plain(at.name)}</span>`
      : html`<span class="faint">${about.title}</span>`}
    <span class="state">${state}</span>
    ${about.tenants.length > 1 ? html`<${Tenants} tenants=${about.tenants} />` : null}
    <${Ways} at=${at} about=${about} />
  </div></header>`;
}

function Tenants({ tenants }) {
  const go = (event) => { location.hash = home(event.target.value); };
  return html`<select aria-label="Tenant" value=${place.tenant} onChange=${go}>
    ${tenants.map((one) => html`<option value=${one}>${one}</option>`)}</select>`;
}

function Ways({ at, about }) {
  if (!at.name && !about.health) return null;
  const shown = BELONGS[at.screen] || at.screen;
  const ways = at.name ? SCREENS.map(([id, title]) => [id, title, to(at.name, id)])
    : [["sessions", "Sessions", home()], ["health", "Health", home() + "health"]];
  return html`<nav aria-label="Screens">${ways.map(([id, title, address]) =>
    html`<a key=${id} href=${address} aria-current=${id === shown ? "page" : null}>${title}</a>`)}</nav>`;
}

// What was just done, and the button that takes it back.
function Toast({ toast, takeBack, close }) {
  return html`<div class="toast" role="status"><span>${plain(toast.failed || toast.did)}</span>
    <span class="buttons">${toast.back?.length ? html`<button onClick=${takeBack}>Undo</button>` : null}
    <button onClick=${close} aria-label="Close this message">✕</button></span></div>`;
}

// A frame of a notebook: the link has its token behind the #.
const [framed, token, rest] = /^#frame=([^/]+)(.*)$/.exec(location.hash) || [];
const ENTERED = framed ? enter(token) : Promise.resolve();
if (framed) history.replaceState(null, "", location.pathname + "#" + rest);
if (location.search) history.replaceState(null, "", location.pathname + location.hash);
const root = document.getElementById("app");
root.textContent = "";
render(html`<${Page} />`, root);
