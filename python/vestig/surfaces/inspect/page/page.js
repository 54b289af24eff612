// The inspector. What is stored goes into the page as text nodes and nothing else.

const API = "/api/memory/";
const CUT = 600;
const view = document.getElementById("view");
const state = document.getElementById("state");
let token = null;
let overview = null;
let newest = 0;

async function ask(path, body) {
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  const options = { headers };
  if (body !== undefined) {
    headers["Content-Type"] = "application/json";
    Object.assign(options, { method: "POST", body: JSON.stringify(body) });
  }
  const answer = await fetch(API + path, options);
  const found = await answer.json();
  if (answer.ok) return found;
  if (answer.status === 401) document.getElementById("token").hidden = false;
  throw new Error(found.detail ?? found.title ?? `status ${answer.status}`);
}

// --- elements, made of text nodes: no string ever becomes markup ---------------------------------

function el(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

function svg(name, attributes = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

function filled(made, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(key.slice(2), value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children.flat(9).filter((one) => one !== null && one !== undefined && one !== false));
  return made;
}

const link = (target, text) => el("a", { href: `#${target}`, class: "line", dir: "auto" }, text);

const short = (id) => id.replace(/^([a-z]+_\w{8}).*$/, "$1");

// --- pieces -------------------------------------------------------------------------------------

const moment = (text) => (text ? el("time", { datetime: text, title: text }, `${text.slice(0, 16).replace("T", " ")} UTC`) : "–");
const number = (value, digits = 4) => (typeof value === "number" ? value.toFixed(digits) : "–");
const signed = (value) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(2)}`;
const note = (text) => el("p", { class: "note", dir: "auto" }, text);
const notes = (found) => [
  ...(found.degraded ?? []).map((one) => note(`${one.code}: ${one.detail}${one.count ? ` (${one.count})` : ""}`)),
  ...(found.warnings ?? []).map(note),
];
const clipped = (text, limit) => {
  const signs = Array.from(text);
  return signs.length > limit ? `${signs.slice(0, limit).join("")}…` : text;
};
const memoryLink = (id, text) => link(`memory?${new URLSearchParams({ id })}`, text ?? el("code", {}, short(id)));
const graphLink = (id, text) => link(`graph?${new URLSearchParams({ ids: id })}`, text);
const facts = (pairs) => el("dl", {}, pairs.filter(([, value]) => value !== null && value !== undefined && value !== "")
  .flatMap(([name, value]) => [el("dt", {}, name), el("dd", { dir: "auto" }, value)]));

// Numbers and words in capitals, such as a status, stay on one line.
function cellAttributes(cell) {
  if (typeof cell === "number") return { class: "number" };
  return /^[A-Z_]{1,20}$/.test(cell) ? { class: "word" } : { dir: "auto" };
}

function table(heads, rows) {
  const head = el("tr", {}, heads.map((one) => el("th", { scope: "col" }, one)));
  const body = rows.map((row) => el("tr", {}, row.map((cell) => el("td", cellAttributes(cell), typeof cell === "number" ? String(cell) : cell))));
  return el("div", { class: "scroll" }, el("table", {}, el("thead", {}, head), el("tbody", {}, body)));
}

function stored(text, limit = CUT) {
  const signs = Array.from(text);
  if (signs.length <= limit) return el("p", { class: "stored", dir: "auto" }, text);
  const shown = el("p", { class: "stored", dir: "auto" }, clipped(text, limit));
  const more = el("button", { class: "small", type: "button", onclick: () => { shown.textContent = text; more.remove(); } },
    `Show all ${signs.length.toLocaleString("en")} characters`);
  return el("div", {}, shown, more);
}

function field(label, name, value, attributes = {}) {
  return el("label", attributes.wide ? { class: "wide" } : {}, label, el("input", { name, value: value ?? "", autocomplete: "off", ...attributes, wide: null }));
}

function choice(label, name, value, options) {
  const made = options.map(([key, text]) => el("option", { value: key, selected: key === (value ?? options[0][0]) }, text));
  return el("label", {}, label, el("select", { name }, made));
}

function form(target, ...children) {
  return el("form", { onsubmit: (event) => {
    event.preventDefault();
    const filled = [...new FormData(event.target)].filter(([, value]) => value !== "");
    const next = `#${target}?${new URLSearchParams(filled)}`;
    if (location.hash === next) show(); else location.hash = next;
  } }, children);
}

