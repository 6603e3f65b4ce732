// One request: its exact body, what differs from the one before, cache and bill.
import { html, useEffect } from "./vendor/htm-preact.js";
import { ask, session } from "./api.js";
import { Line, LongList, WIDEST, Wait, asLines, clock, dollars, hue, label, many, number, plain, to, useAsk, useChange } from "./parts.js";

export const CAUSES = {
  first: "It was the first request.",
  model: "Another model was asked.",
  tools: "The tools changed.",
  system: "The system prompt changed.",
  params: "A parameter changed that is a part of the prompt.",
  edit: "An edit changed an earlier row.",
  changed: "The client changed an earlier message.",
  path: "The conversation went on from an earlier message.",
  note: "A note came in between.",
  expired: "It came too late: the provider had forgotten the prompt.",
  short: "The prompt was too short to be cached.",
  marks: "The cache marks stand elsewhere.",
  provider: "The prompt was the same and in time, but the provider did not use its cache.",
};
const MOST = 12; // rows of a difference that are listed

export function Request({ name, at }) {
  const asked = useAsk(session(name, "requests/" + at), { limit: 1 });
  const change = useChange(name);
  useEffect(() => { // a search names it by its context, and that may be erased here
    if (asked.value && at.length >= 32) location.replace(to(name, "request", asked.value.number));
  }, [asked.value]);
  if (!asked.value) return html`<${Wait} of=${asked} />`;
  const one = asked.value;
  const erase = () => change("erase", { entry: "request " + one.number },
    "Destroy the context of request " + one.number + " for good", "Destroy it", "Destroyed");
  const step = (n, title) => html`<a class="button quiet" href=${to(name, "request", n)}>${title}</a>`;
  return html`<h1>Request ${one.number} of ${plain(name)}</h1>
    <p class="lead">${[plain(one.model), clock(one.time)].filter(Boolean).join(" · ")}. ${one.exact
      ? html`<span class="good">This is exactly the body that went out.</span>`
      : "The body is written again from the log; the one that went out may differ in details."}</p>
    <div class="buttons">
      ${one.number > 0 ? step(one.number - 1, "← Request " + (one.number - 1)) : null}
      ${one.number < one.requests - 1 ? step(one.number + 1, "Request " + (one.number + 1) + " →") : null}
      <a class="button quiet" href=${to(name, "time", one.number)}>On the time line</a>
      ${one.context ? html`<button class="quiet" onClick=${erase}>Erase its context …</button>` : null}
    </div>
    <${Bill} name=${name} one=${one} />
    ${one.diff ? html`<${Difference} name=${name} one=${one} />` : null}
    <${Body} name=${name} at=${at} one=${one} />`;
}

function Bill({ name, one }) {
  const use = one.cache, all = Math.max(1, use.prompt), read = use.read ?? 0;
  const says = number(read) + " tokens from the cache, " + number(use.again) + " sent again, of " + number(all);
  const wide = (tokens) => ({ width: (tokens / all) * 100 + "%" });
  return html`<section><h2>Bill and cache</h2>
    <div class="prompt" role="img" aria-label=${says}>
      <span class="hue3" style=${wide(read)}></span><span class="red" style=${wide(Math.min(use.again, all - read))}></span>
    </div>
    <div class="legend">
      <span class="hue3"><i></i>From the cache <b>${use.read === null ? "not billed" : number(read)}</b></span>
      <span class="red"><i></i>Sent before, not from the cache <b>${number(use.again)}</b></span>
      <span class="free"><i></i>Whole prompt <b>${number(use.prompt)}</b></span>
    </div>
    <p><b>Where did the cached beginning end, and why?</b> <${Cause} name=${name} use=${use} /></p>
    <${Figures} one=${one} />
  </section>`;
}

function Cause({ name, use }) {
  if (!use.broken) return "All that was sent before could come from the cache: " + number(use.could) + " tokens.";
  const { cause, where, what } = use.broken;
  const place = !where ? null : /^e\d+$/.test(where) ? html`<a href=${to(name, "edit", where)}>Edit ${where}</a>. `
    : html`<code>${where.slice(0, 24)}</code> `;
  return html`${CAUSES[cause]} ${place}${what || ""}${use.cost ? " It cost " + dollars(use.cost) + "." : ""}`;
}

function Figures({ one }) {
  const prompt = one.cache.prompt, billed = Boolean(one.usage);
  const off = ((one.tokens / Math.max(1, prompt) - 1) * 100).toFixed(1) + " %";
  const seconds = (n) => (n === null ? "–" : n < 60 ? n.toFixed(1) + " s" : Math.round(n / 60) + " min");
  const figures = [
    ["Estimate", number(one.tokens)], ["Billed", billed ? number(prompt) : "no bill"], ["Estimate off by", billed ? off : "–"],
    ["Reply", billed ? number(one.usage.output || 0) : "–"], ["Cost", dollars(one.cost)], ["Answered after", seconds(one.seconds)],
  ];
  return html`<dl class="figures">${figures.map(([title, value]) =>
    html`<div key=${title}><dt>${title}</dt><dd>${value}</dd></div>`)}</dl>`;
}

function Difference({ name, one }) {
  const { diff } = one;
  const parts = [["came", "New here"], ["gone", "No longer here"], ["changed", "Changed"]].filter(([key]) => diff[key].length);
  const edits = one.edits_before.map((edit) => html`<a href=${to(name, "edit", edit.id)}>${edit.id}</a> `);
  return html`<section>
    <h2>Compared with request ${one.number - 1}: ${number(diff.before)} → ${number(diff.after)} tokens</h2>
    ${parts.map(([key, title]) => html`<h3>${title}: ${diff[key].length}</h3>
      ${diff[key].slice(0, MOST).map((id) => html`<${Changed} key=${id} id=${id} row=${diff.rows[id]} />`)}
      ${diff[key].length > MOST ? html`<p class="remark">The first ${MOST} are listed.</p>` : null}`)}
    ${parts.length ? null : html`<p class="remark">The same rows.</p>`}
    ${edits.length ? html`<p>Edits made in between: ${edits}</p>` : null}
  </section>`;
}

const Changed = ({ id, row }) => html`<div class="differs">
  <span class="chip ${hue(row?.kind)}"><i></i>${label(row?.kind)}</span>
  <span>${number(row?.tokens)} tokens</span>
  <span class="quote" dir="auto">${plain(row?.text || id).slice(0, 140)}</span>
</div>`;

function Body({ name, at, one }) {
  const read = (query) => ask(session(name, "requests/" + at), query);
  const fetchPage = (offset, limit) => read({ offset, limit }).then(asLines);
  const readWhole = (n) => read({ offset: n, limit: 1, widest: WIDEST }).then((found) => found.lines[0]);
  const tone = (n) => (n < one.same ? "same" : n && n === one.same ? "edge" : "");
  const line = (value, n) => html`<${Line} line=${value} at=${n} total=${one.total} tone=${tone(n)} readWhole=${readWhole} />`;
  return html`<section class="lines"><h2>The body, ${many(one.total, "line")}</h2>
    ${one.same ? html`<p class="remark">
      ${many(one.same, "line")} at the beginning ${one.same === 1 ? "is" : "are"} as in the request before,
      and can be read from the cache; they are dimmed.</p>` : null}
    <${LongList} name="The body that was sent" total=${one.total} high=${20} mark=${at + ":" + one.version}
      fetchPage=${fetchPage} row=${line} />
  </section>`;
}
