// Elements of the page, made of text nodes: no string ever becomes markup.

export function el(name, attributes = {}, ...children) {
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

export const link = (target, text) => el("a", { href: `#${target}`, class: "line", dir: "auto" }, text);

export const short = (id) => id.replace(/^([a-z]+_\w{8}).*$/, "$1");

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

export function rings({ nodes, edges }, tell) {
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