const asOf = (params) => field("As of (UTC)", "as_of", params.get("as_of"), { placeholder: "2026-01-31T12:00Z" });

// --- recall -------------------------------------------------------------------------------------

const EDGES = { MENTIONS: "mentions", RELATED: "related", SUMMARIZES: "summary", RELATION: "relation" };

// Leads that are not shown as 0.00.
const told = (leads) => Object.entries(leads ?? {}).filter(([, lead]) => Math.abs(lead) >= 0.005);

function pathOf(reason, query, labels) {
  const leads = told(reason.leads).filter(([, lead]) => lead > 0).map(([group]) => group);
  const place = (id) => el("span", { class: id.startsWith("ent_") ? "place entity" : "place", dir: "auto" }, labels.get(id) ?? short(id));
  const steps = [el("li", {}, el("span", { class: "place", dir: "auto" }, query))];
  const walked = (reason.path ?? []).slice(1);
  if (reason.start) steps.push(el("li", {}, el("span", { class: "kind" }, leads.length ? "found first" : ""), place(reason.start)));
  walked.slice(0, -1).forEach((one) => {
    const [kind, id] = one.split(":");
    steps.push(el("li", {}, el("span", { class: "kind" }, EDGES[kind] ?? kind), place(id)));
  });
  const last = walked.length ? EDGES[walked.at(-1).split(":")[0]] : leads.join(", ") || "nearest";
  steps.push(el("li", {}, el("span", { class: "kind" }, last), el("span", { class: "place" }, "this memory")));
  return el("ol", { class: "path", "aria-label": "Path from the question to this memory" }, steps);
}

function bars(leads, most) {
  const made = el("div", { class: "bars" });
  for (const [group, lead] of told(leads)) {
    const fill = el("i", { class: lead < 0 ? "minus" : "plus" });
    const width = Math.min(50, (50 * Math.abs(lead)) / most);
    fill.style.width = `${width}%`;
    fill.style.left = lead < 0 ? `${50 - width}%` : "50%";
    made.append(el("span", {}, group), el("span", { class: "bar", "aria-hidden": "true" }, fill), el("span", { class: "number" }, signed(lead)));
  }
  return made;
}

function numbers(hit) {
  const reason = hit.reason;
  const rows = Object.entries(reason.signals ?? {}).map(([name, one]) => [name, number(one.raw), number(one.weight, 2), number(one.raw * one.weight, 2), (one.matched ?? []).join(", ")]);
  return el("details", {}, el("summary", {}, "All numbers"),
    rows.length ? table(["Term", "Value", "Weight", "Adds", "Matched"], rows) : null,
    facts([
      ["Similarity", number(reason.similarity)], ["Level", number(reason.start_score)], ["Base", number(reason.base, 6)],
      ["Path score", number(reason.path_score)], ["Use and age", number(reason.tracerank_boost?.multiplier)], ["Final", number(reason.final_score, 6)],
      ["Question stored with it", reason.hypothetical ? `${reason.hypothetical.question} (${number(reason.hypothetical.cosine)})` : null],
    ]));
}

