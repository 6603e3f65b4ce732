// Try a policy: this session as it went, as it might have been, and with everything sent.
import { html, useContext, useEffect, useState } from "./vendor/htm-preact.js";
import { session, tell } from "./api.js";
import { Bar, Live, Wait, dollars, many, number, percent, plain, useAsk } from "./parts.js";

const HUES = { now: "hue1", tried: "hue4", everything: "hue0" };
const NAMES = { now: "As it is now", tried: "What you try", everything: "Everything sent" };
const named = (one) => NAMES[one.label] + (one.label === "now" && !one.recorded ? ", replayed" : "");
function about(one) {
  const thrift = one.thrift === null ? "" : ", thrift " + one.thrift;
  return (one.strategy === "none" ? "nothing left out" : one.strategy + thrift) + ", window " + number(one.window);
}

// The trials of a session; while one runs, it is looked at again and again.
function useTrials(name) {
  const [beat, setBeat] = useState(0);
  const asked = useAsk(session(name, "trials"), {}, beat);
  const running = asked.value?.trials[0]?.running;
  const again = () => setBeat((n) => n + 1);
  useEffect(() => {
    if (!running) return undefined;
    const timer = setInterval(again, 400);
    return () => clearInterval(timer);
  }, [running]);
  return [asked, again];
}

export function Try({ name }) {
  const { tenant } = useContext(Live);
  const [asked, again] = useTrials(name);
  const told = asked.value;
  const [fields, setFields] = useState({});
  const [error, setError] = useState("");
  if (!told) return html`<${Wait} of=${asked} />`;
  const now = told.now;
  const value = (key) => fields[key] ?? (key === "thrift" ? now.thrift ?? "" : now[key]);
  const put = (key) => (event) => setFields({ ...fields, [key]: event.target.value });
  const thrifty = ["default", "auto"].includes(value("strategy"));
  const begin = async (event) => {
    event.preventDefault();
    setError("");
    const body = { strategy: value("strategy"), window: Number(value("window")) };
    if (thrifty && value("thrift") !== "") body.thrift = Number(value("thrift"));
    await tell(tenant, name, "try", body).catch((failed) => setError(failed.message));
    again();
  };
  const trial = told.trials[0];
  const cancel = async () => {
    await tell(tenant, name, "cancel", { trial: trial.trial }).catch((failed) => setError(failed.message));
    again();
  };
  return html`<h1>What if it were reduced in another way?</h1>
    <p class="lead">
      What really happened is compared with a replay from the log, with no model and no network. Nothing is changed.
      Now: ${about(now)}.
    </p>
    <section><h2>Try</h2><form class="fields" onSubmit=${begin}>
      <label>Strategy <select onChange=${put("strategy")}>${told.strategies.map((one) =>
        html`<option value=${one} selected=${one === value("strategy")}>${one}</option>`)}</select></label>
      <label>Window, in tokens <input type="number" min="1000" step="1000" required value=${value("window")}
        onInput=${put("window")} /></label>
      <label>Thrift: 0 uses the window, 1 is cheapest <input type="number" min="0" max="1" step="0.1" placeholder="as usual"
        disabled=${!thrifty} value=${thrifty ? value("thrift") : ""} onInput=${put("thrift")} /></label>
      <div class="buttons"><button disabled=${trial?.running}>Try it</button></div></form>
      ${error ? html`<p class="alarm" role="alert">${error}</p>` : null}
      ${trial?.running ? html`<${Progress} trial=${trial} cancel=${cancel} />` : null}
      ${trial?.cancelled ? html`<p class="remark" role="status">The trial was cancelled.</p>` : null}
      ${trial?.error ? html`<p class="alarm" role="alert">${trial.error}</p>` : null}
    </section>
    ${told.trials.filter((one) => one.results).map((one) => html`<${Found} key=${one.trial} results=${one.results} />`)}`;
}

const Progress = ({ trial, cancel }) => html`<div class="progress" role="status">
  <progress aria-label="How far the trial is" max=${trial.of || 1} value=${trial.done}></progress>
  <span>${trial.of ? number(trial.done) + " of " + many(trial.of, "request") : "starting …"}</span>
  <button class="quiet" onClick=${cancel}>Cancel</button></div>`;

