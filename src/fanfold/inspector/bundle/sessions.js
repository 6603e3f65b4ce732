// All sessions of a tenant: how full each window is, what it cost, and who came from whom.
import { html, useState } from "./vendor/htm-preact.js";
import { Bar, Wait, ago, dollars, many, number, percent, to, useAsk } from "./parts.js";

function inOrder(sessions) {
  const names = new Set(sessions.map((one) => one.name));
  const children = {};
  for (const one of sessions) if (one.parent && names.has(one.parent)) (children[one.parent] ||= []).push(one);
  const found = [];
  const visit = (one, depth) => {
    if (found.some((each) => each.one === one)) return;
    found.push({ one, depth });
    for (const child of children[one.name] || []) visit(child, depth + 1);
  };
  for (const one of sessions) if (!one.parent || !names.has(one.parent)) visit(one, 0);
  return found;
}

function tone(fill) {
  return fill > 0.85 ? "hue5" : fill > 0.6 ? "hue2" : "hue3";
}

export function Sessions() {
  const asked = useAsk("sessions");
  const [words, setWords] = useState("");
  if (!asked.value) return html`<${Wait} of=${asked} />`;
  const told = (one) => [one.name, one.client, one.model].join(" ").toLowerCase().includes(words.toLowerCase());
  const rows = words ? asked.value.filter(told).map((one) => ({ one, depth: 0 })) : inOrder(asked.value);
  const cost = asked.value.reduce((sum, one) => sum + (one.cost || 0), 0);
  return html`<h1>${many(asked.value.length, "session")}</h1>
    <p class="lead">${cost ? dollars(cost) + " billed in all, at list prices. " : ""}Choose one to see what is in its window, and why.</p>
    <section>
      <div class="search"><input type="search" aria-label="Filter sessions by name, client or model" placeholder="Filter by name, client or model" value=${words} onInput=${(e) => setWords(e.target.value)} /></div>
      ${rows.length ? html`<div class="wide"><table>
        <thead><tr><th scope="col">Session</th><th scope="col">Window</th><th scope="col" class="n">Messages</th><th scope="col" class="n less">Requests</th><th scope="col" class="n less">Edits</th><th scope="col" class="n less">From cache</th><th scope="col" class="n">Cost</th><th scope="col" class="less">Last seen</th></tr></thead>
        <tbody>${rows.map(({ one, depth }) => html`<tr key=${one.name} class=${depth ? "child" : ""}>
          <td><a href=${to(one.name, "now")}><b>${one.name}</b></a><br /><small>${[depth ? "from " + one.parent : "", one.client, one.model].filter(Boolean).join(" · ") || "no model yet"}</small></td>
          <td title="The last request, as a share of the room for it"><${Bar} share=${one.fill} kind=${tone(one.fill)} /><small>${!one.tokens ? "no request yet" : one.room ? percent(one.fill) + " of " + number(one.room) : number(one.tokens) + " tokens"}</small></td>
          <td class="n">${number(one.messages)}</td><td class="n less">${number(one.requests)}</td><td class="n less">${number(one.edits)}</td>
          <td class="n less">${one.prompt ? percent(one.cached_share) : "–"}</td><td class="n">${dollars(one.cost)}</td><td class="less">${ago(one.seen)}</td>
        </tr>`)}</tbody></table></div>` : html`<p class="remark">${asked.value.length ? "No session is called so." : "There are no sessions here yet. This page shows them as soon as something is written to the store."}</p>`}
    </section>`;
}