function result(hit, place, found, labels, most) {
  const flags = (hit.reason.flags ?? []).map((one) => el("span", { class: "flag" }, one.replace(/(mem_\w{8})[\w-]*/, "$1")));
  return el("article", {},
    el("div", { class: "top" }, el("span", { class: "rank" }, place), el("span", {}, `score ${number(hit.score, 3)}`), moment(hit.t_valid),
      [hit.author, hit.role, hit.scope].filter(Boolean).map((one) => el("bdi", { class: "line" }, clipped(one, 60))), flags),
    stored(hit.content),
    pathOf(hit.reason, found.query, labels),
    bars(hit.reason.leads, most),
    el("p", { class: "quiet line", dir: "auto" }, hit.reason.explanation ?? ""),
    numbers(hit),
    el("div", { class: "links" }, memoryLink(hit.id, "Evidence and events"), graphLink(hit.id, "Neighbourhood")));
}

const STAGES = {
  unknown: "No such memory here.", other_namespace: "It lies in another namespace.", filtered: "A filter leaves it out.",
  folded: "A result has the same text.", not_in_pool: "It was not among the candidates.", ranked_below: "Others rank above it.",
  below_min_score: "Its score is below the least one.", abstained: "The store was not sure enough to answer.",
};

function whyNot(one) {
  const change = one.change;
  return el("section", { class: "card" }, el("h3", {}, "Why not ", memoryLink(one.id)), el("p", {}, STAGES[one.stage] ?? one.stage),
    facts([
      ["Filters", (one.filters ?? []).join(", ")], ["Rank", one.rank === null ? null : String(one.rank)], ["Score", one.score === null ? null : number(one.score)],
      ["It would come with", change ? `${change.key}: ${JSON.stringify(change.before)} → ${JSON.stringify(change.after)}${change.rank ? ` (rank ${change.rank})` : ""}` : one.no_change],
      ["Last result", one.last_returned ? `rank ${one.last_returned.rank}, score ${number(one.last_returned.score)}` : null],
    ]));
}

function recallOf(params, profile) {
  const expect = params.get("expect");
  return ask("recall", {
    query: params.get("q"), limit: Number(params.get("limit") ?? 5), explain: true,
    ...(profile ? { profile } : {}), ...(params.get("as_of") ? { as_of: params.get("as_of") } : {}), ...(expect ? { expect: expect.split(/[\s,]+/) } : {}),
  });
}

// Labels of all that the paths of several answers go through, by id.
async function labelsOf(answers) {
  const ids = answers.flatMap((found) => [...found.results, ...(found.associated ?? [])])
    .flatMap((hit) => [hit.reason.start, ...(hit.reason.path ?? []).slice(1).map((one) => one.split(":")[1])]).filter(Boolean);
  if (!ids.length) return new Map();
  const named = await ask("neighbourhood", { ids: [...new Set(ids)], depth: 0, limit: 1000, snippet_len: 40, include_expired: true });
  return new Map(named.nodes.map((node) => [node.id, node.label]));
}

function recalled(found, labels) {
  const beside = found.associated ?? [];
  const hits = found.results.length ? found.results : found.nearest ?? [];
  const most = Math.max(1e-9, ...[...hits, ...beside].flatMap((hit) => Object.values(hit.reason.leads ?? {}).map(Math.abs)));
  const sure = found.confidence === null || found.confidence === undefined ? "no confidence in this profile" : `confidence ${number(found.confidence, 2)}`;
  return el("section", { "aria-label": `Profile ${found.profile}` },
    el("h2", {}, `${found.profile}: ${sure}`),
    el("p", { class: "quiet" }, `${found.counts.eligible} eligible of ${found.counts.stored}; bars: lead over the mean of the candidates`),
    notes(found), (found.why_not ?? []).map(whyNot),
    found.results.length ? null : el("p", {}, hits.length ? "Abstained; what would have been shown:" : "No memories found."),
    hits.map((hit, at) => result(hit, `${at + 1}.`, found, labels, most)),
    beside.length ? el("h3", {}, "Reached by links beside these") : null,
    beside.map((hit) => result(hit, "+", found, labels, most)));
}

