// Health: how the gateway is doing, from what its metrics count.
import { html, useEffect, useState } from "./vendor/htm-preact.js";
import { ask } from "./api.js";
import { Bar, Wait, ago, bytes, many, number, percent } from "./parts.js";

const good = (status) => status < "400";
const sum = (counts, name) => counts.filter((one) => one.name === name).reduce((all, one) => all + one.count, 0);

export function Health() {
  const [told, setTold] = useState(null);
  const [error, setError] = useState(null);
  const [past, setPast] = useState([]);
  useEffect(() => {
    let gone = false;
    const look = () => ask("health").then((found) => {
      if (gone) return;
      setTold(found);
      setPast((old) => [...old, sum(found.counts, "requests")].slice(-121));
    }, (failed) => gone || setError(failed));
    look();
    const timer = setInterval(look, 1000);
    return () => { gone = true; clearInterval(timer); };
  }, []);
  if (!told) return html`<${Wait} of=${{ error }} />`;
  const count = (name) => sum(told.counts, name);
  const failures = told.upstreams.reduce((all, one) => all + one.failures, 0);
  const bypassed = told.counts.filter((one) => one.name === "bypassed");
  const rates = past.slice(1).map((n, at) => n - past[at]);
  const FIGURES = [
    ["Being served", told.active, "Requests that are at work just now."],
    ["Managed", count("managed"), "Requests whose conversation is kept inside its window."],
    ["Reduced", count("edited"), "Requests that went out with something left out."],
    ["Refused as too long", count("refused_too_long"),
      "Times a provider said so; the client did not notice while anything could be left out."],
    ["Hidden rounds", count("hidden_rounds"), "Times the model looked something up again."],
    ["Client compactions", count("client_compactions"), "Times a client compacted, and got a reference instead."],
    ["Passed on as they are", count("bypassed"), "Requests that are not managed: see the reasons below."],
    ["Streams cut", count("streams_cut"), "By clients that went, or by providers."],
  ];
  const title = failures ? many(failures, "request") + " did not reach a provider"
    : count("requests") ? "All is well: " + many(count("requests"), "request") : "No request came yet";
  return html`<h1>${title}</h1>
    <p class="lead">Since the gateway was started, ${ago(told.since)}. The same figures are at <code>/metrics</code>.</p>
    <section><h2>Requests a second</h2><${Beat} rates=${rates} />
      <dl class="figures wordy">${FIGURES.map(([title, n, says]) =>
        html`<div title=${says}><dt>${title}</dt><dd>${number(n)}<small>${says}</small></dd></div>`)}</dl></section>
    <div class="halves">
      <section><h2>Upstreams</h2>${told.upstreams.map((one) => html`<${Upstream} key=${one.provider} one=${one} />`)}</section>
      <section><h2>Live sessions</h2>
        ${told.pool ? html`<${Pool} pool=${told.pool} />` : html`<p class="remark">Nothing is managed here.</p>`}
        <h2 class="after">Passed on as they are</h2><${Bypassed} counts=${bypassed} /></section>
    </div>`;
}

function Upstream({ one }) {
  const answers = Object.entries(one.answers);
  const all = answers.reduce((sum, [, n]) => sum + n, 0);
  const well = answers.reduce((sum, [status, n]) => sum + (good(status) ? n : 0), 0);
  const told = answers.map(([status, n]) => html`<span class=${good(status) ? "" : "alarm"}>${status}: ${number(n)}</span>`);
  return html`<div class="card"><div><b>${one.provider}</b> <small>${one.address}</small>
    <${Bar} share=${all ? well / all : 0} kind=${one.failures ? "red" : "hue3"} title="Share of good answers" />
    <div class="meta">${all ? told : html`<span>not asked yet</span>`}
      ${one.failures ? html`<span class="alarm">${number(one.failures)} failed to reach it</span>` : null}</div></div></div>`;
}

function Pool({ pool }) {
  const asked = pool.hits + pool.misses;
  const figures = [
    ["Open", number(pool.open)], ["In use", number(pool.used)], ["Memory", bytes(pool.bytes)],
    ["Found open", percent(asked ? pool.hits / asked : null)], ["Closed again", number(pool.evicted)],
  ];
  return html`<dl class="figures">${figures.map(([title, value]) => html`<div><dt>${title}</dt><dd>${value}</dd></div>`)}</dl>`;
}

function Bypassed({ counts }) {
  if (!counts.length) return html`<p class="remark">Every request was managed.</p>`;
  return html`<table><tbody>${counts.map((one) =>
    html`<tr><th scope="row">${one.labels.reason}</th><td class="n">${number(one.count)}</td></tr>`)}</tbody></table>`;
}

function Beat({ rates }) {
  const most = Math.max(1, ...rates), step = 1000 / 120;
  const left = (at) => ((120 - rates.length + at) * step + 1).toFixed(1);
  const bars = rates.map((n, at) =>
    "M" + left(at) + " 60v" + (-58 * (n / most)).toFixed(1) + "h" + (step - 2).toFixed(1) + "V60z").join("");
  const now = number(rates[rates.length - 1] || 0);
  return html`<svg class="chart beat" viewBox="0 0 1000 60" preserveAspectRatio="none" role="img"
    aria-label=${"Requests in each of the last seconds; now " + now}><path class="fresh" d=${bars} /></svg>
    <div class="legend"><span>the last two minutes</span><span>now <b>${now}</b></span>
      <span>at most <b>${number(Math.max(0, ...rates))}</b></span></div>`;
}