const money = (one) => (one.dollars === null ? number(one.cost) + " token equivalents" : dollars(one.dollars));
const price = (one) => one.dollars ?? one.cost;
const ROWS = [
  ["Cost", (one) => (one.billed
    ? "At list prices. As it is now: what was billed; else what would have been, with a cache that never misses."
    : "Of all prompts, at list prices, with a cache that never misses; nothing was billed."), (one) => money(one), price],
  ["From the cache", "The share of all prompt tokens that was read from the provider's cache.", (one) => percent(one.cached_share)],
  ["Longest request", "In tokens.", (one) => html`${number(one.peak)}${one.over
    ? html`<small>${many(one.over, "request")} would not fit</small>` : null}`, (one) => one.peak],
  ["Reductions", "How often something was left out, which breaks the cache once.", (one) => number(one.reductions)],
  ["Trail of work kept", "What the agent did, found, decided and broke, as far as it stood in each reduced request.",
    (one) => (one.trail === null ? "nothing had to be reduced" : percent(one.trail)), (one) => one.trail ?? 1],
  ["Needed names in view", "Names that the next call used, and that stood in the request.", (one) => percent(one.names_in_view),
    (one) => one.names_in_view],
  ["In view or one call away", "The same, with what the model could look up by a reference.", (one) => percent(one.names_in_reach),
    (one) => one.names_in_reach],
  ["Rules of the person kept", "Word for word.", (one) => percent(one.rules)],
  ["First request kept", "Word for word.", (one) => percent(one.first_request)],
];

function headline([now, tried]) {
  const ratio = price(now) ? price(tried) / price(now) - 1 : 0;
  const share = Math.round(Math.abs(ratio) * 100) + " % " + (ratio < 0 ? "cheaper" : "more expensive") + " than now";
  const cheaper = Math.abs(ratio) < 0.005 ? "As expensive as now" : share;
  const lost = tried.lost_count - now.lost_count;
  const [was, kept] = [now, tried].map((one) => percent(one.trail ?? 1));
  const said = was === kept ? [] : [kept + " of the trail of work kept instead of " + was];
  if (lost) said.push(lost > 0 ? many(lost, "more name") + " out of reach when needed" : many(-lost, "name") + " more in reach");
  return cheaper + ", " + (said.join(", and ") || "and nothing more is lost");
}

function Found({ results }) {
  return html`<section><h2>${headline(results)}</h2>
    <div class="wide" tabindex="0" role="group" aria-label="Side by side">
      <table class="beside"><thead><tr><th scope="col">What</th>${results.map((one) => html`<th scope="col" class=${HUES[one.label]}><i></i>
        ${named(one)}<br /><small>${about(one)}</small></th>`)}</tr></thead>
      <tbody>${ROWS.map(([title, told, text, size]) => { const most = size ? Math.max(1e-9, ...results.map(size)) : 1;
        const says = typeof told === "function" ? told(results[0]) : told;
        return html`<tr><th scope="row" title=${says}>${title}<br /><small>${says}</small></th>
          ${results.map((one) => html`<td class=${HUES[one.label]} data-name=${named(one)}>${text(one)}${size
            ? html`<${Bar} share=${size(one) / most} kind=${HUES[one.label]} />` : null}</td>`)}</tr>`; })}</tbody></table></div>
    <h3 class="after">Tokens of every request</h3><${Lines} results=${results} />
    ${results.filter((one) => one.label !== "everything").map((one) => html`<details open=${one.label === "tried" && one.lost_count > 0}>
      <summary>${named(one)}: ${one.lost_count ? many(one.lost_count, "name") + " out of reach when needed"
        : "nothing that a call needed was out of reach"}</summary>
      ${one.lost.map((lost) => html`<p class="quote lost"><b>Call ${lost.call + 1}${lost.user ? " of " + lost.user
        : ""}</b> needed <code>${plain(lost.text)}</code>. It had stood in ${plain(lost.stood)}</p>`)}
      ${one.missed.slice(0, 12).map((miss) => html`<p class="quote lost">
        <b>${miss.kind}</b> missing in ${many(miss.calls, "request")}: ${plain(miss.text).slice(0, 200)}</p>`)}</details>`)}
  </section>`;
}

function Lines({ results }) {
  const width = 1000, height = 200, calls = Math.max(2, ...results.map((one) => one.windows.length));
  const most = Math.max(1, ...results.flatMap((one) => one.windows)) * 1.05;
  const at = (n, tokens) => ((n / (calls - 1)) * width).toFixed(1) + "," + (height - (tokens / most) * height).toFixed(1);
  return html`<svg class="chart lines" viewBox="0 0 ${width} ${height}" preserveAspectRatio="none" role="img"
    aria-label=${results.map((one) => named(one) + ": up to " + number(one.peak) + " tokens").join(", ")}>
    ${results.map((one) => html`<polyline class=${HUES[one.label]} vector-effect="non-scaling-stroke"
      points=${one.windows.map((tokens, n) => at(n, tokens)).join(" ")} />`)}</svg>
    <div class="legend">${results.map((one) =>
      html`<span class=${HUES[one.label]}><i></i>${named(one)} <b>${number(one.peak)}</b></span>`)}</div>`;
}