async function recallView(params) {
  const profiles = overview.profiles.map((name) => [name, name]);
  const query = field("Question", "q", params.get("q"), { wide: true, required: true, type: "search", maxlength: 2000 });
  const made = [form("recall", query,
    choice("Results", "limit", params.get("limit") ?? "5", ["5", "10", "20", "50"].map((one) => [one, one])),
    choice("Profile", "profile", params.get("profile") ?? overview.profile, profiles),
    choice("Beside it", "beside", params.get("beside") ?? "", [["", "nothing"], ...profiles]),
    asOf(params),
    field("Why not this one?", "expect", params.get("expect"), { placeholder: "mem_…" }),
    el("button", { class: "main" }, "Recall"))];
  if (!params.get("q")) {
    const empty = overview.stats.memories === 0;
    return empty
      ? [...made, el("p", { class: "quiet" }, "This store holds no memories yet: add one with vestig add.")]
      : [...made, el("p", { class: "quiet" }, "Ask a question to see what comes back, and why."), await newestPart(), await keysPart(KEYS_SHOWN)];
  }
  const wanted = [params.get("profile"), params.get("beside")].filter((one, at) => at === 0 || one);
  const answers = await Promise.all(wanted.map((one) => recallOf(params, one)));
  const labels = await labelsOf(answers);
  const columns = answers.map((found) => recalled(found, labels));
  return [...made, el("div", { class: columns.length > 1 ? "columns two" : "columns" }, columns)];
}

// --- what the first page shows of the store -----------------------------------------------------

const NEWEST_SHOWN = 8;
const KEYS_SHOWN = 20;
const memoryRow = (one) => [memoryLink(one.id, clipped(one.content, 120)), moment(one.t_created), one.key ? keyLink(one.key) : ""];
const keyLink = (key) => link(`keys?${new URLSearchParams({ key })}`, clipped(key, 80));

async function newestPart() {
  const { memories } = await ask(`list?limit=${NEWEST_SHOWN}`);
  return [el("h2", {}, "Newest memories"), memories.length ? table(["Memory", "Stored", "Key"], memories.map(memoryRow)) : el("p", {}, "None is active."),
    el("div", { class: "links" }, link("list", "All memories"))];
}

async function keysPart(most) {
  const { keys } = await ask("keys");
  if (!keys.length) return [];
  return [el("h2", {}, "Keys"), el("ul", { class: "links" }, keys.slice(0, most).map((key) => el("li", {}, keyLink(key)))),
    keys.length > most ? el("div", { class: "links" }, link("keys", `All ${keys.length.toLocaleString("en")} keys`)) : null];
}

// Versions of what a memory states, of any of them.
async function versionsPart(one) {
  const { history } = await ask(`history?${new URLSearchParams({ key: one.id })}`);
  const rows = history.toReversed().map((other) => [memoryLink(other.id, clipped(other.content, 120)), moment(other.t_valid), other.t_invalid ? moment(other.t_invalid) : "still", other.status]);
  return [el("h2", {}, "Versions of ", el("code", { class: "line" }, one.key), one.scope ? [" in ", el("bdi", { class: "line" }, clipped(one.scope, 60))] : null), table(["Value", "Holds from", "To", "Status"], rows)];
}

// A key stands once in each scope.
async function keysView(params) {
  const key = params.get("key");
  const made = [form("keys", field("Key", "key", key, { wide: true, required: true }), el("button", { class: "main" }, "Versions"))];
  if (key) {
    const { memories } = await ask(`list?${new URLSearchParams({ limit: 10, where: JSON.stringify({ keys: [key] }) })}`);
    made.push(memories.length ? await Promise.all(memories.map(versionsPart)) : el("p", {}, "This key has no value."));
  }
  return [...made, await keysPart(Infinity)];
}

// --- one memory, and all of them ----------------------------------------------------------------

const period = (from, to, open) => el("span", {}, moment(from), " – ", to ? moment(to) : open);

