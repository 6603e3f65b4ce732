// The picture of the time line: one bar for each request, and below it what happened before that request.
import { html } from "./vendor/htm-preact.js";
import { KINDS, hue } from "./parts.js";

const WIDTH = 1000, HEIGHT = 200, FOOT = 36, TOP = 12, FLOOR = HEIGHT - FOOT;
const SAMPLES = 80;

export const prompt = (one) => one.cache.prompt;
export const isBroken = (one) => Boolean(one.cache.broken && !["first", "short"].includes(one.cache.broken.cause));
const read = (one) => one.cache.read || 0;

// What fills the window is asked for of at most so many requests: each stands for those beside it.
export const stride = (count) => Math.max(1, Math.ceil(count / SAMPLES));

export const mostTokens = (requests, room) => Math.max(1, room || 0, ...requests.map(prompt));
export const mostCost = (requests) => Math.max(1e-9, ...requests.map((one) => one.cost || 0));

// A rectangle from one height to another, as a piece of a path: thousands of bars are a few paths, so that dragging stays smooth.
function bar(x, from, to, width) {
  const [low, high] = [FLOOR - from, FLOOR - Math.max(from, to)].map((y) => y.toFixed(1));
  return `M${x.toFixed(2)} ${low}V${high}h${width.toFixed(2)}V${low}z`;
}

const tall = (n, most) => (FLOOR - TOP) * (n / most);

function bars(requests, most, test, from, to) {
  const step = WIDTH / requests.length, width = Math.max(0.4, step * 0.86);
  return requests.map((one, n) => (test(one) ? bar(n * step, tall(from(one), most), tall(to(one), most), width) : "")).join("");
}

const none = () => 0;

export function cacheLayers(requests, most) {
  return [
    { class: "guess", path: bars(requests, most, (one) => one.cache.read === null, none, prompt) },
    { class: "fresh", path: bars(requests, most, (one) => one.cache.read !== null, read, prompt) },
    { class: "cached", path: bars(requests, most, (one) => read(one) > 0, none, read) },
  ];
}

export function costLayers(requests, most) {
  return [{ class: "fresh", path: bars(requests, most, (one) => one.cost > 0, none, (one) => one.cost) }];
}

export function fillLayers(requests, most, fills) {
  const step = WIDTH / requests.length, width = step * stride(requests.length) * 0.9;
  const paths = {};
  for (const { number, picture } of Object.values(fills)) {
    let at = 0;
    for (const kind of Object.keys(KINDS).filter((one) => picture[one])) {
      paths[kind] = (paths[kind] || "") + bar(number * step, tall(at, most), tall(at + picture[kind], most), width);
      at += picture[kind];
    }
  }
  return Object.entries(paths).map(([kind, path]) => ({ class: `filled ${hue(kind)} ${kind}`, path, kind }));
}

// What happened before a request, one line of marks for each.
export const MARKS = [
  { tint: "hue4", class: "edit", title: "Edits were made", next: "the next edit", test: (one) => one.edits.length },
  { tint: "red", class: "broken", title: "The cache was broken", next: "the next cache break", test: isBroken },
  { tint: "hue2", class: "refused", title: "Refused as too long", next: "the next refusal", test: (one) => one.refused },
  { tint: "hue5", class: "event", title: "Something else happened", next: "the next event", test: (one) => one.events.length },
];

function marks(requests, row, test) {
  const step = WIDTH / requests.length, width = Math.max(2, step * 0.86).toFixed(2), y = FLOOR + 4 + row * 8;
  return requests.map((one, n) => (test(one) ? `M${(n * step).toFixed(2)} ${y}h${width}v6h-${width}z` : "")).join("");
}

export function Chart({ requests, at, choose, layers, limit, says }) {
  const step = WIDTH / requests.length;
  const pick = (event) => {
    const area = event.currentTarget.getBoundingClientRect();
    const n = Math.floor(((event.clientX - area.left) / area.width) * requests.length);
    choose(Math.max(0, Math.min(requests.length - 1, n)));
  };
  const grab = (event) => {
    event.currentTarget.setPointerCapture(event.pointerId);
    pick(event);
  };
  return html`<svg class="chart" viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label=${says}
      onPointerDown=${grab} onPointerMove=${(event) => event.buttons && pick(event)}>
    ${limit ? html`<path class="limit" d="M0 ${FLOOR - (FLOOR - TOP) * limit}H${WIDTH}" vector-effect="non-scaling-stroke" />` : null}
    ${layers.map((one) => html`<path key=${one.class} class=${one.class} d=${one.path} />`)}
    ${MARKS.map((one, row) => html`<path key=${one.class} class=${one.class} d=${marks(requests, row, one.test)} />`)}
    <rect class="now" x=${at * step} width=${step} y=${TOP - 6} height=${HEIGHT - TOP + 4} vector-effect="non-scaling-stroke" />
  </svg>`;
}
