(() => {
  "use strict";
  const $ = (id) => document.getElementById(id);
  const SVG = "http://www.w3.org/2000/svg";
  const WIDTH = 280, LINE = 26, ROOM = 12, PRINTED = 100;
  const size = 25;

  const make = (name, text, cls) => {
    const node = document.createElement(name);
    if (text !== undefined) node.textContent = text;
    if (cls) node.className = cls;
    return node;
  };
  const draw = (name, attributes) => {
    const node = document.createElementNS(SVG, name);
    for (const key in attributes) node.setAttribute(key, attributes[key]);
    return node;
  };

  // Theme: what the reader's system says, until the button is used.
  const theme = $("theme"), root = document.documentElement;
  const wishes = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : wishes.matches);
  const label = () => {
    theme.textContent = isDark() ? "Light page" : "Dark page";
    theme.setAttribute("aria-pressed", String(isDark()));
  };
  theme.hidden = false;
  theme.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    label();
  });
  wishes.addEventListener("change", label);
  label();

  // On paper everything that can be unfolded is.
  const folded = [];
  addEventListener("beforeprint", () => {
    for (const part of document.querySelectorAll("details:not([open])")) {
      part.open = true;
      folded.push(part);
    }
  });
  addEventListener("afterprint", () => {
    while (folded.length) folded.pop().open = false;
  });

  // What scrolls sideways can be reached by keyboard.
  const reach = () => {
    for (const part of document.querySelectorAll(".scroll")) {
      if (part.scrollWidth > part.clientWidth) part.tabIndex = 0;
      else part.removeAttribute("tabindex");
    }
  };
  addEventListener("resize", reach);
  addEventListener("toggle", reach, true);
  reach();

  const source = $("task-data");
  if (!source) return;
  const data = JSON.parse(source.textContent);
  const several = data.models.length > 1, last = data.models.length - 1;
  const state = { set: 0, model: last, key: "", down: true, find: "", flagged: false, page: 0 };
  const names = new Intl.Collator(undefined, { numeric: true });
  const place = (v) => ROOM + (v / 1e4 - data.low) / (data.high - data.low) * (WIDTH - 2 * ROOM);
  const clipped = (v) => Math.min(Math.max(place(v), ROOM), WIDTH - ROOM);
  const number = (v) => (v === null ? "–" : (v / 1e4).toFixed(3));
  const chance = (p) => (p === null ? "–" : p < 0.001 ? "p < 0.001" : "p = " + p.toFixed(3));
  const commas = (n) => n.toLocaleString("en-GB");

  const interval = (by, i) =>
    by.low[i] === null || by.high[i] === null ? "" : `${number(by.low[i])} to ${number(by.high[i])}`;

  const mark = (shape, x, y) => {
    if (shape === 0) return draw("circle", { class: "mark m0", cx: x, cy: y, r: 4.5 });
    if (shape === 1) return draw("rect", { class: "mark m1", x: x - 4.2, y: y - 4.2, width: 8.4, height: 8.4 });
    if (shape === 2) return draw("path", { class: "mark m2", d: `M${x} ${y - 5.5}l5.5 5.5l-5.5 5.5l-5.5 -5.5z` });
    return draw("path", { class: "mark m3", d: `M${x} ${y - 5.5}l5.2 9.5h-10.4z` });
  };

  const strip = (set, i) => {
    const height = LINE * data.models.length, half = place(5000);
    const svg = draw("svg", { class: "strip", viewBox: `0 0 ${WIDTH} ${height}`, role: "img" });
    svg.append(draw("line", { class: "half", x1: half, x2: half, y1: 0, y2: height }));
    const said = set.by.map((by, m) => {
      const y = LINE * (m + 0.5), ends = interval(by, i);
      if (ends) {
        svg.append(draw("line", {
          class: m === last ? "bar last" : "bar early",
          x1: clipped(by.low[i]), x2: clipped(by.high[i]), y1: y, y2: y,
        }));
      }
      if (by.auc[i] !== null) svg.append(mark(m === last ? 0 : 1 + m % 3, clipped(by.auc[i]), y));
      return `${data.models[m]}: ${number(by.auc[i])}${ends && ` (${ends})`}`;
    });
    svg.setAttribute("aria-label", said.join("; "));
    return svg;
  };

  const cell = (name, cls, role, ...content) => {
    const node = make(name, undefined, cls);
    node.setAttribute("role", role);
    node.append(...content);
    return node;
  };

  const model = (m, cls) => {
    const node = make("span", undefined, cls);
    node.append(make("bdi", data.models[m]));
    return node;
  };

  const row = (set, i) => {
    const head = cell("th", "", "rowheader", make("bdi", set.task[i]));
    head.scope = "row";
    const numbers = cell("td", "numbers", "cell"), chances = cell("td", "chances", "cell");
    set.by.forEach((by, m) => {
      const line = make("div", undefined, "line"), ends = interval(by, i);
      if (several) line.append(model(m, "model"), " ");
      line.append(make("span", number(by.auc[i]), "value"));
      if (ends) line.append(" ", make("span", `(${ends})`, "interval"));
      const note = data.notes[by.note[i]];
      if (note) {
        const why = make("span", note, "why");
        why.dir = "auto";
        line.append(" ", why);
      }
      numbers.append(line);
      const p = make("div", undefined, "line");
      if (several) p.append(model(m, "model narrow"), " ");
      p.append(chance(by.p[i]));
      if (by.flag[i] === "1") p.append(" ", make("span", "flagged", "flag"));
      chances.append(p);
    });
    return cell("tr", "", "row", head,
      cell("td", "sizes", "cell", `${commas(set.a[i])} v ${commas(set.b[i])}`),
      cell("td", "strip-cell", "cell", strip(set, i)), numbers, chances);
  };

  const value = (set, key, i) => {
    const by = set.by[state.model];
    if (key === "rows") return set.a[i] + set.b[i];
    if (key === "p") return by.p[i];
    if (by.auc[i] === null) return null;
    return key === "gap" ? Math.abs(by.auc[i] - 5000) : by.auc[i];
  };

  // What has no value stays at the end, whichever way the others go.
  const order = (set, rows) => {
    if (!state.key) return rows;
    const sign = state.down ? -1 : 1;
    if (state.key === "task") return rows.sort((i, j) => sign * names.compare(set.task[i], set.task[j]) || i - j);
    const values = new Map(rows.map((i) => [i, value(set, state.key, i)]));
    return rows.sort((i, j) => {
      const u = values.get(i), v = values.get(j);
      if (u === null || v === null) return (u === null) - (v === null) || i - j;
      return sign * (u - v) || i - j;
    });
  };

  let chosen = [];
  const choose = () => {
    const set = data.sets[state.set], word = state.find.trim().toLocaleLowerCase();
    chosen = [];
    for (let i = 0; i < set.task.length; i++) {
      if (state.flagged && set.by[state.model].flag[i] !== "1") continue;
      if (word && !set.task[i].toLocaleLowerCase().includes(word)) continue;
      chosen.push(i);
    }
    order(set, chosen);
    state.page = 0;
    show();
  };

  const show = (most = size) => {
    const set = data.sets[state.set], pages = Math.max(1, Math.ceil(chosen.length / most));
    state.page = Math.min(state.page, pages - 1);
    const from = state.page * most, rows = chosen.slice(from, from + most);
    $("task-rows").replaceChildren(...rows.map((i) => row(set, i)));
    const of = chosen.length === set.task.length ? `${commas(set.task.length)} tasks`
      : `${commas(chosen.length)} found of ${commas(set.task.length)} tasks`;
    $("task-status").textContent = rows.length
      ? `Rows ${commas(from + 1)} to ${commas(from + rows.length)} of ${of}` : "No task is like that.";
    document.querySelector("#task-pager .buttons").hidden = set.task.length <= size;
    for (const button of document.querySelectorAll("[data-page]")) {
      const back = button.dataset.page === "first" || button.dataset.page === "previous";
      button.disabled = back ? state.page === 0 : state.page === pages - 1;
    }
    $("task-pair").replaceChildren(make("bdi", set.group), " against ", make("bdi", set.against));
  };

  const heads = [...document.querySelectorAll("[data-sort]")];
  for (const head of heads) {
    const text = head.querySelector(".head"), button = make("button", text.textContent);
    button.type = "button";
    text.replaceChildren(button);
    button.addEventListener("click", () => {
      const key = head.dataset.sort;
      // The first click shows what one looks for: names from A, the largest gap, the smallest p.
      state.down = state.key === key ? !state.down : key !== "task" && key !== "p";
      state.key = key;
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", state.down ? "descending" : "ascending");
      choose();
    });
  }

  const options = (select, texts, at) => {
    texts.forEach((text, i) => {
      const option = make("option", text);
      option.value = i;
      select.append(option);
    });
    select.value = at;
    select.parentElement.hidden = texts.length < 2;
  };
  options($("task-set"), data.sets.map((s) => `${s.feature}: ${s.group} against ${s.against}`), 0);
  options($("task-model"), data.models, last);
  const listen = (id, event, change) => $(id).addEventListener(event, (e) => { change(e.target); choose(); });
  listen("task-set", "change", (it) => { state.set = Number(it.value); });
  listen("task-model", "change", (it) => { state.model = Number(it.value); });
  listen("task-find", "input", (it) => { state.find = it.value; });
  listen("task-flagged", "change", (it) => { state.flagged = it.checked; });
  $("task-controls").addEventListener("submit", (e) => e.preventDefault());
  $("task-pager").addEventListener("click", (e) => {
    const pages = Math.ceil(chosen.length / size);
    const to = { first: 0, previous: state.page - 1, next: state.page + 1, last: pages - 1 };
    if (e.target.dataset.page in to) {
      state.page = to[e.target.dataset.page];
      show();
    }
  });

  // Paper cannot be turned over by a button: more rows at once, from where the reader is.
  addEventListener("beforeprint", () => {
    const page = state.page;
    state.page = Math.floor(page * size / PRINTED);
    show(PRINTED);
    state.page = page;
  });
  addEventListener("afterprint", () => show());
  $("task-controls").hidden = $("task-pager").hidden = false;
  $("task-first").hidden = true;
  choose();
})();