function eventRow(one) {
  const payload = Object.entries(one.payload ?? {}).filter(([, value]) => value !== null && value !== false && !(Array.isArray(value) && !value.length));
  return [el("span", {}, one.event_type), moment(one.recorded_at), one.actor ?? "", String(one.seq),
    payload.length ? el("details", {}, el("summary", {}, "Details"), el("code", {}, JSON.stringify(Object.fromEntries(payload)))) : ""];
}

async function memoryView(params) {
  const id = params.get("id") ?? "";
  const asked = form("memory", field("Id of a memory, or at least 8 characters of it", "id", id, { wide: true, required: true }), el("button", { class: "main" }, "Show"));
  if (!id) return [asked];
  const found = await ask(`show/${encodeURIComponent(id)}?expand=1&include_expired=true`);
  const { events } = await ask(`events/${encodeURIComponent(found.id)}?limit=100`);
  const sources = found.sources ?? [];
  const chain = found.supersessions ?? [];
  const claim = found.claim ? el("details", { open: true }, el("summary", {}, "Statement"), el("code", {}, JSON.stringify(found.claim))) : null;
  return [asked, el("article", {}, el("div", { class: "top" }, el("span", { class: "rank" }, found.status), found.flags.map((one) => el("span", { class: "flag" }, one)), el("code", {}, found.id)),
    stored(found.content, 4000), el("div", { class: "links" }, graphLink(found.id, "Neighbourhood"), link(`recall?${new URLSearchParams({ q: clipped(found.content, 200) })}`, "Recall with this text"))),
  el("h2", {}, "Validity"), facts([
    ["Holds", period(found.t_valid, found.t_invalid, "still")], ["Recorded", period(found.t_created, found.t_expired, "still counts")],
    ["Stability", found.temporal_stability], ["Retention", found.retention_policy], ["Pinned", found.pinned ? (found.pinned_reason ?? "yes") : null],
    ["Stated again", found.reinforce_count ? `${found.reinforce_count} times, last ${found.last_seen_at ?? ""}` : null],
    ["Times named", found.times.map((one) => one.text).join(", ")]]),
  el("h2", {}, "Where it comes from"), facts([
    ["Author", found.author], ["Role", found.role], ["Session", found.session_id], ["Scope", found.scope], ["Key", found.key ? keyLink(found.key) : null], ["Title", found.title],
    ["Metadata", Object.keys(found.metadata).length ? el("code", {}, JSON.stringify(found.metadata)) : null]]),
  sources.length ? table(["Source", "Made", "Place"], sources.map((one) => [one.source_type, moment(one.created_at), [one.path, one.agent, one.session_id].filter(Boolean).join(" · ")])) : null, claim,
  found.key ? await versionsPart(found) : null,
  chain.length ? el("h2", {}, "Replacements") : null,
  chain.length ? table(["Newer", "Older", "When", "Reason"], chain.map((one) => [memoryLink(one.superseding_id), memoryLink(one.superseded_id), moment(one.created_at), one.reason ?? ""])) : null,
  el("h2", {}, "Links"),
  found.mentions?.length ? table(["Mentions", "Type", "Confidence"], found.mentions.map((one) => [graphLink(one.id, one.name), one.type, number(one.confidence, 2)])) : el("p", { class: "quiet" }, "It mentions no names."),
  found.related?.length ? table(["Related", "Weight"], found.related.map((one) => [memoryLink(one.id, one.content ?? short(one.id)), number(one.weight, 2)])) : null,
  el("h2", {}, "Events"), table(["Event", "Recorded", "By", "Seq", ""], events.map(eventRow)), notes(found)];
}

