(() => {
  "use strict";
  const $ = (id) => document.getElementById(`explore-${id}`);
  const source = document.getElementById("explorer-data");
  if (!source) return;
  const data = JSON.parse(source.textContent), { states } = data;
  const UNIT = 1e4, NAMED = 12, THUMB = 26, GUTTER = 52, last = states.length - 1;
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const draw = (parent, name, attributes, text) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const key in attributes) node.setAttribute(key, attributes[key]);
    if (text !== undefined) node.textContent = text;
    parent.append(node);
    return node;
  };
  const move = (node, attributes) => {
    for (const key in attributes) node.setAttribute(key, attributes[key]);
  };

  // One list of numbers a state: what is drawn glides from the old one to the new one.
  const flat = (state) => [...state.shares.flat(), ...state.means, ...state.error, ...state.aucs, ...state.moved]
    .map((v) => (v === null ? NaN : v));
  const goals = states.map(flat);
  const n = states[0].shares[0].length, k = states[0].shares.length, nAucs = states[0].aucs.length;
  const part = (numbers, from, size) => numbers.slice(from, from + size);
  const parts = (numbers) => ({
    shares: states[0].shares.map((_, g) => part(numbers, g * n, n)),
    means: part(numbers, k * n, k),
    error: part(numbers, k * n + k, 3),
    aucs: part(numbers, k * n + k + 3, nAucs),
    moved: part(numbers, k * n + k + 3 + nAucs, data.steps.length),
  });

  // Every picture is made for the width that it has, so that letters keep their size.
  const canvas = (id, height) => {
    const svg = $(id), width = Math.max(svg.clientWidth, 200);
    svg.querySelectorAll(":scope > :not(title)").forEach((node) => node.remove());
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    return [svg, width];
  };
  const outline = (points) => points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");

  const cost = () => {
    const top = 8, base = 118, [svg, width] = canvas("cost", base + 6);
    const start = GUTTER + THUMB / 2, end = width - THUMB / 2;
    const x = (i) => start + i / last * (end - start), y = (v) => base - v / UNIT * (base - top);
    const ends = (j) => states.map((s, i) => [x(i), y(s.error[j])]);
    for (const [v, label] of data.y) {
      draw(svg, "line", { class: "grid", x1: GUTTER, x2: width, y1: y(v), y2: y(v) });
      draw(svg, "text", { x: GUTTER - 8, y: y(v) + 4, "text-anchor": "end" }, label);
    }
    if (states.every((s) => s.error.every((v) => v !== null))) {
      draw(svg, "path", { class: "around", d: `${outline([...ends(2), ...ends(0).reverse()])}Z` });
    }
    draw(svg, "path", { class: "line", d: outline(ends(1)) });
    if (data.marked !== null) {
      const ring = { class: "from", cx: x(data.marked), cy: y(states[data.marked].error[1]), r: 8 };
      draw(draw(svg, "circle", ring), "title", {}, "the smallest ε whose error is within one standard error of the least");
    }
    const rule = draw(svg, "line", { class: "at", y1: top, y2: base + 6 });
    const dot = draw(svg, "circle", { class: "dot", r: 5.5 });
    const text = draw(svg, "text", { class: "label strong" });
    return (now, place, state) => {
      const u = x(place), v = y(now.error[1]), right = u > width - 110;
      move(rule, { x1: u, x2: u });
      move(dot, { cx: u, cy: v });
      move(text, { x: u + (right ? -11 : 11), y: Math.max(v - 9, 12), "text-anchor": right ? "end" : "start" });
      text.textContent = state.rmse;
    };
  };

  const shapes = () => {
    const top = 10, base = 270, [svg, width] = canvas("shapes", base + 24);
    const x = (v) => v / UNIT * width, y = (v) => base - v / UNIT * (base - top);
    const fills = data.colours.map((c) => draw(svg, "path", { class: `shape c${c}` }));
    const means = data.colours.map((c) => draw(svg, "line", { class: `mean c${c}`, y1: top, y2: base }));
    draw(svg, "line", { class: "rule", x1: 0, x2: width, y1: base, y2: base });
    for (const [v, label] of data.x) {
      draw(svg, "line", { class: "rule", x1: x(v), x2: x(v), y1: base, y2: base + 4 });
      const anchor = x(v) < 20 ? "start" : x(v) > width - 20 ? "end" : "middle";
      draw(svg, "text", { x: x(v), y: base + 18, "text-anchor": anchor }, label);
    }
    return (now) => {
      now.shares.forEach((each, g) => {
        const points = each.map((v, i) => [x((i + 0.5) / n * UNIT), y(v)]);
        move(fills[g], { d: `${outline([[0, base], ...points, [width, base]])}Z` });
        move(means[g], { x1: x(now.means[g]), x2: x(now.means[g]) });
      });
    };
  };

  const aucs = () => {
    const tasks = data.tasks, named = Math.min(tasks.length, NAMED), others = tasks.length - named;
    const lines = [["Overall", 0, "strong"]];
    if (tasks.length) lines.push(["Within tasks", 1, "strong"]);
    for (let i = 0; i < named; i++) lines.push([tasks[i], 2 + i, "ink"]);
    const step = 25, top = 20, height = top + step * (lines.length + (others > 0)) + 4;
    const [svg, width] = canvas("aucs", height), left = Math.min(150, width * 0.4), right = width - 12;
    const x = (v) => left + v / UNIT * (right - left), y = (line) => top + step * (line + 0.5);
    const upright = (v, kind) => draw(svg, "line", { class: kind, x1: x(v), x2: x(v), y1: top, y2: height });
    for (const [v, label] of data.auc) {
      upright(v, "grid");
      draw(svg, "text", { x: x(v), y: 12, "text-anchor": "middle" }, label);
    }
    // Parity need not have a tick of its own.
    const [[low, first], [high, second]] = data.auc;
    upright(low + (high - low) * (0.5 - first) / (second - first), "half");
    const from = states[last].aucs, dots = [];
    const add = (line, at, kind, r) => {
      if (from[at] === null) return;
      const tail = draw(svg, "line", { class: "tail", x1: x(from[at]), y1: y(line), y2: y(line) });
      if (r > 4) draw(svg, "circle", { class: "from", cx: x(from[at]), cy: y(line), r: 3.5 });
      else tail.remove();
      dots.push([at, tail, draw(svg, "circle", { class: `dot ${kind}`, cy: y(line), r })]);
    };
    lines.forEach(([name, at, kind], line) => {
      draw(svg, "text", { class: kind, x: 0, y: y(line) + 4 }, name);
      add(line, at, kind === "ink" ? "task" : "", kind === "ink" ? 5 : 6);
    });
    if (others > 0) {
      draw(svg, "text", { x: 0, y: y(lines.length) + 4 }, `${others} more tasks`);
      for (let i = named; i < tasks.length; i++) add(lines.length, 2 + i, "task other", 4);
    }
    return (now) => {
      for (const [at, tail, dot] of dots) {
        move(tail, { x2: x(now.aucs[at]) });
        move(dot, { cx: x(now.aucs[at]) });
      }
    };
  };

  const moved = () => {
    const step = 26, [svg, width] = canvas("moved", Math.max(step * data.steps.length, step));
    const left = Math.min(150, width * 0.4), wide = width - left - 60;
    const bars = data.steps.map((name, i) => {
      draw(svg, "text", { class: "ink", x: 0, y: step * i + 17 }, name);
      draw(svg, "rect", { class: "whole", x: left, y: step * i + 6, width: wide, height: 14, rx: 2 });
      return [
        draw(svg, "rect", { class: "moved", x: left, y: step * i + 6, height: 14, rx: 2 }),
        draw(svg, "text", { class: "ink", x: width, y: step * i + 17, "text-anchor": "end" }),
      ];
    });
    if (!bars.length) draw(svg, "text", { x: 0, y: 17 }, "none");
    return (now, place, state) => bars.forEach(([bar, text], i) => {
      move(bar, { width: Math.max(now.moved[i] / data.nRows * wide, 0) });
      text.textContent = state.moved[i].toLocaleString("en-GB");
    });
  };

  let pictures = [], at = data.start, place = at, numbers = goals[at], frame = 0;
  const paint = () => {
    const now = parts(numbers);
    for (const picture of pictures) picture(now, place, states[at]);
  };
  const glide = () => {
    const goal = goals[at];
    let far = Math.abs(at - place);
    numbers = numbers.map((v, i) => {
      if (!(Math.abs(goal[i] - v) > 2)) return goal[i];
      far = Math.max(far, Math.abs(goal[i] - v));
      return v + (goal[i] - v) * 0.28;
    });
    place = Math.abs(at - place) > 0.02 ? place + (at - place) * 0.28 : at;
    const done = far <= 2 && place === at;
    if (done) numbers = goal;
    paint();
    frame = done ? 0 : requestAnimationFrame(glide);
  };

  const slider = $("epsilon"), play = $("play");
  const show = (to, jump = still.matches) => {
    at = to;
    const state = states[at];
    slider.value = at;
    slider.setAttribute("aria-valuetext", `ε = ${state.epsilon}, error ${state.rmse}`);
    $("now").textContent = state.epsilon;
    $("status").textContent = state.status;
    $("status").hidden = !state.status;
    $("said").textContent = state.said;
    document.querySelectorAll("[data-move]").forEach((node) => {
      node.textContent = at === last ? "" : `${state.moves[node.dataset.move]} on average`;
    });
    if (jump) [numbers, place] = [goals[at], at];
    if (!frame) glide();
  };
  slider.addEventListener("input", () => { stop(); show(Number(slider.value)); });

  // From no constraint to parity, and back to where the reader was.
  let timer = 0;
  const stop = () => {
    clearInterval(timer);
    timer = 0;
    play.textContent = "Play";
  };
  play.addEventListener("click", () => {
    if (timer) return stop();
    play.textContent = "Stop";
    show(last);
    timer = setInterval(() => (at > 0 ? show(at - 1) : stop()), 4000 / states.length);
  });

  const section = document.getElementById("explorer");
  const fit = () => {
    pictures = [cost(), shapes(), aucs(), moved()];
    paint();
  };
  section.hidden = false;
  fit();
  show(at, true);
  let width = section.clientWidth;
  new ResizeObserver(() => {
    if (section.clientWidth === width) return;
    width = section.clientWidth;
    fit();
  }).observe(section);
})();
