// Outputs: whole, by lines, and searched. Only the lines that can be seen are fetched.
import { html, useState } from "./vendor/htm-preact.js";
import { ask, session } from "./api.js";
import { Line, LongList, WIDEST, Wait, asLines, bytes, many, number, plain, to, useAsk } from "./parts.js";

export function Outputs({ name, chosen }) {
  const asked = useAsk(session(name, "outputs"));
  const [pattern, setPattern] = useState("");
  const [sought, setSought] = useState("");
  const found = useAsk(sought ? session(name, "grep") : null, { pattern: sought, ignore_case: "1", ...(chosen ? { ref: chosen } : {}) });
  const hits = found.error ? { error: found.error.message } : found.value; // asked for again with every change: what is erased goes
  const search = (event) => { event.preventDefault(); setSought(pattern); };
  if (!asked.value) return html`<${Wait} of=${asked} />`;
  const all = asked.value;
  const where = chosen ? "Search " + chosen : "Search all outputs";
  return html`<h1>${many(all.length, "output")}, ${bytes(all.reduce((sum, one) => sum + one.size, 0))}</h1>
    <p class="lead">Each is kept whole, whatever the model sees of it.</p>
    <section>
      <form class="search" role="search" onSubmit=${search}>
        <input type="search" aria-label=${where + " by a pattern"} placeholder=${where + ", for example Traceback|Error"}
          value=${pattern} onInput=${(e) => setPattern(e.target.value)} /><button class="quiet">Search</button></form>
      ${hits ? html`<${Hits} hits=${hits} />` : null}
    </section>
    <div class="halves reading">
      <section><h2>All outputs</h2><${Table} name=${name} all=${all} chosen=${chosen} /></section>
      ${chosen ? html`<${One} key=${chosen} name=${name} id=${chosen} />`
        : html`<section><p class="remark">Choose an output to read it.</p></section>`}
    </div>`;
}

function Hits({ hits }) {
  if (hits.error) return html`<p class="alarm" role="alert">${hits.error}</p>`;
  return html`<p class="remark" role="status">${hits.length ? many(hits.length, "line") + " found" : "No line was found."}</p>
    ${hits.slice(0, 100).map((hit) => html`<div class="line"><b>${hit.ref}:${number(hit.line)}</b>
      ${hit.undone ? html`<small>${hit.undone}, undone</small>` : null}
      <span>${plain(hit.text).slice(0, 300)}</span></div>`)}`;
}

const LISTED = 500;

function Table({ name, all, chosen }) {
  const what = (one) => (one.answers ? html`<span class="done">${plain(one.answers)}</span>`
    : one.ref.startsWith("m") ? "What a summary stands for" : null);
  return html`<div class="wide"><table>
      <thead><tr><th scope="col">Reference</th><th scope="col">What it is</th><th scope="col" class="n">Size</th>
        <th scope="col" class="n less">Lines</th></tr></thead>
      <tbody>${all.slice(0, LISTED).map((one) => html`<tr key=${one.ref}>
        <td><a href=${to(name, "outputs", one.ref)} aria-current=${one.ref === chosen ? "true" : null}>${one.ref}</a></td>
        <td class="what">${what(one)} ${one.media === "text/plain" ? null : html`<small>${one.media}</small>`}</td>
        <td class="n">${bytes(one.size)}</td><td class="n less">${number(one.lines)}</td></tr>`)}</tbody></table></div>
    ${all.length > LISTED ? html`<p class="remark">The newest ${LISTED} are listed.</p>` : null}
    ${all.length ? null : html`<p class="remark">No tool gave anything back yet.</p>`}`;
}

function One({ name, id }) {
  const asked = useAsk(session(name, "outputs/" + encodeURIComponent(id)), { limit: 1 });
  if (!asked.value) return html`<section><${Wait} of=${asked} /></section>`;
  const one = asked.value;
  const read = (query) => ask(session(name, "outputs/" + encodeURIComponent(id)), query);
  const fetchPage = (offset, limit) => read({ offset: offset + 1, limit }).then(asLines);
  const readWhole = (at) => read({ offset: at + 1, limit: 1, widest: WIDEST }).then((found) => found.lines[0]);
  const line = (value, at) => html`<${Line} line=${value} at=${at} total=${one.total} readWhole=${readWhole} />`;
  return html`<section class="lines" aria-label=${"Output " + id}><h2>${id}: ${bytes(one.size)}, ${many(one.total, "line")}</h2>
    ${one.src ? html`<div class="message"><img src=${one.src} alt=${"Output " + id} /></div>` : one.lines.length
      ? html`<${LongList} name=${"Lines of " + id} total=${one.total} high=${20} mark=${id} fetchPage=${fetchPage} row=${line} />`
          : html`<p class="remark">It is ${one.media} and cannot be read as lines.</p>`}
  </section>`;
}