async function listView(params) {
  const offset = Number(params.get("offset") ?? 0);
  const all = params.get("all") === "on";
  const query = new URLSearchParams({ limit: 25, offset, ...(all ? { where: JSON.stringify({ include_expired: true, include_archived: true }) } : {}) });
  const found = await ask(`list?${query}`);
  const page = (to, text) => link(`list?${new URLSearchParams({ offset: to, ...(all ? { all: "on" } : {}) })}`, text);
  return [form("list", el("label", { class: "check" }, el("input", { type: "checkbox", name: "all", checked: all }), "With superseded, withdrawn and archived ones"), el("button", {}, "List")),
    found.memories.length ? table(["Memory", "Stored", "Key", "Status"], found.memories.map((one) => [...memoryRow(one), one.status ?? "ACTIVE"])) : el("p", {}, "No memories found."),
    el("div", { class: "links" }, offset ? page(Math.max(0, offset - 25), "Newer") : null, found.memories.length === 25 ? page(offset + 25, "Older") : null), notes(found)];
}

// --- the neighbourhood as rings: a node stands at its depth, near the one that leads to it -------

const LABELLED = 40;
const LABEL = 20;
const RADIUS = 330;
const WIDE = 1.45;

function places(nodes, edges) {
  const around = new Map(nodes.map((node) => [node.id, []]));
  for (const edge of edges) {
    around.get(edge.from_id).push(edge.to_id);
    around.get(edge.to_id).push(edge.from_id);
  }
  const rings = Map.groupBy ? Map.groupBy(nodes, (node) => node.depth) : grouped(nodes);
  const step = RADIUS / Math.max(1, ...rings.keys());
  const found = new Map();
  for (const [depth, ring] of [...rings].sort(([a], [b]) => a - b)) {
    const angle = (node) => around.get(node.id).map((id) => found.get(id)?.angle).find((one) => one !== undefined) ?? 0;
    const sorted = ring.map((node, at) => [angle(node), at, node]).sort(([a, i], [b, j]) => a - b || i - j);
    const radius = depth === 0 ? (ring.length > 1 ? 45 : 0) : depth * step;
    sorted.forEach(([, , node], at) => {
      const turn = (2 * Math.PI * (at + 0.5)) / ring.length;
      found.set(node.id, { angle: turn, radius, x: WIDE * radius * Math.cos(turn), y: radius * Math.sin(turn) });
    });
  }
  return { found, around, radii: [...rings.keys()].filter((depth) => depth > 0).map((depth) => depth * step) };
}

function grouped(nodes) {
  const rings = new Map();
  for (const node of nodes) rings.set(node.depth, [...(rings.get(node.depth) ?? []), node]);
  return rings;
}

function label(node, place) {
  const signs = Array.from(node.label.replace(/^UNTYPED:/, ""));
  const text = signs.length > LABEL ? `${signs.slice(0, LABEL).join("")}…` : signs.join("");
  if (node.depth === 0) return svg("text", { y: 28, "text-anchor": "middle" }, text);
  const degrees = (Math.atan2(place.y, place.x) * 180) / Math.PI;
  const left = place.x < 0;
  return svg("text", { x: left ? -13 : 13, y: 5, "text-anchor": left ? "end" : "start", transform: `rotate(${left ? degrees - 180 : degrees})` }, text);
}

function dot(node, count) {
  const size = node.depth === 0 ? 11 : count > 100 ? 4 : 7;
  const own = { class: `dot ${node.kind}` };
  if (node.kind === "entity") return svg("rect", { ...own, x: -size, y: -size, width: 2 * size, height: 2 * size, rx: 3 });
  return svg("circle", { ...own, r: size });
}

// Arrow keys move from node to node, the one with the focus is the only one that Tab reaches.
function movement(links) {
  const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
  return (event) => {
    const at = links.indexOf(event.target.closest("a"));
    const ends = { Home: 0, End: links.length - 1 };
    const next = ends[event.key] ?? (event.key in steps ? (at + steps[event.key] + links.length) % links.length : null);
    if (next === null || at < 0) return;
    event.preventDefault();
    links[at].setAttribute("tabindex", "-1");
    links[next].setAttribute("tabindex", "0");
    links[next].focus();
  };
}

