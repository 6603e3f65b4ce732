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

const SCREENS = [["now", "Now"], ["hidden", html`<span class="less">What is </span>not shown`], ["time", "Time line"], ["outputs", "Outputs"],
  ["try", "Try a policy"]];
const SEEN_EVERY = 400; // milliseconds between two looks at a session that changes all the time

function decode(word) {
  try { return decodeURIComponent(word); } catch { return word; }
}

function readAddress() {
  const words = location.hash.replace(/^#\/?/, "").split("/").map(decode);
  if (words[0] === "t") place.tenant = words.splice(0, 2)[1];
  if (words[0] === "s") return { name: words[1], screen: words[2] || "now", rest: words.slice(3) };
  return { name: "", screen: words[0] === "health" ? "health" : "sessions", rest: [] };
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
  const [at, setAt] = useState(readAddress());
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
      const now = readAddress();
      if (now.name !== old.name || now.screen !== old.screen || (now.screen === "outputs" && innerWidth <= 900)) window.scrollTo(0, 0);
      return now;
    });
    window.addEventListener("hashchange", moved);
    ENTERED.then(() => ask("about", { tenant: "" })).then((told) => {
      const known = told.tenants.includes(place.tenant);
      place.several = told.tenants.length > 1;
      const named = /^#\/t\//.test(location.hash);
      if (!known) place.tenant = told.tenants[0];
      if (!known && named) history.replaceState(null, "", home()); // an address of a tenant that this token does not name
      else if (place.several && !named) history.replaceState(null, "", home() + location.hash.replace(/^#\/?/, ""));
      if (!known && named) setAt(readAddress());
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
  const shown = BELONGS[at.screen] || at.screen;
  return html`<${Live.Provider} value=${{ tick, about, tenant: place.tenant, propose }}>
    <a class="skip" href="#main" onClick=${(e) => { e.preventDefault(); document.querySelector("main").focus(); }}>Skip to the content</a>
    <header class="top"><div>
      <a class="brand" href=${home()}><img src="/inspector/icon.svg" alt="" />fanfold</a>
      ${at.name ? html`<a class="up less" href=${home()}>All sessions</a><span class="crumb">${plain(at.name)}</span>`
        : html`<span class="faint">${about.title}</span>`}
      <span class="state">${lost ? "not connected" : about.write ? "you can make changes" : "read only"}</span>
      ${about.tenants.length > 1 ? html`<select aria-label="Tenant" value=${place.tenant} onChange=${(e) => {
        location.hash = home(e.target.value); }}>${about.tenants.map((one) => html`<option value=${one}>${one}</option>`)}</select>` : null}
      ${at.name ? html`<nav aria-label="Screens">${SCREENS.map(([id, title]) => html`<a key=${id} href=${to(at.name, id)} aria-current=${id === shown
        ? "page" : null}>${title}</a>`)}</nav>`
        : about.health ? html`<nav aria-label="Screens"><a href=${home()} aria-current=${shown === "sessions" ? "page" : null}>Sessions</a>
          <a href=${home() + "health"} aria-current=${shown === "health" ? "page" : null}>Health</a></nav>` : null}
    </div></header>
    ${lost ? html`<p class="lost alarm" role="alert">${lost}</p>` : null}
    <main id="main" tabindex="-1"><${Guard} place=${location.hash}><${Screen} key=${place.tenant} at=${at} /><//></main>
    ${proposal?.here === here ? html`<${Proposal} proposal=${proposal} close=${() => propose(null)} done=${done} />` : null}
    <div aria-live="polite">${toast?.here === here ? html`<div class="toast" role="status"><span>${plain(toast.failed || toast.did)}</span>
      <span class="buttons">${toast.back?.length ? html`<button onClick=${takeBack}>Undo</button>` : null}
      <button onClick=${() => setToast(null)} aria-label="Close this message">✕</button></span></div>` : null}</div>
  <//>`;
}

// A frame of a notebook: the link has its token behind the #.
const [framed, token, rest] = /^#frame=([^/]+)(.*)$/.exec(location.hash) || [];
const ENTERED = framed ? enter(token) : Promise.resolve();
if (framed) history.replaceState(null, "", location.pathname + "#" + rest);
if (location.search) history.replaceState(null, "", location.pathname + location.hash);
const root = document.getElementById("app");
root.textContent = "";
render(html`<${Page} />`, root);