function rings({ nodes, edges }, tell) {
  const { found, around, radii } = places(nodes, edges);
  const labelled = nodes.length <= LABELLED;
  const lines = new Map(nodes.map((node) => [node.id, []]));
  const drawn = edges.map((edge) => {
    const [a, b] = [found.get(edge.from_id), found.get(edge.to_id)];
    const line = svg("line", { x1: a.x, y1: a.y, x2: b.x, y2: b.y, "stroke-width": 0.6 + Math.min(1, edge.weight), class: a.radius === b.radius ? "beside" : null });
    lines.get(edge.from_id).push(line);
    lines.get(edge.to_id).push(line);
    return line;
  });
  const links = nodes.map((node, at) => {
    const place = found.get(node.id);
    const count = around.get(node.id).length;
    const target = node.kind === "entity" ? `graph?${new URLSearchParams({ ids: node.id })}` : `memory?${new URLSearchParams({ id: node.id })}`;
    const near = (on) => lines.get(node.id).forEach((line) => line.classList.toggle("near", on));
    return svg("a", {
      href: `#${target}`, tabindex: at ? -1 : 0, transform: `translate(${place.x} ${place.y})`,
      "aria-label": `${node.kind} ${node.label || short(node.id)}, ${node.depth} away, ${count} links`,
      onfocus: () => { near(true); tell(node); }, onblur: () => near(false), onmouseenter: () => { near(true); tell(node); }, onmouseleave: () => near(false),
    }, dot(node, nodes.length), labelled ? label(node, place) : null);
  });
  const [x, y] = labelled ? [WIDE * RADIUS + 185, RADIUS + 175] : [WIDE * RADIUS + 25, RADIUS + 25];
  return svg("svg", { class: labelled ? "rings" : "rings many", viewBox: `${-x} ${-y} ${2 * x} ${2 * y}`, role: "group", "aria-label": `Neighbourhood of ${nodes.length} nodes`, onkeydown: movement(links) },
    radii.map((radius) => svg("ellipse", { class: "ring", rx: WIDE * radius, ry: radius })), drawn, links);
}

// --- the graph ----------------------------------------------------------------------------------

async function graphView(params) {
  const text = params.get("ids") ?? "";
  const asked = form("graph", field("Memory by id, or entity by name", "ids", text, { wide: true, required: true }),
    choice("Links away", "depth", params.get("depth") ?? "2", ["1", "2", "3"].map((one) => [one, one])),
    choice("Nodes", "limit", params.get("limit") ?? "40", [["40", "40, with labels"], ["100", "100"], ["250", "250"], ["500", "500"]]),
    asOf(params), el("button", { class: "main" }, "Draw"));
  if (!text) return [asked, el("p", { class: "quiet" }, "Choose where to begin: the id of a memory, or a name.")];
  const parts = text.split(/[\s,]+/).filter(Boolean);
  const ids = parts.every((one) => /^(mem|ent)_/.test(one)) ? parts : [text];
  const found = await ask("neighbourhood", {
    ids, depth: Number(params.get("depth") ?? 2), limit: Number(params.get("limit") ?? 40), include_expired: true,
    ...(params.get("as_of") ? { as_of: params.get("as_of") } : {}),
  });
  const about = el("p", { role: "status", class: "line", dir: "auto" }, "Tab enters the picture, arrow keys move in it, Enter opens a node.");
  const kind = (name, text) => el("span", {}, el("span", { class: `key ${name}`, "aria-hidden": "true" }), text);
  const rows = found.nodes.map((node) => [node.depth, node.id.startsWith("mem_") ? memoryLink(node.id, node.label) : graphLink(node.id, node.label), node.kind]);
  return [asked, notes(found), found.nodes.length ? [
    el("p", { class: "links quiet" }, kind("memory", "memory"), kind("entity", "entity"), `${found.nodes.length} nodes, ${found.edges.length} links`,
      found.left_out ? `; ${found.left_out} more within this depth` : ""),
    el("div", { class: "scroll" }, rings(found, (node) => { about.textContent = `${node.kind}, ${node.depth === 0 ? "start" : `${node.depth} away`}: ${node.label}`; })), about,
    el("details", {}, el("summary", {}, "The same as a table"), table(["Away", "Node", "Kind"], rows))] : el("p", {}, "Nothing found.")];
}

// --- the store ----------------------------------------------------------------------------------

async function storeView() {
  overview = await ask("overview");
  const { stats, health } = overview;
  const counts = (found) => Object.entries(found ?? {}).map(([name, count]) => `${name} ${count}`).join(", ") || "none";
  const checks = el("div", {});
  const check = el("button", { type: "button", onclick: async () => {
    check.disabled = true;
    checks.replaceChildren(el("p", {}, "Checking …"));
    try {
      const found = await ask("doctor");
      checks.replaceChildren(table(["Check", "Level", "Finding"], found.findings.map((one) => [one.check, one.level, one.detail])));
    } catch (error) { checks.replaceChildren(note(error.message)); }
    check.disabled = false;
  } }, "Check the store");
  return [el("h2", {}, "Health"), facts([
    ["Status", health.status], ["Ledger", health.ledger], ["Projection", health.projection], ["Embedder", health.embedder], ["Language model", health.llm]]),
  el("h2", {}, "Jobs"), facts([["By state", counts(stats.jobs)], ["Pending", String(health.pending_jobs)], ["Failed", String(health.failed_jobs)]]),
  health.failed_jobs ? note("Jobs failed: the check below has the last error; vestig housekeeping enrich tries again.") : null,
  el("h2", {}, "What is in it"), facts([
    ["Namespace", overview.namespace], ["Memories", `${stats.memories} (${counts(stats.statuses)})`], ["Entities", String(stats.entities)], ["Links", counts(stats.edges)],
    ["Events", String(stats.events)], ["Sources", String(stats.sources)], ["Last commit", moment(stats.last_commit_at)], ["Transactions", String(stats.seq)],
    ["Bytes", stats.bytes.toLocaleString("en")], ["Version", overview.version]]),
  el("h2", {}, "Checks"), check, checks];
}

// --- navigation ---------------------------------------------------------------------------------

const VIEWS = { recall: ["Recall", recallView], list: ["Memories", listView], keys: ["Keys", keysView], memory: ["Memory", memoryView], graph: ["Graph", graphView], store: ["Store", storeView] };

async function show(first = false) {
  const own = ++newest;
  const [name, query] = location.hash.slice(1).split(/\?(.*)/s);
  const [title, make] = VIEWS[name] ?? VIEWS.recall;
  document.title = `${title} – Vestig inspector`;
  for (const one of document.querySelectorAll("nav a")) {
    if (one.hash === `#${name || "recall"}` || (name === "memory" && one.hash === "#list")) one.setAttribute("aria-current", "page");
    else one.removeAttribute("aria-current");
  }
  view.setAttribute("aria-busy", "true");
  let made;
  try {
    overview ??= await ask("overview");
    const { stats, health, namespace } = overview;
    state.textContent = `${namespace} · ${stats.memories.toLocaleString("en")} memories · ${health.status}`;
    made = await make(new URLSearchParams(query ?? ""));
  } catch (error) {
    made = [note(error.message), link("recall", "Back to recall")];
  }
  if (own !== newest) return;
  view.replaceChildren(...made.flat(9).filter(Boolean));
  view.removeAttribute("aria-busy");
  if (!first) view.focus({ preventScroll: false });
}

document.getElementById("token").addEventListener("submit", (event) => {
  event.preventDefault();
  token = new FormData(event.target).get("token");
  event.target.hidden = true;
  show();
});
addEventListener("hashchange", () => show());
show(true);
